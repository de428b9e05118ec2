"""JSON: one object for one input, a list for several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...classifier.report.contract import as_dict
from .interface import Options, Result


def payload(result: Result, options: Options) -> dict[str, Any]:
    """Return the object for one input."""
    data = as_dict(result.diagnosis)
    if result.name != "-":
        data["file"] = result.name
    if options.explain:
        data["explanation"] = result.diagnosis.explanation
    return data


def render(results: Sequence[Result], options: Options) -> str:
    """Return indented JSON."""
    data = [payload(result, options) for result in results]
    return json.dumps(data[0] if len(data) == 1 else data, ensure_ascii=False, indent=2, default=str) + "\n"
