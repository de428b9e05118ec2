"""What a compiled corpus depends on: its layout, and the build of ``regex`` that its expressions are for."""

from __future__ import annotations

import sys

FORMAT = 14
"""Number of the compiled layout; raise it with every change of it."""


def regex_build() -> str:
    """Return what a compiled expression of the ``regex`` module depends on."""
    import regex
    from regex import _regex

    return f"{regex.__version__};{getattr(_regex, 'MAGIC', 0)};{getattr(_regex, 'CODE_SIZE', 0)};{sys.byteorder}"
