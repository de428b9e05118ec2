"""What is answered where a log's message is one that nobody has read: for the tests and ``benchmarks/unseen.py``.

Two ways of hiding. ``message``: the rules that speak for the deciding line, or its exception, are left out, as if nobody had
written them. ``words``: the words of all exceptions are replaced, and their classes but for Python's own; the stacks speak.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tests.damaged import Log
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.lines.types import Line, Trace
from vllm_triage.classifier.text_model.guess import Guesser
from vllm_triage.classifier.verdict.decide import decide
from vllm_triage.classifier.verdict.known import Known
from vllm_triage.classifier.verdict.types import Verdict

Way = Literal["message", "words"]
Outcome = Literal["right", "wrong", "unknown", "healthy"]
STRANGE = "the seventh cog of the frob is not in order"
"""What is said instead."""
OWN = frozenset(
    {
        "ValueError", "RuntimeError", "TypeError", "AttributeError", "KeyError", "IndexError", "AssertionError",
        "NotImplementedError", "ImportError", "OSError", "Exception", "ZeroDivisionError", "UnboundLocalError", "NameError",
    }
)  # fmt: skip
"""Classes that everybody raises."""
WORDS = 16
"""Characters of a message from which on it is replaced wherever else it stands."""


@dataclass(frozen=True)
class Hidden:
    """A log of which something was hidden, and its answer."""

    name: str
    accepted: frozenset[str]
    answer: Verdict
    before: str
    """The cause that was answered with everything in sight."""

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        if self.answer.bucket in self.accepted:
            return "right"
        return {"unknown": "unknown", "no_failure": "healthy"}.get(self.answer.bucket, "wrong")  # type: ignore[return-value]


class Hider:
    """Answers logs with something hidden.

    Args:
        models: Folders of models of which each has not seen the rules of its part (``train --folds``); the shipped
            model, which has seen all of them, where none are named.
    """

    def __init__(self, models: Iterable[str] = ()) -> None:
        self.triage = Triage()
        self._guessers = [Guesser(folder) for folder in models] or [Guesser()]

    def answers(self, logs: Iterable[Log], way: Way) -> Iterator[Hidden]:
        """Yield the failures whose rules answer them rightly, with their answers where something is hidden."""
        for log in logs:
            incidents, tail = self._read(log.text)
            plain = self._decided(incidents, tail, "")
            if not plain.rule or plain.bucket not in log.accepted or plain.bucket in ("no_failure", "unknown"):
                continue
            if way == "words":
                text = masked(log.text, [trace for incident in incidents for trace in incident.traces])
                if text == log.text:
                    continue
                incidents, tail = self._read(text)
            else:
                hide(incidents, plain)
            yield Hidden(log.name, log.accepted, self._decided(incidents, tail, plain.rule), plain.cause)

    def plain(self, log: Log) -> Verdict:
        """Return the answer to a log with everything in sight, by the shipped model."""
        incidents, tail = self._read(log.text)
        return self._decided(incidents, tail, "")

    def _read(self, text: str) -> tuple[list[Incident], list[Line]]:
        session = self.triage.start()
        for block in read_blocks(text.encode("utf-8", "surrogateescape")):
            session.feed(block)
        return session.finish(), session.tail()

    def _decided(self, incidents: list[Incident], tail: list[Line], rule: str) -> Verdict:
        from vllm_triage.training.text_model.fit.folds import fold_of

        guesser = self._guessers[fold_of(rule, len(self._guessers))]
        return decide(incidents, tail, Known(self.triage.corpus, lambda: guesser))


def hide(incidents: Iterable[Incident], plain: Verdict) -> None:
    """Take the rules that speak for the deciding line, or its exception, out of all incidents."""
    incidents = list(incidents)
    line = plain.evidence[0].line if plain.evidence else 0
    known = {plain.rule}
    for incident in incidents:
        traces = {id(hit.trace) for hit in incident.hits if hit.trace is not None and hit.line.number == line}
        known |= {
            hit.rule.id
            for hit in incident.hits
            if hit.rule.role == "cause" and (hit.line.number == line or id(hit.trace) in traces)
        }
    for incident in incidents:
        incident.hits = [hit for hit in incident.hits if hit.rule.id not in known]


def masked(text: str, traces: Iterable[Trace]) -> str:
    """Return a log with the words of its exceptions replaced."""
    lines = text.split("\n")
    words: set[str] = set()
    for trace in traces:
        if not trace.kind or trace.logging_error or not 0 < trace.number <= len(lines):
            continue
        line = lines[trace.number - 1]
        at = line.find(trace.kind)
        if trace.kind == "KeyboardInterrupt" or at < 0:
            continue
        kind = trace.kind if trace.kind in OWN else "FrobError"
        lines[trace.number - 1] = f"{line[: line.rfind(' ', 0, at) + 1]}{kind}: {STRANGE}"
        first, *_ = trace.message.strip().split("\n")
        if len(first) >= WORDS:
            words.add(first[:120])
        for number in range(trace.number, min(trace.last, len(lines), trace.number + 40)):
            lines[number] = ""
    text = "\n".join(lines)
    for word in words:
        text = text.replace(word, STRANGE)
    return text
