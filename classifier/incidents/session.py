"""One log as it is read: block by block, each server of it for itself."""

from __future__ import annotations

from ..errors import InputError
from ..input.read import Block
from ..lines.tail import Tail
from ..lines.types import Line
from ..matching.engine import Engine
from .keeper import Keeper
from .not_vllm import SHORT, has_signs, is_source, other_engine
from .reader import IncidentReader
from .servers import Servers
from .types import Incident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..input.numbers import Numbers

SAMPLE = 4096
"""Bytes of the first block that tell what kind of text this is."""
SIGNS_OF_A_START = 3
"""Marks of another engine that outweigh the words of a start, which its web server may have printed."""
HEAD = 1 << 15
"""Bytes of it that are kept: prose stands above a log."""
BINARY = 0.1
"""Share of control characters in them from which on it is none, where nothing of a server was read either."""
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b")


class Session:
    """Takes blocks in order; ``finish`` returns the incidents.

    Args:
        engine: The rules.
        shared: Whether other servers' lines were taken out of the log, and left empty ones.
    """

    def __init__(self, engine: Engine, shared: bool = False) -> None:
        self.lines = 0
        """Lines read so far."""
        self.bytes = 0
        """Bytes of the input that they stand for."""
        self.numbers: Numbers | None = None
        """Where the input was mended: from numbers as read to those in the input."""
        self.keeper = Keeper()
        """What is kept of the text, of all servers; nothing where other servers' lines were taken out."""
        self._shared = shared
        self._engine = engine
        self._reader = IncidentReader(engine, shared)
        self._servers = Servers()
        self._others: dict[str, Session] = {}
        self._tail = Tail()
        self._broken_off = False
        self._head = self._sample = b""
        self._handed_on = False

    @property
    def incident(self) -> Incident:
        """The server start that is being read."""
        return self._reader.incident

    @property
    def found(self) -> tuple[int, ...]:
        """How much was found so far: it changes with whatever may change the answer, but for statistics and counts."""
        own = self._reader.found
        for other in self._others.values():
            own += other.found
        return own

    def feed(self, block: Block) -> None:
        """Read one block, with the lines of each server on their own where it shows several."""
        if not self._sample:
            self._sample = block.data[:SAMPLE].strip()
        if block.mended is not None or self.numbers is not None:
            if self.numbers is None:
                from ..input.numbers import Numbers

                self.numbers = Numbers(block.number - 1)
            self.numbers.note(block.data.count(b"\n"), block.mended)
        self._broken_off = self._broken_off or block.broken_off
        own, others = self._servers.split(block)
        self._head = self._head or own.data[:HEAD]
        self._read(own)
        for name, part in others.items():
            self._reader.shared = True
            self._others.setdefault(name, Session(self._engine, shared=True)).feed(part)
        if not self._shared:
            self.keeper.extend(block, self._stopped_at)

    def _stopped_at(self) -> list[int]:
        """Return the lines at which rules stopped, as far as their surroundings are kept."""
        own = [
            number for incident in [*self._reader.incidents[-2:], self.incident] for number in incident.contexts.numbers
        ]
        return own + [number for other in self._others.values() for number in other._stopped_at()]  # noqa: SLF001

    def _read(self, block: Block) -> None:
        data, number = block.data, block.number
        self._reader.read(data, number, self._tail.data)
        last = number + (data.count(b"\n") if block.newlines < 0 else block.newlines)
        self.lines = last - 1 if data.endswith(b"\n") else last
        self.bytes += block.size
        self._tail.extend(data, last)

    def fork(self) -> Session:
        """Return a copy that can be finished, or fed with something else, while this one goes on."""
        shared = [self._engine, *self._engine.made(), *self.scanners()]
        from copy import deepcopy

        return deepcopy(self, {id(item): item for item in shared})

    def scanners(self) -> list[object]:
        """Return the scanners in use, those for other servers of the log included."""
        others = [scanner for other in self._others.values() for scanner in other.scanners()]
        return [self._reader.scanner, *others]

    def take_over(self) -> list[Incident]:
        """Return the server starts that are over, and forget them: for who answers each by itself, in bounded memory."""
        over, self._reader.incidents = self._reader.incidents, []
        self._handed_on = self._handed_on or bool(over)
        return self._with_others(over, Session.take_over)

    def finish(self) -> list[Incident]:
        """Read the end of the log and return all incidents, those of the first server first."""
        return self._with_others(self._finish_own(), Session._finish_with_tail)

    def _finish_with_tail(self) -> list[Incident]:
        incidents = self.finish()
        incidents[-1].tail = self.tail()
        return incidents

    def _with_others(self, own: list[Incident], of: Callable[[Session], list[Incident]]) -> list[Incident]:
        """Return what one server gave and what each other gives, named after their servers where there are several."""
        if self._others:
            for incident in own:
                incident.server = self._servers.names[0]
        for name, other in self._others.items():
            more = of(other)
            for incident in more:
                incident.server = name
            own = [*own, *more]
        return own

    def _finish_own(self) -> list[Incident]:
        incidents = self._reader.finish(self._tail, self.lines)
        if len(incidents) == 1 and not incidents[0].stages and not self._handed_on:
            incidents[0].unsigned = not has_signs(self._sample, self._tail.data)
            incidents[0].foreign = incidents[0].unsigned and self.lines >= SHORT
        if len(incidents) == 1 and not incidents[0].sites and not self._handed_on:
            # Other engines' web servers start with the same words; vLLM's own logger is vLLM's alone.
            least = SIGNS_OF_A_START if incidents[0].stages else 1
            incidents[0].engine = other_engine(self._sample, self._tail.data, least)
        incidents[-1].broken_off = self._broken_off
        for incident in incidents[-2:]:
            incident.ends = self._head, self._tail.data
        if is_source(self._sample):
            incidents[-1].source_text = True
        return incidents

    def refusal(self) -> str:
        """Return why the input is no log at all; "" where it may be one."""
        if not self._sample:
            return "the log is empty: nothing but blanks or NUL bytes (errors go to standard error: … 2>&1 | vllm-triage -)"
        control = len(self._sample) - len(self._sample.translate(None, _CONTROL))
        if control > BINARY * len(self._sample) and not any(
            item.hits or item.stages or item.traces for item in [*self._reader.incidents, self.incident]
        ):
            return "the input is binary, not a log: name the text that the server wrote"
        return ""

    def check(self) -> None:
        """Raise where the input is no log at all.

        Raises:
            InputError: It is empty, or binary.
        """
        if reason := self.refusal():
            raise InputError(reason)

    def tail(self, count: int = 60) -> list[Line]:
        """Return the last lines of the log that are not empty, peeled."""
        return self._tail.lines(count)
