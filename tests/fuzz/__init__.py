"""Mutated inputs for everything that reads what a stranger gives: ``python -m tests.fuzz --seconds 3600``."""
