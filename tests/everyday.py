"""What runs at every change, and what only ``pytest --whole`` runs: each night and before a release.

Everyday are all tests but those marked ``slow`` and those in a browser, and of large collections of like cases a sample that is always the same.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import settings

Item = TypeVar("Item")
VARIABLE = "TRIAGE_WHOLE"
"""Set by ``--whole``, so that modules that are imported, and workers of xdist, know it."""


def sample(items: Iterable[Item], every: int = 5) -> list[Item]:
    """Return one in so many of the items, drawn with a fixed seed and in their order; all of them with ``--whole``."""
    listed = list(items)
    if os.environ.get(VARIABLE):
        return listed
    drawn = random.Random(28).sample(range(len(listed)), -(-len(listed) // every))
    return [listed[place] for place in sorted(drawn)]


def examples(count: int) -> int:
    """Return how many examples Hypothesis draws of those that are drawn with ``--whole``."""
    return count if os.environ.get(VARIABLE) else -(-count // 4)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--whole", action="store_true", help="run slow tests too, and of no collection a sample only")


def pytest_configure(config: pytest.Config) -> None:
    """Tell everybody; Hypothesis tries fewer examples everyday."""
    if config.getoption("--whole"):
        os.environ[VARIABLE] = "1"
    # No timing decides a test: on a busy machine any example may take long.
    parent = settings.get_profile(settings.get_current_profile_name())
    settings.register_profile("steady", parent, deadline=None, max_examples=examples(100))
    settings.load_profile("steady")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests, unless all were asked for, or tests by mark (``-m``), or one by its name."""
    if os.environ.get(VARIABLE) or config.option.markexpr or any("::" in word for word in config.args):
        return
    slow = {item for item in items if item.get_closest_marker("slow") or "browser" in getattr(item, "fixturenames", ())}
    config.hook.pytest_deselected(items=list(slow))
    items[:] = [item for item in items if item not in slow]
