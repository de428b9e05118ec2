"""From blocks of bytes to incidents: what matched, which exceptions were printed, how far the start got.

Only lines that hold a literal of some rule, or that stand within a traceback, are looked at; all others are skipped unread.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from time import perf_counter
from typing import Any

from ...corpus.stages import STAGE_ORDER
from ...corpus.types import Rule
from ..facts.book import FactBook
from ..facts.continuation import JOINED, capture_of, joined
from ..facts.readers import note
from ..facts.types import HINT
from ..facts.versions import version_key
from ..input.read import Block
from ..lines.prefix import split_line
from ..lines.tail import LINE, Tail
from ..lines.tracebacks import TraceReader
from ..lines.types import Line, Trace
from ..matching.match import TraceRules, match_line
from ..matching.scan import Scanner, SteadyScanner
from ..matching.types import Hit
from .not_vllm import is_foreign, other_engine
from .servers import Servers
from .stages import begins, engine_of_traces, reached, time_stages
from .types import Incident, StageSpan

PER_RULE = 12
"""Hits kept of one rule in one incident; further ones are counted."""
VISITS = 300
"""Occurrences of one literal in a log after which it is no longer looked for, but near errors."""
SETTLE = 2 << 20
"""Bytes of a start's log after which literals that stand everywhere are looked for near errors alone."""
FACT_TRIES = 60
"""The same for facts: they are told at start-up, by a few processes."""
TRIES = 400
"""Matches of one rule in one incident after which it is only counted by its literal."""
MISSES = 8000
"""Lines with a rule's literal that it did not match, in one start, after which it is given up: millions of them are no log."""
SLOW = 0.05
"""Seconds that one try takes on hostile text only."""
LAST = 8
"""Last lines of a frequent kind on which a rule that judges them is tried."""
AHEAD = 24
"""Facts kept that seem to belong to the start that follows."""
ERRORS = 40
"""Error lines kept of one incident, for logs that no rule knows."""


class Engine:
    """Rules made ready for scanning: built once, used for any number of logs."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.line_rules = [rule for rule in rules if rule.pattern]
        self.trace_rules = TraceRules([rule for rule in rules if not rule.pattern])
        self.tries = [FACT_TRIES if rule.role == "fact" else TRIES for rule in self.line_rules]
        self.serving = {
            index for index, rule in enumerate(self.line_rules) if rule.frequent and rule.stage == "serving"
        }
        self.scanner = Scanner(
            (literal, index) for index, rule in enumerate(self.line_rules) for literal in rule.literals
        )
        self.frequent = [
            (literal.encode(), index)
            for index, rule in enumerate(self.line_rules)
            if rule.frequent
            for literal in rule.literals
        ]


class Analysis:
    """Takes blocks in order; ``finish`` returns the incidents.

    Args:
        engine: The rules.
        shares: Whether other servers' lines were taken out of the log, and left empty ones.
    """

    def __init__(self, engine: Engine, shares: bool = False) -> None:
        self._engine = engine
        self._traces = TraceReader()
        self._incidents: list[Incident] = [Incident(0, 1)]
        self._tries: dict[int, int] = {}
        self._misses: dict[int, int] = {}
        self._muted: set[int] = set()
        self._scanner: Scanner | SteadyScanner = engine.scanner
        self._read, self._settle, self._settled = 0, SETTLE, 0
        self._visits: dict[int, int] = {}
        self._done: set[int] = set()
        self._starts: dict[str, str] = {}
        self._book = FactBook()
        self._ahead: list[tuple[Any, Line, dict[str, str]]] = []
        self._here = (b"", 0, 0)
        self._prefixed = False
        self._owner: dict[int, int] = {}
        self._tail = Tail()
        self._errors = 0
        self._sample = b""
        self._servers = Servers()
        self._others: dict[str, Analysis] = {}
        self._shares = shares
        self.lines = 0
        self.bytes = 0

    @property
    def incident(self) -> Incident:
        """The server start that is being read."""
        return self._incidents[-1]

    def fork(self) -> Analysis:
        """Return a copy that can be finished, or fed with something else, while this one goes on."""
        shared = [self._engine, *self.scanners(), *self._engine.rules]
        return deepcopy(self, {id(item): item for item in shared})

    def scanners(self) -> list[Scanner | SteadyScanner]:
        """Return the scanners in use, those for other servers of the log included."""
        return [self._scanner, *(scanner for other in self._others.values() for scanner in other.scanners())]

    def feed(self, block: Block) -> None:
        """Read one block, with the lines of each server on their own where it shows several."""
        if not self._sample:
            self._sample = block.data[:4096].strip()
        own, others = self._servers.split(block)
        self._read_own(own)
        for name, part in others.items():
            self._shares = True
            self._others.setdefault(name, Analysis(self._engine, shares=True)).feed(part)

    def _read_own(self, block: Block) -> None:
        data = block.data
        self.incident.contexts.extend(data)
        found = self._scanner.find(data)
        # Ends are ordered, starts are what lines are found by.
        found.sort(key=_start_of)
        self._walk(data, block.number, found)
        self._mute(found)
        self._read += len(data)
        if self._read > self._settle and len(self._muted) > self._settled:
            # From here on the log is taken to be a server at work; once more where much changes.
            self._settle, self._settled = self._settle * 8, len(self._muted)
            self._scanner = self._engine.scanner.steady(frozenset(self._muted))
        count = data.count(b"\n")
        self.lines = block.number + count - (1 if data.endswith(b"\n") else 0)
        self.bytes += block.size
        self._tail.extend(data, block.number + count)

    def _mute(self, found: list[tuple[int, int, int]]) -> None:
        """Stop looking for literals that stand everywhere in this log: their rules have had their chance."""
        if len(found) < 64:
            return
        for word, count in Counter(item[0] for item in found).items():
            rules = self._engine.scanner.rules[word]
            if rules:
                total = self._visits[word] = self._visits.get(word, 0) + count
                if total > VISITS or self._done.issuperset(rules):
                    self._muted.add(word)

    def _walk(self, data: bytes, number: int, found: list[tuple[int, int, int]]) -> None:
        traces, words, waiting = self._traces, self._engine.scanner.words, self._engine.scanner.rules
        position, counted, index, total, size = 0, 0, 0, len(found), len(data)
        done = self._done
        steps = 0
        while position < size:
            if traces.open:
                start = position
            elif index < total:
                at = found[index][1]
                start = max(data.rfind(b"\n", position, at), data.rfind(b"\r", position, at)) + 1 or position
            else:
                break
            end = data.find(b"\n", start)
            end = size if end < 0 else end
            split = data.find(b"\r", start, end)
            if split >= 0:
                end = split
            number += data.count(b"\n", counted, start)
            counted = start
            rules: dict[int, str] = {}
            structure = False
            while index < total and found[index][1] < end:
                word = found[index][0]
                ids = waiting[word]
                structure = structure or not ids
                for rule in ids:
                    if rule not in done and rule not in rules:
                        rules[rule] = words[word].decode()
                index += 1
            # In a log that servers share, a line without anything is another's: an own one bears the container's name.
            if rules or structure or (traces.open and not (self._shares and start == end)):
                self._line(data, start, end, number, rules)
            # CRLF is one line end, a bare CR another.
            position = end + 2 if data[end : end + 2] == b"\r\n" else end + 1
            steps += 1
            if steps & 63 == 0 and traces.open:
                traces.sweep(number)

    def _line(self, data: bytes, start: int, end: int, number: int, rules: dict[int, str]) -> None:
        raw = data[start : min(end, start + LINE)]
        if end - start > LINE:
            raw += self._windows(data, start + LINE, end, rules)
        self._here = (data, start, end)
        text = raw.decode("utf-8", "replace")
        line = split_line(number, text)
        if _is_prompt(line.text):
            rules = {
                index: literal for index, literal in rules.items() if self._engine.line_rules[index].role == "fact"
            }
            if not rules or self._traces.open == 0:
                self._try_rules(line, rules, "", None)
                return
        part, trace = self._traces.feed(line)
        if part == "final" and trace is not None and trace.incident < self.incident.index and trace.count == 1:
            trace.incident = self.incident.index
        if rules:
            self._try_rules(line, rules, part, trace)
        if line.level in ("ERROR", "CRITICAL") and part in ("", "final"):
            self._note_error(line)
        if part == "final":
            self._keep_context(line)

    def _keep_context(self, line: Line) -> None:
        self.incident.contexts.keep(line.number, self._here, self._tail.data)

    @staticmethod
    def _windows(data: bytes, start: int, end: int, rules: dict[int, str]) -> bytes:
        """Return what surrounds the literals in the part of a line that is too long to be read whole."""
        pieces = []
        for literal in set(rules.values()):
            at = data.find(literal.encode(), start, end) if literal else -1
            if at >= 0:
                pieces.append(data[max(start, at - 1024) : min(end, at + 3072)])
        return b" ".join(pieces[:8])

    def _try_rules(self, line: Line, rules: dict[int, str], part: str, trace: Trace | None) -> None:
        for index in sorted(rules):
            rule = self._engine.line_rules[index]
            started = perf_counter()
            captures = match_line(rule, line, rules[index])
            if perf_counter() - started > SLOW:
                # Bait for the expression: a few such lines are the last that this rule is tried on.
                self._tries[index] = self._tries.get(index, 0) + TRIES // 4
                if self._tries[index] > TRIES:
                    self._done.add(index)
            if captures is None or (rule.role == "fact" and not self._ours(rule, line)):
                misses = self._misses[index] = self._misses.get(index, 0) + 1
                if misses > MISSES:
                    self._done.add(index)
                continue
            tries = self._tries[index] = self._tries.get(index, 0) + 1
            if rule.frequent or tries > self._engine.tries[index]:
                self._done.add(index)
            quoted = (part == "code" and not rule.in_code) or (part == "frame" and "File" not in rule.pattern)
            if rule.role == "fact":
                if not quoted:
                    self._fact(rule, line, captures)
                elif rule.bucket != "facts":
                    self.incident.fired.add(rule.id)
                continue
            self._keep(Hit(rule, line, captures, trace if part else None, quoted, 1, self.incident.index, line.number))

    def _keep(self, hit: Hit) -> None:
        hits = [other for other in self.incident.hits if other.rule is hit.rule]
        for other in hits:
            if (
                other.captures == hit.captures
                and other.line.process == hit.line.process
                and other.quoted == hit.quoted
                and other.line.level == hit.line.level
            ):
                other.count += 1
                other.last = hit.line.number
                if len(hits) >= 4 or other.line.text == hit.line.text:
                    return
        if len(hits) < PER_RULE:
            self.incident.hits.append(hit)
            self._keep_context(hit.line)
        else:
            hits[-1].count += 1
            hits[-1].last = hit.line.number

    def _fact(self, rule: Rule, line: Line, captures: dict[str, str]) -> None:
        if rule.continues:
            # Where a terminal or a person wrapped it.
            data, _, end = self._here
            name = capture_of(rule.continues)
            captures[name] = joined(rule.continues, captures.get(name, ""), data[end + 1 : end + 1 + JOINED])
        if rule.stage in ("launch", "config") and not rule.start and self._order() >= STAGE_ORDER["weights"]:
            # A launcher's command, or the configuration of the next offline run: it belongs to the start that follows.
            self._ahead = [*self._ahead[-AHEAD:], (rule, line, captures)]
            return
        if begins(rule, line.process, line.number, self.incident, self._starts):
            earlier = self._book
            self._next_incident(line.number)
            if not rule.start:
                self._book.inherit(earlier)
        self._mark(rule, line, captures)

    def _mark(self, rule: Rule, line: Line, captures: dict[str, str]) -> None:
        incident = self.incident
        incident.fired.add(rule.id)
        if rule.start:
            self._starts[rule.start] = line.process
        if line.process.startswith(("APIServer", "ApiServer")):
            self._prefixed = True
        note(self._book, rule, line, captures)
        stage = rule.stage
        if stage == "graph_capture" and self._book.value("enforce_eager"):
            stage = "kv_cache"  # nothing is captured in eager mode
        if stage:
            spans = incident.stages
            if not any(span.stage == stage for span in spans) or stage == "shutdown":
                spans.append(StageSpan(stage, line.number, line.time))
            if STAGE_ORDER[stage] > self._order():
                incident.reached = stage
            if stage == "serving":
                self._done |= self._engine.serving

    def _order(self) -> int:
        return STAGE_ORDER.get(self.incident.reached, -1)

    def _ours(self, rule: Rule, line: Line) -> bool:
        """Tell whether vLLM said a line, not another program in the same log."""
        if rule.speaker == "offline":
            return line.source.startswith(("llm.py", "entrypoints/llm.py", "offline"))
        if rule.speaker == "api_server" and self._prefixed and not line.process:
            # From 0.10.1 to 0.31 everything that the API server prints bears its name.
            version = version_key(str(self._book.value("vllm_version") or ""))
            return version is None or version >= (0, 32, 0, 0, 0)
        return True

    def _next_incident(self, number: int) -> None:
        self._close_incident(number - 1)
        self._incidents.append(Incident(len(self._incidents), number))
        self._traces.reset()
        self._tries.clear()
        self._misses.clear()
        self._muted.clear()
        self._scanner = self._engine.scanner
        self._read, self._settle, self._settled = 0, SETTLE, 0
        self._visits.clear()
        self._done.clear()
        self._starts.clear()
        self._book = FactBook()
        self._prefixed = False
        self._errors = 0
        ahead, self._ahead = self._ahead, []
        for rule, line, captures in ahead:
            self._mark(rule, line, captures)

    def _close_incident(self, last: int) -> None:
        incident = self.incident
        self._traces.close_all()
        incident.last = last
        incident.traces = list(self._traces.traces)
        for trace in incident.traces:
            trace.incident = incident.index
            incident.hits += self._engine.trace_rules.hits(trace)
        self._book.set("engine", engine_of_traces(incident.traces), HINT)
        incident.facts = self._book.facts()
        incident.reached = reached(incident.stages, incident.traces, incident.hits)
        time_stages(incident.stages)
        if len(self._incidents) > 50:
            # A crash loop of thousands of starts: the middle ones are only counted.
            self._incidents[-2].hits = self._incidents[-2].hits[:20]
            self._incidents[-2].traces = []

    def _note_error(self, line: Line) -> None:
        self._errors += 1
        errors = self.incident.errors
        if len(errors) < ERRORS and all(other.text[:60] != line.text[:60] for other in errors):
            errors.append(line)
            self._keep_context(line)

    def finish(self) -> list[Incident]:
        """Read the end of the log and return all incidents, those of the first server first."""
        incidents = self._finish_own()
        if self._others:
            for incident in incidents:
                incident.server = self._servers.names[0]
        for name, other in self._others.items():
            more = other.finish()
            for incident in more:
                incident.server = name
            more[-1].tail = other.tail()
            incidents = [*incidents, *more]
        return incidents

    def _finish_own(self) -> list[Incident]:
        self._last_of_frequent()
        for rule, line, captures in self._ahead:
            # No start followed: the log is not in order, or names its command at the end.
            note(self._book, rule, line, captures)
        self._close_incident(self.lines)
        if len(self._incidents) == 1 and not self.incident.stages:
            self.incident.foreign = is_foreign(self._sample, self._tail.data, self.lines)
            self.incident.engine = other_engine(self._sample, self._tail.data)
        return self._incidents

    def _last_of_frequent(self) -> None:
        """Note the last line of the kinds that are too frequent to be read each time (throughput)."""
        for literal, index in self._engine.frequent:
            rule = self._engine.line_rules[index]
            at = len(self._tail.data)
            for _ in range(1 if rule.role == "fact" else LAST):
                at = self._tail.data.rfind(literal, 0, at)
                if at < 0 or self._read_last(rule, literal, at):
                    break

    def _read_last(self, rule: Rule, literal: bytes, at: int) -> bool:
        """Try a rule on the line of the log's end that holds its literal at ``at``; tell whether it matched."""
        line, start, end = self._tail.line_at(at)
        self._here = (self._tail.data, start, end)
        captures = match_line(rule, line, literal.decode())
        if captures is None:
            return False
        if rule.role == "fact":
            note(self._book, rule, line, captures)
        else:
            self._keep(Hit(rule, line, captures, None, False, 1, self.incident.index, line.number))
        return True

    def refusal(self) -> str:
        """Return why the input is no log at all; "" where it may be one."""
        if not self._sample:
            return "the log is empty: nothing but blanks or NUL bytes (errors go to standard error: … 2>&1 | vllm-triage -)"
        control = len(self._sample) - len(self._sample.translate(None, _CONTROL))
        if control > 0.1 * len(self._sample) and not any(
            item.hits or item.stages or item.traces for item in self._incidents
        ):
            return "the input is binary, not a log: name the text that the server wrote"
        return ""

    def tail(self, count: int = 60) -> list[Line]:
        """Return the last lines of the log that are not empty, peeled."""
        return self._tail.lines(count)


_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")


def _start_of(found: tuple[int, int, int]) -> int:
    return found[1]


def _is_prompt(text: str) -> bool:
    """Tell whether a line shows what users wrote: nothing in it is the server's own word."""
    head = text[:300]
    return (
        "Received request " in head
        or ", prompt: '" in head
        or "prompt: '" in head
        or 'prompt: "' in head
        or "Generated response" in head
    )
