"""How collectors send logs: one module for each protocol, listed by ``registry.py``."""
