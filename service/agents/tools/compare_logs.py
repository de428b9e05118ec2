"""``compare_logs``: what is different between two logs, such as before and after a change."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ....classifier.question import Question
from ...comparison import OTHERWISE, Comparison, compare
from ..budget import SHORT, UNTRUSTED, compact, cut, tokens
from ..desk import Desk, Log
from ..interface import Answer, Arguments, Progress

TITLE = "Compare two vLLM logs"
ABOUT = (
    "Tell what is different between two logs of a server (before and after a change, the good and the bad node): the verdicts, "
    "how far each start got, and the arguments, facts and figures that differ. Ask it to see whether a fix worked."
)


class Side(Arguments):
    """One of the two logs: exactly one of the three."""

    text: Annotated[str, Field(description="the log itself")] = ""
    path: Annotated[str, Field(max_length=4096, description="a log file")] = ""
    incident: Annotated[str, Field(max_length=64, description="id of an incident")] = ""

    def log(self) -> Log:
        """Return what is to be read."""
        return Log(self.text, self.path, self.incident)


class Asked(Arguments):
    """Which logs."""

    before: Side
    after: Side


def schema() -> dict[str, object]:
    """Return the schema of a comparison."""
    return TypeAdapter(Comparison).json_schema(mode="serialization")


async def call(asked: Asked, desk: Desk, progress: Progress) -> Answer:
    """Read both, one after the other, and answer."""
    reports = [await desk.report(side.log(), Question(), progress) for side in (asked.before, asked.after)]
    found = compare(*reports)
    changes = list(found.changes)
    while True:
        data = {**found.to_dict(), "changes": [item.to_dict() for item in changes]}
        text = _text(found, len(changes))
        if not changes or max(tokens(text), tokens(compact(data))) <= SHORT:
            return Answer(text, data)
        # The most telling stand first.
        changes.pop()


def _text(found: Comparison, shown: int) -> str:
    outcome, otherwise, values = found.told.partition(OTHERWISE)
    lines = [outcome, UNTRUSTED]
    if otherwise:
        lines.append(" ".join(f"{otherwise}{values}".split()))
    for label, side in (("before", found.before), ("after", found.after)):
        line = f" | line {side.line}: {cut(side.text, 200)}" if side.text else ""
        lines.append(
            f"{label}: {side.cause} ({side.confidence:.2f}), reached {side.reached}: {cut(side.title, 120)}{line}"
        )
    # No value parts a line: what begins one is ours.
    told = (f"{item.name}: {item.before or 'unknown'} -> {item.after or 'unknown'}" for item in found.changes[:shown])
    lines += [" ".join(line.split()) for line in told]
    if left := len(found.changes) - shown:
        lines.append(f"{left} more differences: read both with triage_log, detail=full.")
    return "\n".join(lines)
