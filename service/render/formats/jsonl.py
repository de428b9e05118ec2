"""JSON Lines: one compact object a line, one line an input."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ....classifier.report.shown import shown
from ..interface import Options, Result
from .json import payload

ABOUT = "one object a line, a line for each log"
MEDIA_TYPE = ""
COMPLETE = True


def render(results: Sequence[Result], options: Options) -> str:
    """Return one line for each result, and one for each input that could not be read."""
    rows = [payload(result, options) for result in results]
    rows += [{"file": shown(name), "error": shown(problem)} for name, problem in options.unread]
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str) + "\n" for row in rows)
