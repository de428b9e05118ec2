"""How often a verdict stays what it was when its log is damaged: counted by way, for the tests and ``benchmarks/damage.py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random
from zlib import crc32

from tests.damage import FORMS, Form
from tests.fixtures.marked import FOLDER, read_marked
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.report.model import Report
from vllm_triage.training.record.publish import RECORDED, read_index

LEAST, LEAST_CUT = 0.97, 0.94
"""Share of the verdicts that must stay; the second where lines are lost."""
SHORTEST = 200
"""Characters of a cut healthy log from which on it can still show that it is one."""
NOT_YET = frozenset({"no_failure/still_starting", "no_failure/nothing_found", "nccl_hang/silent_distributed_init"})
"""Answers by what a start has not done so far: one that failed before it is rightly preferred."""
TRIAGE = Triage()


@dataclass(frozen=True)
class Log:
    """A log with the buckets that may answer it."""

    name: str
    text: str
    accepted: frozenset[str]


@dataclass
class Count:
    """How the logs fared in one form."""

    form: Form
    asked: int = 0
    moved: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, cause before, cause after."""

    @property
    def share(self) -> float:
        """The share that stayed."""
        return 1 - len(self.moved) / self.asked if self.asked else 1.0


def recorded(every: int = 1) -> Iterator[Log]:
    """Yield the recorded logs, or each so-manieth."""
    for entry in read_index(RECORDED / "index.jsonl")[::every]:
        text = (RECORDED / entry["file"]).read_text(encoding="utf-8", errors="replace")
        yield Log(entry["file"], text, frozenset((entry["bucket"], *entry["also"])))


def written() -> Iterator[Log]:
    """Yield the marked logs and the samples."""
    for path in sorted(FOLDER.glob("*.log")):
        marked = read_marked(path)
        yield Log(marked.name, marked.log, frozenset((marked.bucket,)))
    for path in sorted((RECORDED.parent / "written").glob("*.log")):
        text = path.read_text(encoding="utf-8")
        yield Log(path.stem, text, frozenset((TRIAGE.report(text).bucket,)))


def count(logs: Iterable[Log], forms: Iterable[Form] = FORMS) -> list[Count]:
    """Return how the logs that are answered rightly fare in each form."""
    counts = [Count(form) for form in forms]
    for log in logs:
        plain = answer(log.text)
        if plain is None or plain.bucket not in log.accepted:
            continue
        for item in counts:
            damaged = item.form.apply(log.text, Random(crc32(log.name.encode())))
            if not fair(item.form, plain, damaged):
                continue
            item.asked += 1
            now = answer(damaged)
            if now is None or now.bucket not in log.accepted:
                item.moved.append((log.name, plain.cause, now.cause if now is not None else "refused"))
    return counts


def answer(text: str) -> Report | None:
    """Return the report of a log; None where it is refused."""
    try:
        return TRIAGE.report(text.encode("utf-8", "surrogateescape"))
    except InputError:
        return None


def fair(form: Form, plain: Report, damaged: str) -> bool:
    """Return whether a damaged log can be answered as before: what proved it is still there, and the question is the same."""
    if form.way == "two attempts":
        return plain.cause not in NOT_YET and plain.decided_by != "none"
    if form.accuses and (plain.bucket == "no_failure" or plain.cause in NOT_YET):
        return False
    if not form.cut:
        return True
    if plain.bucket == "no_failure":
        return len(damaged) >= SHORTEST
    return bool(plain.evidence) and _squeezed(plain.evidence[0].text) in _squeezed(damaged)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def by_way(counts: Iterable[Count]) -> dict[str, list[Count]]:
    """Return the counts of each way."""
    found: dict[str, list[Count]] = {}
    for item in counts:
        found.setdefault(item.form.way, []).append(item)
    return found


def least(counts: list[Count]) -> float:
    """Return the share that must stay in a way."""
    return LEAST_CUT if any(item.form.cut for item in counts) else LEAST


def share(counts: list[Count]) -> float:
    """Return the share that stayed over all forms of a way."""
    asked = sum(item.asked for item in counts)
    return 1 - sum(len(item.moved) for item in counts) / asked if asked else 1.0


@cache
def sample() -> dict[str, list[Count]]:
    """Return the counts of a sample that takes some seconds: all written logs, and each fortieth of the recorded ones."""
    return by_way(count([*written(), *recorded(40)]))
