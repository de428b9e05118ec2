"""``read_lines``: more lines of a log, by number or by what they hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ....classifier.report.pack.look import Look
from ....classifier.report.pack.model import LARGEST, LEAST
from ..desk import Desk, Log
from ..interface import Answer, Arguments, Progress

TITLE = "Read lines of a log"
ABOUT = (
    'Read on from the evidence that triage_log gives: lines by their numbers (lines="100-180"), or those that hold a text '
    "(find), of all processes or of one. Numbered as in the file, masked, bounded. Ask it instead of printing the file."
)
BUDGET = 6_000
"""Characters of an answer, where none are asked for."""


class Asked(Arguments):
    """Which lines of which log."""

    text: Annotated[str, Field(description="the log itself")] = ""
    path: Annotated[str, Field(max_length=4096, description="a log file; plain or packed")] = ""
    incident: Annotated[str, Field(max_length=64, description="id of an incident: the lines that are kept of it")] = ""
    lines: Annotated[str, Field(max_length=40, description="100-180, 100 or 100-")] = ""
    find: Annotated[str, Field(max_length=200, description="a text that they hold, in upper or lower case")] = ""
    process: Annotated[str, Field(max_length=80, description="only of processes whose name holds this")] = ""
    budget: Annotated[int, Field(ge=LEAST, le=LARGEST, description="characters of the answer")] = BUDGET


def schema() -> dict[str, object]:
    """Return the schema of lines."""
    return TypeAdapter(Look).json_schema(mode="serialization")


async def call(asked: Asked, desk: Desk, progress: Progress) -> Answer:  # noqa: ARG001 - as the other tools
    """Answer with lines."""
    log = Log(asked.text, asked.path, asked.incident)
    found = await desk.look(log, asked.lines, asked.find, asked.process, asked.budget)
    return Answer(found.text() if found.lines else "The log has no such lines.", found.to_dict())
