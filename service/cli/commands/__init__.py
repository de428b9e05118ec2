"""Sub-commands: one module each, with ``run(words) -> exit code``."""
