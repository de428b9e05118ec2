"""JSON Lines: one compact object a line, one line an input."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .as_json import payload
from .interface import Options, Result


def render(results: Sequence[Result], options: Options) -> str:
    """Return one line for each result."""
    return "".join(
        json.dumps(payload(result, options), ensure_ascii=False, separators=(",", ":"), default=str) + "\n"
        for result in results
    )
