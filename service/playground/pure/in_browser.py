"""What the page's worker calls: each function returns ``{"value": …}``, or ``{"problem": …}``, as JSON."""

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
    """Return the report of a log's bytes, as JSON, as text to be pasted, and its evidence with the question."""
    try:
        report = triage.report(bytes(data))
        return json.dumps({"value": {"json": report.to_json(), "text": str(report), "prompt": report.pack().prompt()}})
    except InputError as error:
        return json.dumps({"problem": f"{error}"})


def bucket(name: str) -> str:
    """Return title and meaning of a bucket."""
    page = triage.corpus.bucket(name)
    return json.dumps({"value": {"title": page.title, "meaning": page.meaning}})
