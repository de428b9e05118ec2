"""What a rule answers to a message of a release, by its words alone and with the place that raises it."""

from __future__ import annotations

from typing import Any

from ...classifier.api import Triage
from .templates import Template


def answer(engine: Triage, log: str) -> Any:
    """Return the best cause candidate for a piece of log, or None."""
    from ...classifier.input.read import read_blocks
    from ...classifier.verdict.case import Case
    from ...classifier.verdict.policy import ACCEPT
    from ...classifier.verdict.weigh import weigh

    analysis = engine.start()
    for block in read_blocks(log):
        analysis.feed(block)
    candidates = weigh(Case(analysis.finish()[-1]))
    return (
        candidates[0]
        if candidates and candidates[0].score >= ACCEPT and candidates[0].bucket not in ("unknown", "no_failure")
        else None
    )


def message_line(template: Template) -> str:
    """Return the last line of a traceback, or the logged line, as a log has it."""
    if template.kind == "log":
        return f"ERROR 11-02 10:00:00 [{template.path.rpartition('/')[2]}:{template.line}] {template.text}\n"
    return f"{template.kind}: {template.text}\n"


def traceback(template: Template) -> str:
    """Return the shortest traceback that shows where the message is raised."""
    return (
        "Traceback (most recent call last):\n"
        f'  File "/opt/venv/lib/python3.12/site-packages/{template.path}", line {template.line}, in {template.function}\n'
        f"    raise {template.kind}(\n{template.kind}: {template.text}\n"
    )
