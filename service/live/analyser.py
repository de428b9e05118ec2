"""The process that reads the log: apart from the one that passes it through, so that nothing here can hold that up or end it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .protocol import DATA, END, STOP, frames
from .pump import wide_pipe

if TYPE_CHECKING:
    from ...classifier.question import Question
    from ...classifier.standstill.types import Standstill
    from ..ask.questions import Questions
    from .arrivals import Arrival
    from .shape import Ended, Event, Shape

PAUSE = 0.25
"""Seconds without a log after which time is told to have gone by."""
NICE = 5
"""The server goes first."""
EXPENDABLE = "500"
"""Where memory runs out, the kernel is to end this process rather than the server (-1000 to 1000)."""
SMALLEST = 1 << 18
"""Bytes of log that are handed on at once where more is there already."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be read, and how."""

    question: Question
    shape: Shape
    rules: tuple[str, ...] = ()
    model: str = ""
    patience: tuple[str, ...] = ()
    inspect: bool = False
    """Whether the stacks of processes that stand still may be looked at."""
    questions: Questions | None = None
    """Who is asked for a second opinion when the log has ended."""
    pids: list[int] = field(default_factory=list)
    """The server's first process, once it runs on this machine."""


class Analyser:
    """The reading process, from the side of the one that passes the log through.

    Args:
        task: What it is to do.
        watched: Whether the server's first process is told later (``Feed.stop`` with ``pid:``).
    """

    def __init__(self, task: Task) -> None:
        reader, self.feed = wide_pipe()
        self.events, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid:
            os.close(reader)
            os.close(writer)
            return
        code = 1
        try:
            os.close(self.feed)
            os.close(self.events)
            _settle()
            _serve(task, reader, writer)
            code = 0
        except BaseException as error:  # noqa: BLE001 - the process ends here, whatever it is
            with contextlib.suppress(BaseException):
                _send(writer, {"event": "problem", "problem": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(code)

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Take note of its end."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _settle() -> None:
    """Take the process out of the terminal's reach, and out of the server's way."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        # Whoever reads our output is to see its end when the server's has come, not when ours has.
        os.dup2(nothing, file)
    with contextlib.suppress(OSError):
        os.nice(NICE)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123
        score.write(EXPENDABLE)


def _send(writer: int, event: Event) -> None:
    data = json.dumps(event, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view) :]


def _serve(task: Task, reader: int, writer: int) -> None:
    from ...classifier.api import Triage
    from ...classifier.errors import InputError
    from ...classifier.standstill.patience import parse
    from .processes import tree
    from .shape import Ended
    from .teller import Teller
    from .watch import Watch

    def send(event: Event) -> None:
        _send(writer, event)

    triage = Triage(task.rules, engine=task.question.engine, model=task.model)
    patience = parse(list(task.patience))
    teller = Teller(send, task.shape, patience, _looker() if task.inspect else None)
    frames_in = _Frames(reader)
    watch = Watch(
        triage,
        task.question,
        teller,
        patience,
        lambda: tree(frames_in.pid) if frames_in.pid else (),
    )
    watch.read(frames_in.arrivals())
    ended = frames_in.ended or Ended(interrupted=True)
    try:
        report = watch.finish(bool(ended.stopped or ended.interrupted), again=task.questions is not None)
    except InputError as error:
        teller.no_log(str(error), ended)
        return
    teller.end(report, watch.told_report, ended)
    if task.questions is not None and not ended.stopped and not ended.interrupted:
        from ..ask.questions import AskError

        try:
            if (proposal := task.questions.proposal(report)) is not None:
                teller.opinion(watch.again(proposal))
        except AskError as error:
            teller.no_opinion(str(error))


def _looker() -> Callable[[Standstill], str]:
    from .look_into import look_into

    return look_into


class _Frames:
    """What comes through the pipe, as arrivals."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self.ended: Ended | None = None
        self.pid = 0

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the log as it comes."""
        from .arrivals import Arrival
        from .shape import Ended

        gathered: list[bytes] = []
        size = 0
        for kind, at, data, more in frames(self._reader, PAUSE):
            if kind == DATA:
                gathered.append(data)
                size += len(data)
                if more and size < SMALLEST:
                    continue
                yield Arrival(at, b"".join(gathered), more)
                gathered, size = [], 0
                continue
            if gathered:
                yield Arrival(at, b"".join(gathered))
                gathered, size = [], 0
            if kind == STOP and data.startswith(b"pid:"):
                self.pid = int(data[4:])
            elif kind == END:
                self.ended = Ended(**json.loads(data))
                return
            else:
                yield Arrival(at)
