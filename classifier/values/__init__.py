"""Values worked out from a log's own numbers: small pure functions that fix texts name.

``COMPUTED[name](facts)`` gives text to paste, or "" where a number is missing; ``WORKED[name](facts)`` gives the same
with the arithmetic and the inputs. To add one, write a function with ``@value`` above it (``worked.py``) into the module of its
topic: it is found there. A module is imported when one of its values is first asked for: most answers need none.
What needs a model's config.json stands in ``sizing``: a log does not hold that file.
"""

# pathlib would cost more than reading the sources:
# ruff: noqa: PTH100, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .computed import Computed

__all__ = ["COMPUTED", "PIECES", "WORKED"]

_HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(_HERE, "..", "..", "corpus", "compiled", "values.marshal")
"""What ``marked`` returned when the wheel was built."""


def marked() -> dict[str, tuple[str, bool]]:
    """Return the module of each value by its name, and whether it gives a piece of a command, as the sources tell."""
    found: dict[str, tuple[str, bool]] = {}
    for name in sorted(os.listdir(_HERE)):
        if name.endswith(".py"):
            with open(os.path.join(_HERE, name), encoding="utf-8") as file:
                text = file.read()
            for mark in ("value", "piece"):
                for function in text.split(f"\n@{mark}\ndef ")[1:]:
                    found[function.partition("(")[0]] = (name[:-3], mark == "piece")
    return found


def _shipped() -> dict[str, tuple[str, bool]]:
    try:
        with open(FILE, "rb") as file:
            found: dict[str, tuple[str, bool]] = marshal.loads(file.read())  # noqa: S302 - our own file
            return found
    except OSError:  # a checkout
        return marked()


def _later(module: str, name: str) -> Callable[[Mapping[str, object]], Computed]:
    def work(facts: Mapping[str, object]) -> Computed:
        from importlib import import_module

        found: Computed = getattr(import_module(f".{module}", __name__), name)(facts)
        return found

    return work


def _text(work: Callable[[Mapping[str, object]], Computed]) -> Callable[[Mapping[str, object]], str]:
    return lambda facts: work(facts).value


_REGISTRY = _shipped()

PIECES = frozenset(name for name, (_, piece) in _REGISTRY.items() if piece)
"""Those that give a piece of a command, in which what comes from the log is quoted already; all others give one word."""

WORKED = {name: _later(module, name) for name, (module, _) in _REGISTRY.items()}
"""What ``{name}`` in a fix may compute, by name, with its arithmetic."""

COMPUTED: dict[str, Callable[[Mapping[str, object]], str]] = {name: _text(work) for name, work in WORKED.items()}
"""The same as text alone."""
