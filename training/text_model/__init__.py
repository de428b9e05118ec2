"""Trains the text model: rows from vLLM's releases and the rules in, a compact file for the classifier out."""
