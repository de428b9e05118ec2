"""Makes the shipped text model: rows from vLLM's releases, the rules and recorded logs in, a compact file for the classifier out."""
