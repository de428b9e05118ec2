"""What agents can ask: one module for each tool, listed by ``interface.py``."""
