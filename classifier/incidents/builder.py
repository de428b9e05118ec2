"""Makes one incident of what was read of one server start."""

from __future__ import annotations

from ...corpus.stages import STAGE_ORDER
from ...corpus.types import Rule
from ..facts.book import FactBook
from ..facts.readers import note
from ..facts.types import HINT, Captures
from ..facts.versions import version_key
from ..lines.tracebacks import TraceReader
from ..lines.types import Line
from ..matching.match import TraceRules
from ..matching.types import Hit
from .stages import begins, engine_of_traces, reached, time_stages
from .types import Incident, StageSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

PER_RULE = 12
"""Hits kept of one rule in one incident; further ones are counted."""
ALIKE = 4
"""Hits of one rule from which on one more with the same captures adds nothing, whatever else its line says."""
ERRORS = 40
"""Error lines kept of one incident, for logs that no rule knows."""
BEGIN = 60
"""Characters by which they are told apart: of those that begin alike one is kept."""
SITES = 200
"""Lines of vLLM's logger that are kept to tell its release by, where no line names it."""
NAMED_UNTIL = (0, 32, 0, 0, 0)
"""Release from which on not everything that the API server prints bears its name; it has done so since 0.10.1."""
OFFLINE = ("llm.py", "entrypoints/llm.py", "offline")
"""Modules of vLLM that run offline, as its log prefix names them."""

Place: TypeAlias = tuple[bytes, int, int, bytes]
"""Where a line stands: its block, its start and end there, and the end of the log before that block."""


class IncidentBuilder:
    """One server start: made when it begins, fed with what rules find, closed when the next one begins.

    Args:
        first: Number of its first line.
    """

    def __init__(self, first: int) -> None:
        self.incident = Incident(first)
        self.traces = TraceReader()
        self.book = FactBook()
        self._starts: dict[str, str] = {}
        self._named = False

    @property
    def order(self) -> int:
        """Position of the stage reached among all stages; -1 before the first."""
        return STAGE_ORDER.get(self.incident.reached, -1)

    def is_spoken_by(self, rule: Rule, line: Line) -> bool:
        """Return whether the one who must have said a line has, where other programs print the same words."""
        if rule.speaker == "offline":
            return line.source.startswith(OFFLINE)
        if rule.speaker == "api_server" and self._named and not line.process:
            version = version_key(str(self.book.value("vllm_version") or ""))
            return version is None or version >= NAMED_UNTIL
        return True

    def ends_before(self, rule: Rule, line: Line) -> bool:
        """Return whether a fact rule's line belongs to another start than this one."""
        return begins(rule, line.process, line.number, self.incident, self._starts)

    def mark(self, rule: Rule, line: Line, captures: Captures) -> str:
        """Note a fact rule's line; return the stage that it shows, or ""."""
        self.incident.fired.add(rule.id)
        if rule.start:
            self._starts[rule.start] = line.process
        if line.process.startswith(("APIServer", "ApiServer")):
            self._named = True
        note(self.book, rule, line, captures)
        stage = rule.stage
        if stage == "graph_capture" and self.book.value("enforce_eager"):
            stage = "kv_cache"  # nothing is captured in eager mode
        if stage:
            self._reach(stage, line)
        return stage

    def note(self, rule: Rule, line: Line, captures: Captures) -> None:
        """Note what a fact rule's line says, which is no mark of progress."""
        note(self.book, rule, line, captures)

    def _reach(self, stage: str, line: Line) -> None:
        spans = self.incident.stages
        if stage == "shutdown" or not any(span.stage == stage for span in spans):
            spans.append(StageSpan(stage, line.number, line.time, process=line.process))
        if STAGE_ORDER[stage] > self.order:
            self.incident.reached = stage

    def keep(self, hit: Hit, place: Place) -> None:
        """Keep a match of a rule, or count it where it says what an earlier one has said."""
        hits = [other for other in self.incident.hits if other.rule is hit.rule]
        if _counted(hits, hit, hit.line.number):
            return
        if len(hits) < PER_RULE:
            self.incident.hits.append(hit)
            self.keep_context(hit.line, place)
        else:
            hits[-1].count += 1
            hits[-1].last = hit.line.number

    def same(self, rule: Rule, line: Line) -> Hit | None:
        """Return the match of a rule that is kept of the same words by the same process, outside of source code."""
        for hit in self.incident.hits:
            known = hit.line.text, hit.line.process, hit.line.level
            if hit.rule is rule and not hit.quoted and known == (line.text, line.process, line.level):
                return hit
        return None

    def count(self, hit: Hit, number: int) -> None:
        """Count a kept match once more, of the same words on line ``number``, as ``keep`` would."""
        _counted([other for other in self.incident.hits if other.rule is hit.rule], hit, number)

    def note_error(self, line: Line, place: Place) -> None:
        """Keep a line logged as an error, unless one that begins like it was kept."""
        errors = self.incident.errors
        if len(errors) < ERRORS and all(other.text[:BEGIN] != line.text[:BEGIN] for other in errors):
            errors.append(line)
            self.keep_context(line, place)

    def keep_context(self, line: Line, place: Place) -> None:
        """Keep what surrounds a line."""
        block, start, end, earlier = place
        self.incident.contexts.keep(line.number, (block, start, end), earlier)

    def close(self, last: int, trace_rules: TraceRules, slow: dict[str, int]) -> Incident:
        """Return the incident with what rules say of its exceptions.

        Args:
            last: Its last line.
            trace_rules: The rules on exceptions.
            slow: Searches that took too long, by the rule's id; counted on here.
        """
        incident = self.incident
        self.traces.close_all()
        incident.last = last
        incident.traces = list(self.traces.traces)
        for trace in incident.traces:
            incident.hits += trace_rules.hits(trace, slow)
        self.book.set("engine", engine_of_traces(incident.traces), HINT)
        incident.facts = self.book.facts()
        incident.reached = reached(incident.stages, incident.traces, incident.hits)
        time_stages(incident.stages, incident.facts)
        return incident


def _counted(hits: list[Hit], hit: Hit, number: int) -> bool:
    """Count a match on line ``number`` with those of its rule that say the same; return whether that is enough."""
    for other in hits:
        if _says_the_same(other, hit):
            other.count += 1
            other.last = number
            if len(hits) >= ALIKE or other.line.text == hit.line.text:
                return True
    return False


def _says_the_same(other: Hit, hit: Hit) -> bool:
    return (
        other.captures == hit.captures
        and other.line.process == hit.line.process
        and other.quoted == hit.quoted
        and other.line.level == hit.line.level
    )
