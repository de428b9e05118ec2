"""What the page's worker calls: one log in, its answer as JSON and as HTML."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

if not hasattr(time, "thread_time"):
    # The browser's build has one thread, and no clock of its own for it.
    time.thread_time = time.perf_counter

from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.errors import InputError

triage = Triage()


def answer(data: Iterable[int]) -> str:
    """Return ``{"json": …, "html": …}`` for the bytes of a log, or ``{"problem": …}`` as JSON."""
    try:
        report = triage.report(bytes(data))
    except InputError as error:
        return json.dumps({"problem": f"{error}"})
    return json.dumps({"json": report.to_json(), "html": report._repr_html_()})
