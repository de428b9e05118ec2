"""Trains the text model: rows from vLLM's releases and from the rules, scikit-learn here, a compact file for the classifier."""
