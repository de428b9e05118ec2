"""What a compiled corpus depends on: its layout, and the build of ``regex`` that its expressions are for."""

from __future__ import annotations

import sys

FORMAT = 40
"""Number of the compiled layout; raise it with every change of it."""
RULES = "rules.bin"
"""Name of the file of the packed rules in the compiled corpus."""


def regex_build() -> str:
    """Return what a compiled expression of the ``regex`` module depends on."""
    from .regex_engine import engine, version

    made = engine()
    return f"{version()};{getattr(made, 'MAGIC', 0)};{getattr(made, 'CODE_SIZE', 0)};{sys.byteorder}"
