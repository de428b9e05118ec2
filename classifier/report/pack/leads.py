"""Which lines an analysis stopped at, and what each is worth to a reader."""

from __future__ import annotations

from ....corpus.records import Mutable, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...incidents.types import Incident
    from ...lines.types import Evidence, Trace
    from ...verdict.types import Verdict

DECIDING, FIRST_DEATH, EXCEPTION, UNREAD, CHAIN, CONSEQUENCE, OVERCOME = 100, 94, 84, 82, 66, 48, 40
"""What lines are worth by what they are to the answer. The deciding line may be the wrong one: other exceptions come close."""
CAUSE, ERROR, SYMPTOM, TEARDOWN, HARMLESS = 78, 64, 50, 30, 26
"""What lines are worth by what rules say of them."""
BY_ROLE = {"cause": CAUSE, "symptom": SYMPTOM, "teardown": TEARDOWN, "advice": SYMPTOM, "benign": HARMLESS, "fact": 24}
STAGE, BEGIN = 26, 36
"""A step of the start; the first of them, which shows what was started."""
REACHED, UP = ("graph_capture", "api_ready", "serving", "shutdown"), 62
"""Steps that show that a server without a failure came up, or stopped, and what they are worth."""
FRAME, FURTHER, LEAST = 8, 5, 14
"""How much less than its exception the innermost frame is worth, how much less each further one, and what it is worth at least."""
NATIVE = 6
"""How much less a line of a native stack is worth than its error: what it tells shows in the whole of it."""
ANOTHER_START, QUOTED, LATER = 14, 30, 2
"""How much less lines of other starts are worth, words quoted from code, and each further exception."""
STARTS, TRACES = 3, 24
"""Starts whose lines are looked at besides the one that the answer is about, and exceptions of each."""


@record(slots=True)
class Lead(Mutable):
    """A line worth showing."""

    worth: int
    kind: str
    """What it is: ``deciding``, ``first death``, ``exception``, ``frame`` …"""
    count: int = 1
    """How often it was printed, as far as rules counted."""
    text: str = ""
    """Its telling words, where the analysis names them."""

    def __init__(self, worth: int, kind: str, count: int = 1, text: str = "") -> None:
        self.worth, self.kind, self.count, self.text = worth, kind, count, text


class Leads:
    """Collects leads by line."""

    def __init__(self) -> None:
        self.by_line: dict[int, Lead] = {}

    def put(self, number: int, worth: int, kind: str, count: int = 1, text: str = "") -> None:
        """Note a line; of several reasons the one that makes it worth most counts."""
        known = self.by_line.get(number)
        if number < 1:
            return
        if known is None or known.worth < worth:
            self.by_line[number] = Lead(worth, kind, max(count, known.count if known else 1), text)
        else:
            known.count = max(known.count, count)


def leads_of(found: Verdict, incidents: Sequence[Incident]) -> dict[int, Lead]:
    """Return the lines that the analysis of a log stopped at, with what they are worth.

    Args:
        found: The verdict, with lines numbered as they were read.
        incidents: All starts.
    """
    leads = Leads()
    for place, item in enumerate(found.evidence):
        worth = DECIDING - 2 * place if item.role != "mark" else STAGE
        leads.put(item.line, worth, "deciding", item.count, item.text)
    if (story := found.story) is not None:
        if story.died_first is not None:
            _put(leads, [story.died_first], FIRST_DEATH, "first death")
        _put(leads, story.overcome, OVERCOME, "overcome")
    _put(leads, found.unread, UNREAD, "exception")
    _put(leads, found.chain, CHAIN, "raised from it")
    _put(leads, found.symptoms[:6], CONSEQUENCE, "consequence")
    start = found.incident
    _note_start(leads, start, 0)
    for span in start.stages if not found.failed else ():
        leads.put(span.line, UP if span.stage in REACHED else STAGE, "came up")
    others = [incident for incident in incidents if incident is not start]
    for place, incident in enumerate([*others[:1], *others[1:][1 - STARTS :]]):
        _note_start(leads, incident, ANOTHER_START + 4 * place)
    return leads.by_line


def _put(leads: Leads, lines: Sequence[Evidence], worth: int, kind: str) -> None:
    for place, item in enumerate(lines):
        leads.put(item.line, worth - place, kind, item.count, item.text)


def _note_start(leads: Leads, incident: Incident, less: int) -> None:
    for place, trace in enumerate(incident.traces[:TRACES]):
        worth = max(EXCEPTION - LATER * place, SYMPTOM) - less - (QUOTED if trace.logging_error else 0)
        _note_trace(leads, trace, worth - (0 if trace.raised_from is None else LATER))
    for trace in incident.traces[TRACES:]:
        leads.put(trace.number, SYMPTOM - less, "exception", trace.count)
    for hit in incident.hits:
        worth = BY_ROLE.get(hit.rule.role, HARMLESS) - less - (QUOTED if hit.quoted else 0)
        leads.put(hit.line.number, worth, hit.rule.role, hit.count)
    for place, line in enumerate(incident.errors):
        leads.put(line.number, max(ERROR - place, TEARDOWN) - less, "error")
    for place, span in enumerate(incident.stages):
        leads.put(span.line, (STAGE if place else BEGIN) - less, "step of the start")
    for samples in incident.serving.engines.values() if incident.serving is not None else ():
        leads.put(samples[-1].line, STAGE - less, "statistics", len(samples))


def _note_trace(leads: Leads, trace: Trace, worth: int) -> None:
    leads.put(trace.number, worth, "exception", trace.count, trace.text)
    for number in range(trace.number + 1, min(trace.last, trace.number + 12) + 1):
        leads.put(number, worth - FRAME - 2 * (number - trace.number), "message")
    for number, less in _stack(trace):
        leads.put(number, max(worth - less, LEAST), "frame")
    if trace.first and trace.frames:
        leads.put(trace.first, max(worth - 30, LEAST), "frame")


def _stack(trace: Trace) -> Iterator[tuple[int, int]]:
    """Yield the lines of a stack, and how much less than its exception each is worth."""
    native = not any(frame.path.endswith((".py", ".pyx")) or "ipython" in frame.path for frame in trace.frames)
    for depth, frame in enumerate(reversed(trace.frames)):
        less = NATIVE + depth // 4 if native else FRAME + FURTHER * depth
        # Calls that every stack of vLLM goes through tell less than their place.
        if not native and depth and frame.path.startswith(("torch/nn/modules/module", "torch/_dynamo", "contextlib")):
            less += 3 * FURTHER
        for number in (frame.line, frame.code_line):
            if number:
                yield number, less
