"""Colours of what is printed without a layout: whether there are any, and the few that are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "1;32", "cyan": "36"}


def use_color(choice: str) -> bool:
    """Decide on colours: the option, then NO_COLOR and FORCE_COLOR, then whether standard output is a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def painter(choice: str = "auto") -> Callable[[str, str], str]:
    """Return what puts a text in one of ``CODES``, or leaves it as it is where there are no colours."""
    if not use_color(choice):
        return lambda text, _style: text
    return lambda text, style: f"\x1b[{CODES[style]}m{text}\x1b[0m"
