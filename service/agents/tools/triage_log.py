"""``triage_log``: what is wrong with a log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ....classifier.errors import InputError
from ....classifier.question import Question
from ....classifier.report.schema import json_schema
from ...render.interface import Options, Result, render
from ..brief import UNTRUSTED, brief
from ..desk import Desk, Log
from ..interface import Answer, Arguments, CannotError, Detail, Progress

TITLE = "Find the root cause in a vLLM log"
ABOUT = (
    "Read the log of a vLLM server that failed, hangs or is slow. Returns the root cause (bucket/cause, confidence), the line "
    "that proves it, the fixes best first with values worked out from this log, and the corrected start command. Give exactly "
    "one of path (preferred: the whole file is read, whatever its size), text, or incident. Ask it before reading a long log "
    "yourself: the last error of a vLLM log is rarely the cause."
)


class Asked(Arguments):
    """Which log, and what about it."""

    text: Annotated[str, Field(description="the log itself, all of it that there is")] = ""
    path: Annotated[str, Field(max_length=4096, description="a log file; plain, gzip or zstd")] = ""
    incident: Annotated[str, Field(max_length=64, description="id of an incident that was answered before")] = ""
    command: Annotated[
        str, Field(max_length=1 << 16, description="start command or manifest, where the log does not have it")
    ] = ""
    vllm_version: Annotated[str, Field(max_length=40, description="release to advise for; default: the log's")] = ""
    detail: Annotated[Detail, Field(description="short: at most 600 tokens; full: all evidence, facts, fixes")] = (
        "short"
    )


def schema() -> dict[str, object]:
    """Return the schema of a report (docs/report.schema.json)."""
    return json_schema()


async def call(asked: Asked, desk: Desk, progress: Progress) -> Answer:
    """Answer with a report, or the part of it that an agent needs first."""
    try:
        question = Question(command=asked.command, vllm_version=asked.vllm_version)
    except InputError as error:
        raise CannotError(str(error)) from None
    report = await desk.report(Log(asked.text, asked.path, asked.incident), question, progress)
    if asked.detail == "short":
        return Answer(*brief(report))
    told = render("markdown", [Result("-", report)], Options(verbose=True))
    return Answer(f"{UNTRUSTED}\n\n{told}", report.to_dict())
