"""Root cause, not last line: what speaks for each possible cause, and the answer."""
