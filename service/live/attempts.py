"""Starting a server again with the corrected command, after it failed, and comparing the attempts."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

VARIABLE = "VLLM_TRIAGE_ATTEMPTS"
"""Carries the earlier attempts to the process that makes the next one: it is this one, run anew."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of the server."""

    command: str
    cause: str
    """What it failed of; "" where it did not fail."""
    reached: str
    """The last stage that it reached."""
    seconds: float
    log: str
    """The file in which its log is kept; "" for none."""
    corrected: str
    """The command to try next; "" where there is none."""


def earlier() -> list[Attempt]:
    """Return the attempts that were made before this one."""
    told = os.environ.pop(VARIABLE, "")
    return [Attempt(**row) for row in json.loads(told)] if told else []


def attempt_of(
    command: Sequence[str], report: dict[str, Any] | None, failed: bool, seconds: float, log: str
) -> Attempt:
    """Return what an attempt came to."""
    report = report or {}
    return Attempt(
        shlex.join(command),
        str(report.get("cause", "")) if failed else "",
        str((report.get("startup") or {}).get("reached", "")),
        round(seconds, 1),
        log,
        str(report.get("corrected_command", "")) if failed else "",
    )


def split_command(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables that stand before a command, and its words.

    Raises:
        ValueError: It is not one command with its arguments.
    """
    words = shlex.split(text, comments=False)
    variables: dict[str, str] = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if words[:1] == ["env"]:
        words.pop(0)
    if not words or {"&&", "||", ";", "|", "&"} & set(words) or "$(" in text:
        raise ValueError(text)
    return variables, words


def may_be_tried(attempt: Attempt, before: Sequence[Attempt], original: Sequence[str]) -> str:
    """Return why the corrected command of an attempt is not to be run; "" where it may be."""
    if not attempt.corrected:
        return "there is no corrected command"
    try:
        variables, words = split_command(attempt.corrected)
    except ValueError:
        return "the corrected command is not a single command"
    if os.path.basename(words[0]) != os.path.basename(original[0]):  # noqa: PTH119
        return f"the corrected command runs {words[0]}, not {original[0]}"
    if any(not word or (word.isupper() and word.isidentifier() and word not in original) for word in words[1:]):
        return "the corrected command has a place to fill in"
    tried = {other.command for other in (*before, attempt)}
    if not variables and shlex.join(words) in tried:
        return "the corrected command was tried already"
    return ""


def again(attempts: Sequence[Attempt]) -> None:
    """Run this process anew, with what was tried so far; does not return."""
    os.environ[VARIABLE] = json.dumps([asdict(attempt) for attempt in attempts])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the same program with the same arguments


def compared(attempts: Sequence[Attempt]) -> str:
    """Return a table of the attempts for people."""
    lines = ["", "attempts"]
    for number, attempt in enumerate(attempts, 1):
        outcome = f"✖ {attempt.cause}" if attempt.cause else "✔ no failure"
        lines.append(f"  {number}  {outcome}   reached {attempt.reached or 'nothing'}, {attempt.seconds:.0f} s")
        lines.append(f"     {attempt.command}")
        if attempt.log:
            lines.append(f"     log: {attempt.log}")
    return "\n".join(lines) + "\n"
