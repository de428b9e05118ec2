"""Labelled examples: logs with their labels, rows made of them, and the terms that are read out of each."""
