"""JSON: one object for one input, a list for several."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..interface import Options, Result

ABOUT = "one object (several logs: a list of them), for programs"
MEDIA_TYPE = "application/json"
COMPLETE = True


def payload(result: Result, options: Options) -> dict[str, object]:
    """Return the object for one input."""
    data = result.report.to_dict()
    if result.name != "-":
        data["file"] = result.name
    if options.explain:
        data["explanation"] = list(result.report.explanation)
    return data


def render(results: Sequence[Result], options: Options) -> str:
    """Return indented JSON."""
    data = [payload(result, options) for result in results]
    return json.dumps(data[0] if len(data) == 1 else data, ensure_ascii=False, indent=2, default=str) + "\n"
