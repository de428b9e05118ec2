"""Exit codes, and what the command says about its own trouble."""

from __future__ import annotations

import sys

EXIT_CLEAN, EXIT_FAILURE, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
"""No failure found; a failure found; wrong usage, an input or output that fails, an error of our own; Ctrl-C."""


def complain(message: str) -> int:
    """Say on standard error what is wrong, on one line; return the exit code for it."""
    warn(message)
    return EXIT_USAGE


def warn(message: str) -> None:
    """Say something on standard error, on one line."""
    # Names of files come from strangers, too: no control sequence reaches the terminal.
    text = "".join(letter if letter.isprintable() else "?" for letter in f"vllm-triage: {message}")
    print(text, file=sys.stderr)
