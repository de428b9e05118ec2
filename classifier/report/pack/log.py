"""A pack as a log again: what a proposal is held against where the log itself is no longer at hand."""

from __future__ import annotations

from .model import Pack, PackLine


def log_of(pack: Pack) -> str:
    """Return the lines of a pack as vLLM prints them, a log of its own."""
    return "\n".join([*map(_line, pack.lines), ""])


def _line(line: PackLine) -> str:
    process = f"({line.process} pid=1) " if line.process else ""
    head = f"{line.level} {line.time} [{line.source}] " if line.level and line.time and line.source else ""
    return f"{process}{head}{line.text}"
