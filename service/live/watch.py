"""Reads a log as it comes and tells what becomes known: stages, causes, standstills, and the answer at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.input.read import Chunks, read_blocks
from ...classifier.standstill.monitor import Monitor
from .announce import Announcer

if TYPE_CHECKING:
    from ...classifier.api import Triage
    from ...classifier.proposal import Proposal
    from ...classifier.question import Question
    from ...classifier.report.model import Report
    from ...classifier.serving.types import Sample
    from ...classifier.standstill.patience import Patience
    from ...classifier.standstill.types import ProcessState, Standstill
    from .announce import Announcement
    from .arrivals import Arrival

LOOK_EVERY = 10.0
"""Seconds after which the answer is looked at once more, where only lines came that speak for nothing by themselves."""
SHARE, BURST = 0.25, 0.5
"""Part of the time that looks at the answer so far may take, and seconds of it that may come at once: a dying server prints
its story within a moment, and each line of it may change the answer."""


WARM = (
    b"INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.11.0\nValueError: No available memory for the cache blocks.\n",
    b"INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.11.0\nERROR 01-01 00:00:00 [core.py:1] OddError: no such thing\n",
)
"""Logs that are answered while nothing else is to be done, so that everything for an answer is loaded when it is wanted."""


class WatchListener:
    """What a watch tells; each method is called as soon as it is known. Made to be overridden."""

    def stage(self, stage: str, now: float, report: Report | None) -> None:
        """The start reached a stage, or more of its facts are known."""

    def prepare(self, report: Report) -> None:
        """There is time to load what telling a report takes."""

    def cause(self, announcement: Announcement) -> None:
        """A cause is certain, or what was told of one is corrected or taken back."""

    def statistics(self, sample: Sample) -> None:
        """The server printed how it does."""

    def standstill(self, state: Standstill, cause: str) -> None:
        """A stage takes longer than its patience, or (verdict 'moving') goes on after that; ``cause`` where it stalled."""


class Watch:
    """One log, from its first piece to its end.

    Args:
        triage: The loaded rules.
        question: What is asked about the log.
        told: Is told what becomes known.
        patience: How long each stage may take; None for what was learnt.
        processes: Returns how the server's processes do, where they run on this machine.
    """

    def __init__(
        self,
        triage: Triage,
        question: Question,
        told: WatchListener,
        patience: Patience | None = None,
        processes: Callable[[], tuple[ProcessState, ...]] | None = None,
    ) -> None:
        self._triage, self._question, self._told = triage, question, told
        self._session = triage.start(question)
        self._announcer = Announcer(lambda bucket: triage.corpus.traits(bucket).waits)
        self._monitor = Monitor(patience)
        self._processes = processes
        self._found: tuple[int, ...] = ()
        self._stage = ""
        self._facts: Mapping[str, object] = {}
        self._dirty = False
        self._lines_seen = 0
        self._credit, self._credit_at, self._last_look = BURST, 0.0, 0.0
        self._now = 0.0
        self._problem: InputError | None = None
        self._warm = False

    @property
    def told_report(self) -> Report | None:
        """The answer that was told last and still stands."""
        return self._announcer.told

    @property
    def lines(self) -> int:
        """Lines read so far."""
        return self._session.lines

    def read(self, arrivals: Iterable[Arrival]) -> None:
        """Read until the arrivals end; what becomes known is told meanwhile."""
        try:
            for block in read_blocks(Chunks(self._pieces(arrivals))):
                self._session.feed(block)
        except InputError as error:
            self._problem = error

    def finish(self, stopped: bool = False, again: bool = False) -> Report:
        """Return the answer for the whole log.

        Args:
            stopped: Whether the server was told to stop.
            again: Whether it may be asked for once more (``again``).

        Raises:
            InputError: It was no log: empty, or binary.
        """
        if self._problem is not None:
            raise self._problem
        self._monitor.end(self._now)
        self._session.incident.standstill = self._monitor.stalled_to_the_end(stopped or self._stage == "shutdown")
        return (self._triage.peek if again else self._triage.conclude)(self._session, self._question)

    def again(self, proposal: Proposal) -> Report:
        """Return the answer for the whole log with what was proposed since ``finish``."""
        return self._triage.conclude(self._session, self._question, [proposal])

    def _pieces(self, arrivals: Iterable[Arrival]) -> Iterator[bytes]:
        for arrival in arrivals:
            self._now = arrival.at
            self._judge(arrival.at)
            if not arrival.data:
                self._idle(arrival.at)
                continue
            self._observe(arrival)
            yield arrival.data
            if not arrival.more:
                # What has come is handed on at once; the first time it takes two, one ends the look at the head.
                yield b""
                yield b""
                self._look(arrival.at)

    def _observe(self, arrival: Arrival) -> None:
        before = self._monitor.situation.sample
        self._monitor.observe(arrival.data, arrival.at)
        sample = self._monitor.situation.sample
        if sample is not None and sample is not before:
            self._told.statistics(sample)

    def _look(self, now: float) -> None:
        found = self._session.found
        if found != self._found:
            self._found, self._dirty = found, True
        stage = self._session.incident.reached or "launch"
        if stage != self._stage:
            self._stage = stage
            self._monitor.reach(stage, now)
            self._told.stage(stage, now, None)
        if self._dirty and self._may_look(now):
            self._peek(now)

    def _may_look(self, now: float) -> bool:
        """Return whether looks have taken no more than their share of the time."""
        self._credit = min(BURST, self._credit + max(0.0, now - self._credit_at) * SHARE)
        self._credit_at = now
        return self._credit > 0

    def _warm_up(self) -> None:
        self._warm = True
        for log in WARM:
            self._told.prepare(self._triage.report(log, self._question))

    def _idle(self, now: float) -> None:
        if not self._warm:
            self._warm_up()
        due = self._session.lines != self._lines_seen and now - self._last_look >= LOOK_EVERY
        if (self._dirty or due) and self._may_look(now):
            self._peek(now)
        if (announcement := self._announcer.settle(now)) is not None:
            self._told.cause(announcement)

    def _peek(self, now: float) -> None:
        begun = time.monotonic()
        self._dirty, self._lines_seen, self._last_look = False, self._session.lines, now
        try:
            report = self._triage.peek(self._session, self._question)
        except InputError:
            return
        self._credit -= time.monotonic() - begun
        self._monitor.know(report.facts)
        if report.facts != self._facts:
            self._facts = report.facts
            self._told.stage(self._stage, now, report)
        if (announcement := self._announcer.see(report, now)) is not None:
            self._told.cause(announcement)

    def _judge(self, now: float) -> None:
        """Ask whether the stage takes too long; the processes are looked at only where the log has been silent."""
        if self._processes is not None and self._monitor.wants_processes(now):
            self._monitor.see_processes(self._processes(), now)
        if (state := self._monitor.judge(now)) is not None:
            cause = "/".join(self._triage.corpus.concluded_from(state.finding)) if state.finding else ""
            self._told.standstill(state, cause)
