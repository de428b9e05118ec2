"""Over all recorded and written logs and fixtures: no fix that the log itself excludes is shown, and none wants a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.everyday import sample
from tests.fixtures.marked import FOLDER
from vllm_triage.classifier.advice import advise
from vllm_triage.classifier.advice.adapters.memory import balanced, beyond_free
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.command.source import read_text
from vllm_triage.classifier.facts.types import Facts, FactValue
from vllm_triage.classifier.fix import Fix
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.verdict.decide import decide
from vllm_triage.corpus import options

LOGS = Path(__file__).resolve().parents[3] / "corpus" / "logs"
PATHS = sample(sorted([*LOGS.rglob("*.log"), *FOLDER.glob("*.log")]))


class Answer(NamedTuple):
    """A verdict's own and its advice."""

    bucket: str
    summary: str
    decided_by: str
    facts: Facts
    fixes: tuple[Fix, ...]
    corrected_command: str


def inner(path: Path) -> Answer:
    """Return the answer before it is masked: what moves which way is no matter of the report."""
    triage = shared()
    session = triage.start()
    for block in read_blocks(path):
        session.feed(block)
    known = triage._known(triage.question)
    verdict = decide(session.finish(), session.tail(), known)
    advice = advise(verdict, known)
    return Answer(
        verdict.bucket, verdict.summary, verdict.decided_by, verdict.facts, advice.fixes, advice.corrected_command
    )


@lru_cache(1)
def answers() -> dict[str, Answer]:
    """Return the answer to every log that shows a failure."""
    found = {str(path): inner(path) for path in PATHS}
    return {name: answer for name, answer in found.items() if answer.bucket != "no_failure"}


def arguments_of(answer: Answer) -> dict[str, FactValue]:
    """Return the arguments that the server of an answer was given."""
    found = answer.facts.get("arguments")
    return found if isinstance(found, dict) else {}


def changes(answer: Answer) -> list[tuple[Fix, list[tuple[str, Any]]]]:
    """Return the fixes of an answer that set options, with these and their values."""
    return [
        (fix, [(option.name, option.values[0] if option.values else None) for option in fix.options])
        for fix in answer.fixes
        if fix.kind in ("flag", "env") and fix.sets
    ]


def test_no_failure_is_left_without_a_fix() -> None:
    """Where nothing that is known holds, the next thing to look at is told."""
    assert len(answers()) > len(PATHS) / 2
    assert [] == [name for name, answer in answers().items() if not answer.fixes and answer.bucket != "unknown"]


def test_every_fix_and_every_answer_explains_itself() -> None:
    """What it means, where no rule read it out of the log's own values; and how to see that a fix has worked."""
    assert [] == [name for name, answer in answers().items() if not answer.summary and answer.decided_by != "rule"]
    assert [] == [
        f"{name}: {fix.title}" for name, answer in answers().items() for fix in answer.fixes if not fix.verify
    ]


def test_no_fix_asks_for_memory_that_the_log_excludes() -> None:
    """More than is free, or less than one request lacks: held once more against the facts, each by itself."""
    broken = [
        f"{name}: {fix.change}"
        for name, answer in answers().items()
        for fix, set_here in changes(answer)
        if (parts := fix.options)
        if beyond_free(parts, answer.facts)
        or (
            len(set_here) == 1
            and balanced(fix, parts[0], answer.facts)[0] is not fix
            and answer.bucket == "kv_cache_oom"
        )
    ]
    assert [] == broken


def test_no_fix_names_an_option_that_the_told_release_lacks() -> None:
    """By the table of options."""
    wrong = [
        (name, option)
        for name, answer in answers().items()
        if (release := str(answer.facts.get("vllm_version") or ""))
        for _, parts in changes(answer)
        for option, _ in parts
        if options.exists(option, release) is False
    ]
    assert [] == wrong


def test_no_fix_sets_what_is_set() -> None:
    """Neither a switch nor a value that was given."""
    wrong = []
    for name, answer in answers().items():
        arguments = arguments_of(answer)
        for fix, parts in changes(answer):
            given = [arguments.get(option[2:].replace("-", "_")) for option, _ in parts]
            same = [
                value is True if new is None else str(value) == new
                for (_, new), value in zip(parts, given, strict=True)
            ]
            if parts and all(same) and "=" not in fix.change.partition(" ")[0]:
                wrong.append((name, fix.change))
    assert [] == wrong


def test_no_value_moves_against_what_its_fix_says() -> None:
    """Lower is lower than what is in force, more is more."""
    wrong = []
    for name, answer in answers().items():
        for fix, parts in changes(answer):
            if not fix.moves or len(parts) != 1 or not re.fullmatch(r"[\d.]+", parts[0][1] or ""):
                continue
            option, value = parts[0]
            argument = option[2:].replace("-", "_")
            now = arguments_of(answer).get(argument, answer.facts.get(argument))
            if isinstance(now, (int, float)) and (float(value) <= now if fix.moves == "up" else float(value) >= now):
                wrong.append((name, fix.change, now))
    assert [] == wrong


def test_corrections_are_exact_and_come_first() -> None:
    """What the error names is corrected without a placeholder."""
    wrong = []
    for name, answer in answers().items():
        corrections = [fix for fix in answer.fixes if fix.source == "the error's own words"]
        if corrections and (answer.fixes[0] is not corrections[0] or re.search(r"[…<>]", corrections[0].change)):
            wrong.append(name)
    assert [] == wrong


@pytest.mark.parametrize("word", ["--trust-remote-code", "--allow-deprecated-quantization", "ray stop --force"])
def test_no_command_lowers_security_or_destroys_unasked(word: str) -> None:
    """A corrected command has such a word only where it was given, or where the log asks for it."""
    wrong = []
    for name, answer in answers().items():
        asked = word == "--trust-remote-code" and re.search(
            r"(?i)trust_remote_code=True|remote code", Path(name).read_text("utf-8", "replace")
        )
        given = word[2:].replace("-", "_") in arguments_of(answer)
        if word in answer.corrected_command and not asked and not given:
            wrong.append((name, answer.corrected_command))
    assert [] == wrong


def refused_parts(command: str, release: str) -> list[str]:
    """Return what a release's parser would refuse of a command, by the table of options."""
    start = read_text(command)
    assert start is not None, command
    found = []
    for part in start.others():
        about = options.describe(part.base(), release)
        values = [word.value for word in part.values]
        if about is None:
            found.append(f"{part.name}: no such option")
        elif part.name != part.base() or (part.negative and about.negated):
            continue
        elif about.kind == "switch" and values:
            found.append(f"{part.name} takes no value: {values}")
        elif about.kind != "switch" and not values:
            found.append(f"{part.name} without a value")
        elif about.choices and not {*values} <= {str(choice) for choice in about.choices}:
            found.append(f"{part.name}: {values} is none of its choices")
        elif about.kind in READERS and not all(reads(READERS[about.kind], value) for value in values):
            found.append(f"{part.name}: {values} is no {about.kind}")
    return found


READERS: dict[str, Callable[[str], object]] = {
    "int": re.compile(r"-?\d+(?:\.\d+)?[kKmMgGtT]?|-1|auto").fullmatch,
    "float": float,
    "json": json.loads,
}


def reads(reader: Callable[[str], object], value: str) -> bool:
    """Return whether a value can be read."""
    try:
        return reader(value) is not None
    except ValueError:
        return False


def test_every_corrected_command_is_taken_by_the_parser_of_its_release() -> None:
    """By the table of options: names, kinds, choices; training/prove asks the parsers themselves."""
    found = {}
    for name, answer in answers().items():
        release = str(answer.facts.get("vllm_version") or "").partition("+")[0]
        if answer.corrected_command and options.exists("--model", release):
            found[name] = refused_parts(answer.corrected_command, release)
    assert len(found) > len(PATHS) / 10
    assert {} == {name: refused for name, refused in found.items() if refused}
