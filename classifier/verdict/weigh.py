"""Root cause, not last line: weighs what matched by role, strength, process, order and exception chain."""

from __future__ import annotations

from typing import Any

from ...corpus.stages import STAGES
from ..incidents.types import Incident
from ..lines.types import Line, Trace
from ..matching.match import match_frames
from ..matching.types import Hit
from .types import Candidate

STRENGTH = {"certain": 3.0, "strong": 2.2, "weak": 1.0, "guess": 0.65}
ORDER = {stage: index for index, stage in enumerate(STAGES)}
READY = ORDER["api_ready"]
QUEUE = 100
"""Waiting requests from which on a full KV cache at the end of a log is more than a burst."""


def weigh(incident: Incident) -> list[Candidate]:
    """Return the possible causes of one incident, best first, each with the reasons for its score."""
    context = _Context(incident)
    found = [
        candidate for hit in incident.hits if hit.rule.role == "cause" if (candidate := context.judge(hit)) is not None
    ]
    found.sort(key=lambda candidate: (-candidate.score, candidate.hit.line.number))
    return _distinct(found)


def wrappers(incident: Incident) -> list[Hit]:
    """Return the symptoms (wrappers, cascades) of an incident in the order of the log."""
    context = _Context(incident)
    hits = [
        hit
        for hit in incident.hits
        if hit.rule.role == "symptom" and not hit.quoted and not context.cancelled(hit) and context.conditions(hit)
    ]
    return sorted(hits, key=lambda hit: hit.line.number)


def untold(incident: Incident) -> list[Trace]:
    """Return the exceptions that no rule speaks for, deepest process and oldest first."""
    context = _Context(incident)
    spoken = {id(hit.trace) for hit in incident.hits if hit.trace is not None and hit.rule.role != "fact"} | {
        (hit.line.number) for hit in incident.hits if hit.rule.role != "fact"
    }
    traces = [
        trace for trace in incident.traces
        if trace.kind and not context.dead_trace(trace) and id(trace) not in spoken and trace.number not in spoken and not trace.logging_error
    ]  # fmt: skip
    return sorted(traces, key=lambda trace: (trace.raised_from is not None, -_depth(trace.process), trace.number))


class _Context:
    """What the other hits of an incident say about each of them."""

    def __init__(self, incident: Incident) -> None:
        self.incident = incident
        self.benign_lines: dict[int, Hit] = {}
        self.benign_traces: set[int] = set()
        self.fired: set[str] = set(incident.fired)
        for hit in incident.hits:
            if hit.rule.role in ("benign", "teardown", "advice"):
                self.benign_lines.setdefault(hit.line.number, hit)
                if hit.trace is not None and hit.rule.role != "advice" and hit.line.number == hit.trace.number:
                    self.benign_traces.add(id(hit.trace))
        self.stages = {span.stage: span.line for span in incident.stages}
        standing = [hit for hit in incident.hits if self._stands(hit)]
        self.fired |= {hit.rule.id for hit in standing if not hit.rule.requires}
        for _ in range(2):
            self.fired |= {hit.rule.id for hit in standing if any(name in self.fired for name in hit.rule.requires)}
        self.shutdown = stop_line(incident)
        self.ready = self.stages.get("api_ready", 0)
        wraps = [hit.line.number for hit in incident.hits if hit.rule.role == "symptom" and not hit.quoted]
        self.first_symptom = min(wraps) if wraps else 0
        causes = [hit for hit in incident.hits if hit.rule.role == "cause" and not hit.quoted]
        self.first_cause = min((hit.line.number for hit in causes), default=0)
        self.specific: dict[int, list[Hit]] = {}
        for hit in causes:
            if hit.rule.specific and match_frames(hit.rule, hit.trace) and self.conditions(hit):
                self.specific.setdefault(hit.line.number, []).append(hit)

    def cancelled(self, hit: Hit) -> bool:
        """Tell whether a benign rule speaks for the same line or exception."""
        if hit.line.number in self.benign_lines and self.benign_lines[hit.line.number].rule is not hit.rule:
            return True
        return hit.trace is not None and self.dead_trace(hit.trace)

    def dead_trace(self, trace: Trace) -> bool:
        """Tell whether an exception is noise, by itself or because it was raised while handling noise."""
        seen = 0
        link: Trace | None = trace
        while link is not None and seen < 8:
            if id(link) in self.benign_traces:
                return True
            link = link.raised_from
            seen += 1
        return False

    def _stands(self, hit: Hit) -> bool:
        """Tell whether a rule fired in its own right: its stack and its stage fit (``requires`` and ``unless`` look at these)."""
        return match_frames(hit.rule, hit.trace) and not (
            hit.rule.stages and self.stage_at(hit.line.number) not in hit.rule.stages
        )

    def conditions(self, hit: Hit) -> bool:
        """Tell whether the conditions of a rule on the rest of the log hold."""
        rule = hit.rule
        if rule.stages and self.stage_at(hit.line.number) not in rule.stages:
            return False
        if rule.requires and not any(name in self.fired for name in rule.requires):
            return False
        return not (rule.unless and any(name in self.fired for name in rule.unless))

    def stage_at(self, number: int) -> str:
        """Return the stage that start-up had got to at a line."""
        best = ""
        for span in self.incident.stages:
            if span.line <= number and ORDER[span.stage] >= ORDER.get(best, -1):
                best = span.stage
        return best

    def judge(self, hit: Hit) -> Candidate | None:
        rule = hit.rule
        if self.cancelled(hit) or not self.conditions(hit) or not match_frames(rule, hit.trace):
            return None
        if hit.trace is not None and hit.trace.logging_error:
            return None
        score = STRENGTH[rule.strength]
        reasons = [f"{rule.id} ({rule.strength}) on line {hit.line.number}"]

        def add(points: float, why: str) -> None:
            nonlocal score
            score += points
            reasons.append(f"{points:+.2f} {why}")

        if rule.specific:
            add(0.3, "asks for more evidence than its words")
        elif any(
            STRENGTH[other.rule.strength] >= STRENGTH[rule.strength] and other.rule.id != rule.id
            for other in self.specific.get(hit.line.number, ())
        ):
            add(-0.6, "a more specific rule speaks for the same line")
        if rule.message and rule.frames and "(?!" not in rule.message[:12]:
            add(0.2, "names both the words and the place")
        if hit.quoted:
            add(-1.6, "stands in source code that a traceback shows")
        if rule.pattern == "" and rule.strength == "weak":
            add(-0.1, "goes by where it was raised")
        if (
            rule.bucket == "performance_degradation"
            and self.ready
            and rule.strength == "weak"
            and int(hit.captures.get("waiting", 0)) < QUEUE
        ):
            add(-0.6, "a burst in the life of a healthy server looks the same")
        self._judge_place(hit, add)
        self._judge_time(hit, add)
        self._judge_chain(hit, add)
        return Candidate(rule.bucket, rule.cause, score, hit, reasons)

    def _judge_place(self, hit: Hit, add: Any) -> None:
        depth = _depth(hit.line.process)
        if depth:
            add(0.12 * depth, f"said by {hit.line.process}")
        if hit.line.level in ("INFO", "WARNING", "DEBUG"):
            add(-0.25, f"only at level {hit.line.level}")
        if hit.rule.scope == "request":
            fatal = self.first_symptom and not (self.ready and self.first_symptom < self.ready)
            add(-0.9 if fatal else -0.2, "concerns one request" + (", while the engine died" if fatal else ""))

    def _judge_time(self, hit: Hit, add: Any) -> None:
        number = hit.line.number
        if (
            self.shutdown
            and number >= self.shutdown
            and not (self.first_symptom and self.first_symptom < self.shutdown)
            and hit.rule.scope != "request"
        ):
            add(-2.6, "after the shutdown began")
        if self.ready and number < self.ready and max(hit.last, number) < self.ready and hit.rule.scope != "request":
            add(-2.6, "before the server came up all the same")
        if self.first_cause and number > self.first_cause:
            # Order decides between equals; it never outweighs strength.
            add(-min(0.25, 0.02 + (number - self.first_cause) / 2000), "later than the first cause")
        if (
            self.first_symptom
            and number > self.first_symptom + 3
            and not (self.ready and self.first_symptom < self.ready < number)
        ):
            add(-0.2, "after the first wrapper")

    def _judge_chain(self, hit: Hit, add: Any) -> None:
        trace = hit.trace
        if trace is None or hit.quoted:
            return
        if trace.raised_from is not None and trace.raised_from.kind:
            add(-0.25 if trace.direct else -0.15, "raised from an earlier exception")
        elif trace.cause_of is not None:
            add(0.15, "at the root of an exception chain")


def stop_line(incident: Incident) -> int:
    """Return the line on which a stop from outside shows (signal, Ctrl-C, the server's own shutdown); 0 where none does."""
    lines = [span.line for span in incident.stages if span.stage == "shutdown"]
    # A SIGTERM that a child process received may have come from its own parent, which failed; Ctrl-C reaches all.
    lines += [
        hit.line.number
        for hit in incident.hits
        if hit.rule.role == "teardown"
        and hit.rule.cause
        and not hit.quoted
        and not (_depth(hit.line.process) and "SIGTERM" in hit.line.text)
    ]
    return min(lines, default=0)


def _depth(process: str) -> int:
    name = process.lower()
    if "worker" in name:
        return 2
    return 1 if "engine" in name or "rank" in name else 0


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    seen: set[tuple[str, str]] = set()
    kept = []
    for candidate in candidates:
        key = (candidate.bucket, candidate.cause)
        if key not in seen:
            seen.add(key)
            kept.append(candidate)
    return kept


def silent_end(incident: Incident, tail: list[Line]) -> bool:
    """Tell whether a log simply stops in distributed start-up: nothing failed, nothing follows."""
    if incident.reached != "distributed_init" or not incident.stages or str(incident.facts.get("world_size")) == "1":
        return False
    last = max(span.line for span in incident.stages)
    return bool(tail) and tail[-1].number - last <= 60
