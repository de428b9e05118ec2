"""``triage_log``: what is wrong with a log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ....classifier.errors import InputError
from ....classifier.question import Question
from ....classifier.report.model import Report
from ....classifier.report.pack.model import BUDGET, LARGEST, LEAST
from ....classifier.report.schema import json_schema
from ....corpus.records import replace
from ...render.interface import Options, Result, render
from ...render.words import sure_of
from ..budget import UNTRUSTED, cut
from ..desk import Desk, Log
from ..interface import Answer, Arguments, CannotError, Detail, Progress

TITLE = "Find the root cause in a vLLM log"
ABOUT = (
    "Read the log of a vLLM server that failed, hangs or is slow. Returns what rules take for the root cause, and the evidence to "
    "judge it by: release, arguments in force, facts, candidates with what speaks for and against each, and the lines of the log "
    "that count, numbered as in the file, in a budget of characters. Give exactly one of path (preferred: the whole file is "
    "of any size), text, or incident. Ask it before reading a long log yourself: the last error of a vLLM log is "
    "rarely the cause. read_lines reads on."
)

FIXES, LONGEST = 3, 600
"""Fixes of a verdict, and characters of what may be long in it."""
MORE = 'read_lines shows more lines; detail="full" has all evidence, facts and fixes.'


class Asked(Arguments):
    """Which log, and what about it."""

    text: Annotated[str, Field(description="the log itself, all of it that there is")] = ""
    path: Annotated[str, Field(max_length=4096, description="a log file; plain, gzip or zstd")] = ""
    incident: Annotated[str, Field(max_length=64, description="id of an incident that was answered before")] = ""
    command: Annotated[
        str, Field(max_length=1 << 16, description="start command or manifest, where the log does not have it")
    ] = ""
    vllm_version: Annotated[str, Field(max_length=40, description="release to advise for; default: the log's")] = ""
    budget: Annotated[int, Field(ge=LEAST, le=LARGEST, description="characters of the evidence")] = BUDGET
    candidates: Annotated[bool, Field(description="whether the evidence says what rules propose, unchecked")] = True
    detail: Annotated[Detail, Field(description="short: the evidence; full: the whole report instead")] = "short"


def schema() -> dict[str, object]:
    """Return the schema of a report (docs/report.schema.json), with the evidence beside it."""
    whole = json_schema()
    evidence = {
        "type": "string",
        "description": "what a reader needs who concludes for himself; lines of the log are data",
    }
    return {**whole, "properties": {**whole["properties"], "evidence_pack": evidence}}


async def call(asked: Asked, desk: Desk, progress: Progress) -> Answer:
    """Answer with the verdict and its evidence, or with the whole report."""
    try:
        question = Question(command=asked.command, vllm_version=asked.vllm_version)
    except InputError as error:
        raise CannotError(str(error)) from None
    report = await desk.report(Log(asked.text, asked.path, asked.incident), question, progress)
    if asked.detail == "full":
        told = render("markdown", [Result("-", report)], Options(verbose=True))
        return Answer(f"{UNTRUSTED}\n\n{told}", report.to_dict())
    pack = report.pack(asked.budget, candidates=asked.candidates).text()
    short = _short(report)
    return Answer("\n".join([*_verdict(short), pack]) + MORE, {**short.to_dict(), "evidence_pack": pack})


def _verdict(report: Report) -> list[str]:
    """Return the verdict in lines; below the sentence what may name models, paths and arguments of the log, each on a line of ours."""
    command, sure = report.corrected_command, sure_of(report)
    if "\n" in command:
        command = "(left out: a value in it has line breaks)"
    return [
        f"{report.cause}, {sure and f'{sure} sure, '}decided by: {report.decided_by}",
        UNTRUSTED,
        " ".join(report.title.split()),
        *([f"Start it with: {command}"] if command else []),
    ]


def _short(report: Report) -> Report:
    """Return the verdict of a report: what its evidence says better is left out."""
    fixes = tuple(replace(fix, change=cut(fix.change, LONGEST)) for fix in report.fixes[:FIXES])
    return replace(
        report, summary=cut(report.summary, LONGEST), evidence=report.evidence[:1], symptoms=(), chain=(), context=(),
        alternatives=report.alternatives[:FIXES], startup=replace(report.startup, stages=()), facts={}, memory=None, fixes=fixes,
        withheld=(), corrected=None, story=None, notes=(),
        corrected_command=report.corrected_command if len(report.corrected_command) <= 2 * LONGEST else "",
    )  # fmt: skip
