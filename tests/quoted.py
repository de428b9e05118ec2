"""Messages as people quote them: a half of one, in ten surroundings, for ``benchmarks/situation.py``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from tests.damaged import answer
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.corpus.compiler import read_bucket, sources
from vllm_triage.corpus.messages import FOLDER, Row, catalogue
from vllm_triage.corpus.messages.row import SLOT
from vllm_triage.corpus.messages.words import COMMON

DRAWN = 5000
"""Messages of the catalogue that are drawn."""
SHORTEST = 10
"""Words of the shortest message that is cut."""
TELLING = 4
"""Words of the shortest half that may tell, of which one is no common one."""
SURROUNDINGS = {
    "alone": "{}",
    "prose": "Hi, since this morning I see {} when I run it, any idea?",
    "inline code": "The server says `{}` and stops.",
    "table": "| what | seen |\n|---|---|\n| error | {} |",
    "JSON": '{{"error": {{"message": "{}"}}}}',
    "prefix": "2026-03-01 node7 svc[311]: job | {}",
    "quote": "> {}\n\nSame here.",
    "list": '1. start it\n2. it prints "{}"',
    "logger": "[worker 3] 10:22:01.123 error {}",
    "chat": "anna: it died again\nanna: {}\nbob: which version?",
}
NAMES_NOTHING = ("unknown", "no_failure")
_VALUES = ("12", "0.9", "/data/run7", "acme-7b", "float16", "4096", "'left'", "(3, 8)")
_WORD = re.compile(r"(?<![\w./=:-])[A-Za-z_]\w*(?![./=-]?\w)")
"""Words that are no part of a path, an address or an option: nobody is asked to know a message by these."""
_VALUE = re.compile(r"\{\}|\S*\d\S*|\S*\w[./=]\w\S*|--\S+")


@dataclass
class Fared:
    """How one half fares in one surrounding."""

    asked: int = 0
    right: int = 0
    moved: list[tuple[str, str, str]] = field(default_factory=list)
    """The half, the bucket of the whole, and what was said."""


def count(chance: Random, drawn: int = DRAWN, surroundings: int = len(SURROUNDINGS)) -> dict[tuple[str, str], Fared]:
    """Return how halves of all rules' examples and of drawn messages fare, by half and surrounding.

    Args:
        chance: Draws messages, values and surroundings.
        drawn: Messages of the catalogue.
        surroundings: Into how many of them each half is put.
    """
    counts: dict[tuple[str, str], Fared] = defaultdict(Fared)
    for template in messages(chance, drawn):
        report = answer(_filled(template, chance))
        if report is None or report.bucket in NAMES_NOTHING:
            continue
        words = template.split(" ")
        for which, part in (("first", words[: len(words) // 2]), ("second", words[len(words) // 2 :])):
            if not tells(" ".join(part), report.bucket):
                continue
            half = _filled(" ".join(part), chance)
            for name in chance.sample(list(SURROUNDINGS), surroundings):
                text = half.replace('"', "'") if name in ("JSON", "list") else half
                now = answer(SURROUNDINGS[name].format(text))
                found = counts[which, name]
                found.asked += 1
                found.right += now is not None and now.bucket == report.bucket
                if now is None or now.bucket != report.bucket:
                    found.moved.append((half, report.bucket, now.cause if now is not None else "refused"))
    return counts


def messages(chance: Random, drawn: int) -> list[str]:
    """Return what all rules' examples say, and so many messages of the catalogue, ``{}`` where values are put in."""
    said = [text for text, _ in _examples() if not text.startswith("File ")]
    rows = [text for row in catalogue() if _long(text := _said(row))]
    said += chance.sample(rows, min(drawn, len(rows)))
    return [text for text in dict.fromkeys(said) if _long(text)]


def tells(half: str, bucket: str) -> bool:
    """Say if a half has more than common words, and all messages that hold as much of it are of one bucket."""
    words = _words(half)
    if len(words) < TELLING or COMMON.issuperset(words):
        return False
    held = Counter(owner for run in _runs(half) for owner in _owners()[0].get(run, ()))
    most = max(held.values(), default=0)
    return {_owners()[1][owner] for owner, count in held.items() if count == most} == {bucket}


@cache
def _examples() -> list[tuple[str, str]]:
    """Return the last line of each example, what stands before its message taken off, with the bucket that it is of."""
    rules = [rule for path in sources(Path(FOLDER).parent) for rule in read_bucket(path).rules]
    return [
        (split_line(1, str(text).strip().splitlines()[-1]).text.strip(), rule.bucket if rule.role in ("cause", "symptom") else "")
        for rule in rules for text in rule.match
    ]  # fmt: skip


@cache
def _owners() -> tuple[dict[tuple[str, ...], list[int]], list[str]]:
    """Return which messages have a run of words, and the bucket of each message; "" of what is no failure."""
    said = [(_said(row), row.label.bucket if row.ends else "") for row in catalogue()]
    said += _examples()
    owners: dict[tuple[str, ...], list[int]] = {}
    for owner, (text, _) in enumerate(said):
        for run in _runs(text):
            owners.setdefault(run, []).append(owner)
    return owners, [bucket for _, bucket in said]


def _said(row: Row) -> str:
    return f"{row.name}: {row.template}" if row.kind == "raise" and row.name else row.template


def _filled(template: str, chance: Random) -> str:
    first, *pieces = template.split(SLOT)
    return first + "".join(chance.choice(_VALUES) + piece for piece in pieces)


def _long(text: str) -> bool:
    return len(_words(text)) >= SHORTEST


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return the runs of three words between which no value, path or option stands."""
    pieces = [_words(piece) for piece in _VALUE.split(text)]
    return {run for words in pieces for run in zip(words, words[1:], words[2:], strict=False)}
