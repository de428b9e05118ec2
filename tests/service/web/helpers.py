"""What several tests of the page need."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

LOGS = Path(__file__).parents[3] / "corpus" / "logs"
FAILURE = "written/kv-cache-too-small.log"
PATIENCE = 20


def until(tab: Any, expression: str, expected: Any) -> None:
    """Wait until a JavaScript expression has a value (the page's policy refuses Playwright's own way)."""
    end = time.monotonic() + PATIENCE
    while (value := tab.evaluate(expression)) != expected and time.monotonic() < end:
        tab.wait_for_timeout(25)
    assert expected == value
