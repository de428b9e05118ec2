"""Runs a command, passes through what it says, and explains its failure below that."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import aftermath
from .analyser import Analyser, Task
from .attempts import Attempt, again, attempt_of, compared, earlier, may_be_tried, split_command
from .child import Child, NotStartedError, end_like
from .feed import Feed
from .kept import Kept
from .listener import Listener, open_events
from .pump import Pump
from .screen import Screen, write_all
from .signals import PASSED_ON, Came, Signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shape import Event

TICK = 0.25
"""Seconds between two looks at the status row."""
ANSWER = 15.0
"""Seconds that the reading process has for its answer when the command has ended and all is read."""
BACKLOG = 120.0
"""Seconds in all where it still reads: thousands of starts that failed in a row take it that long."""
HEIGHT = 30
"""Rows that a diagnosis takes on a terminal."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be run, and what is to be done besides."""

    command: tuple[str, ...]
    task: Task
    log_file: str = ""
    json_events: str = ""
    on_failure: str = ""
    termination_log: str = ""
    """File for the verdict in short, as Kubernetes shows it; "" for none."""
    prompt: str = ""
    """File for the evidence with the question, to hand to an assistant; "" for none."""
    retry: int = 0
    yes: bool = False
    """Whether the corrected command may be run without asking."""
    status: bool = True
    """Whether a terminal takes a status row."""


def run(wanted: Wanted) -> int:
    """Run the command; return its exit code, or end by the signal that ended it.

    Raises:
        OSError: The file for events cannot be opened.
    """
    before = earlier()
    environment: dict[str, str] = {}
    command = wanted.command
    if before:
        environment, words = split_command(before[-1].corrected)
        command = tuple(words)
    runner = _Runner(wanted, command, environment, len(before))
    try:
        code = runner.run()
    except NotStartedError as problem:
        write_all(2, f"vllm-triage: {problem}\n".encode())
        return problem.code
    attempts = [*before, runner.attempt()]
    if (before or wanted.retry) and not runner.stopped:
        if len(before) < wanted.retry and attempts[-1].cause:
            reason = may_be_tried(attempts[-1], before, command)
            if not reason and _consents(wanted, attempts[-1]):
                runner.signals.release()
                again(attempts)
            if reason:
                write_all(2, f"vllm-triage: not tried again: {reason}\n".encode())
        if len(attempts) > 1:
            write_all(2, compared(attempts).encode())
    return end_like(code, runner.signals)


def _consents(wanted: Wanted, attempt: Attempt) -> bool:
    """Ask whether the corrected command may be run, where that was not said before."""
    if wanted.yes:
        write_all(2, f"\nvllm-triage: trying {attempt.corrected}\n".encode())
        return True
    if not (os.isatty(0) and os.isatty(2)):
        write_all(2, b"vllm-triage: not tried again: that needs --yes where nobody can be asked\n")
        return False
    write_all(2, f"\nRun {attempt.corrected} ? [y/N] ".encode())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        return False


class _Runner:
    """One start of the command."""

    def __init__(self, wanted: Wanted, command: Sequence[str], environment: dict[str, str], number: int) -> None:
        self._wanted, self._command, self._environment = wanted, command, environment
        self._events = open_events(wanted.json_events) if wanted.json_events else -1
        name = f"{wanted.log_file}.{number + 1}" if wanted.log_file and number else wanted.log_file
        self._kept = Kept(Path(name)) if name else None
        terminal = next((file for file in (2, 1) if os.isatty(file)), -1)
        self._screen = Screen(terminal, wanted.status) if terminal >= 0 else None
        shape = wanted.task.shape
        if shape.style == "run" and (self._screen is None or not wanted.status):
            # systemd, Docker, Kubernetes: no row tells the cause, and a server that lost its engine may linger.
            shape = replace(shape, style="unwatched")
        if self._screen is not None:
            shape = replace(shape, width=self._screen.width, height=HEIGHT)
        # The reading process first: nothing is to be inherited by it, and no thread runs yet.
        self._analyser = Analyser(replace(wanted.task, shape=shape))
        self.signals = Signals((*PASSED_ON, signal.SIGTSTP) if terminal >= 0 else PASSED_ON)
        self.stopped = ""
        self._begun = time.monotonic()
        self._took = 0.0
        self._listener: Listener | None = None
        self._told = ""
        """The cause that was handed over already."""
        self._hooks: list[threading.Thread] = []

    def run(self) -> int:
        """Run the command to its end and show what is to be shown; return its exit code, below 0 for a signal."""
        try:
            child = Child(
                self._command, self.signals, self._environment, 1 if self._screen and self._wanted.status else 0
            )
        except NotStartedError:
            self._analyser.kill()
            self._analyser.wait()
            self.signals.release()
            raise
        feed = Feed(self._analyser.feed)
        feed.stop(f"pid:{child.pid}")
        listener = self._listener = Listener(self._analyser.events, self._say, self._events, self._notice)
        listener.start()
        pumps = [self._pump(feed, index, child) for index in range(len(child.streams))]
        self.signals.start()
        for pump in pumps:
            pump.start()
        if child.terminal >= 0 and os.isatty(0):
            threading.Thread(target=_type, args=(child,), name="keyboard", daemon=True).start()
        self._wait(child, feed, listener)
        self._took = time.monotonic() - self._begun
        for pump in pumps:
            pump.ends()
        for pump in pumps:
            pump.join()
        self._finish(child, feed, listener)
        if any(pump.left for pump in pumps):
            self._say("vllm-triage: the command left something running: its output goes on, and is not read\n")
        return child.exit_code

    def attempt(self) -> Attempt:
        """Return what this start came to."""
        end = (self._listener.end if self._listener else None) or {}
        log = str(self._kept.path) if self._kept else ""
        return attempt_of(self._command, end.get("report"), bool(end.get("failed")), self._took, log)

    def _pump(self, feed: Feed, index: int, child: Child) -> Pump:
        stream, count = child.streams[index], len(child.streams)
        screen = self._screen
        out: Callable[[bytes], None] = partial(write_all, stream.out)
        if screen is not None and os.isatty(stream.out):
            out = screen.pass_on
        copies: list[Callable[[bytes], None]] = [self._kept.write] if self._kept else []
        # What is left in the background writes on to where it would have written without us.
        left_to = -1 if os.isatty(stream.out) else stream.out
        return Pump(stream.source, out, *copies, partial(feed.put, stream=index, streams=count), left_to=left_to)

    def _wait(self, child: Child, feed: Feed, listener: Listener) -> None:
        """Pass signals on until the command has ended."""
        child.reap()
        while child.status is None:
            came = self.signals.next(TICK)
            if came is None:
                feed.flush()
                if self._screen is not None:
                    self._screen.status(listener.row.text(time.monotonic()))
            elif came.number == signal.SIGCHLD:
                child.reap()
            elif came.number == signal.SIGTSTP:
                self._suspend(child, came)
            else:
                if came.number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                    self.stopped = self.stopped or signal.Signals(came.number).name
                    feed.stop(self.stopped)
                child.send(came)

    def _suspend(self, child: Child, came: Came) -> None:
        """Stop the command, and all of ours, until the shell lets us go on."""
        child.send(came)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._analyser.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._analyser.pid, signal.SIGCONT)
        child.send(Came(signal.SIGCONT, came.keyboard))

    def _finish(self, child: Child, feed: Feed, listener: Listener) -> None:
        """Get the answer and show it; a reading process that fails, or takes too long, is done without."""
        told = {"code": child.exit_code, "stopped": self.stopped, "left_out": feed.left_out}
        feed.end(json.dumps(told).encode())
        asks = self._wanted.task.questions is not None
        self._await_answer(feed, listener, asks)
        if not asks:
            self._end_analyser()
        if self._screen is not None:
            self._screen.close()
        end = listener.end
        if end is None:
            if child.exit_code and not self.stopped:
                kept = f"; the log is in {self._kept.path}" if self._kept and not self._kept.problem else ""
                self._say(f"vllm-triage: no diagnosis: {listener.problem}{kept}\n")
        elif end["text"]:
            self._say(end["text"])
        if self._kept is not None:
            self._kept.close()
            if self._kept.problem:
                self._say(f"vllm-triage: {self._kept.problem}\n")
        if end is not None and end["failed"]:
            self._after_failure(end["report"], str(end.get("prompt", "")))
        for hook in self._hooks:
            hook.join(aftermath.LONGEST)
        if asks:
            listener.await_opinion(self._is_stopped)
            self._end_analyser()

    def _end_analyser(self) -> None:
        self._analyser.kill()
        self._analyser.wait()

    def _is_stopped(self, seconds: float) -> bool:
        came = self.signals.next(seconds)
        return came is not None and came.number in (signal.SIGINT, signal.SIGTERM)

    def _await_answer(self, feed: Feed, listener: Listener, asks: bool) -> None:
        """Wait until the reading process has told its answer, as long as it makes headway and nobody stops us."""
        begun = time.monotonic()
        until, left = begun + ANSWER, feed.left
        while listener.is_alive() and not (asks and listener.end) and (now := time.monotonic()) < until:
            if feed.left < left:
                until, left = min(now + ANSWER, begun + BACKLOG), feed.left
            if self._is_stopped(0.02):
                break
        if listener.is_alive() and listener.end is None:
            listener.problem = f"no answer within {time.monotonic() - begun:.0f} s"

    def _after_failure(self, report: dict[str, Any], prompt: str) -> None:
        if self._wanted.prompt:
            try:
                Path(self._wanted.prompt).write_text(prompt, encoding="utf-8")
            except OSError as error:
                self._say(f"vllm-triage: {self._wanted.prompt}: the evidence cannot be written ({error.strerror})\n")
        if self._wanted.termination_log:
            from .termination import leave

            if problem := leave(self._wanted.termination_log, report):
                self._say(f"vllm-triage: {problem}\n")
        if self._wanted.on_failure and not self.stopped and report["cause"] != self._told:
            self._hand_over(report)

    def _notice(self, event: Event) -> None:
        """Do what is to be done about a server that fails without ending: it stands still, or lost its engine and lingers."""
        if not self._wanted.on_failure:
            return
        told = None
        if event["event"] == "standstill" and event["verdict"] == "stalled":
            told = {"bucket": event["cause"].partition("/")[0], "title": f"{event['stage']} stands still", **event}
        elif event["event"] in ("cause", "corrected") and event["report"]["cause"] != self._told:
            told, self._told = event["report"], event["report"]["cause"]
        if told is not None:
            self._hooks.append(threading.Thread(target=self._hand_over, args=(told,), daemon=True))
            self._hooks[-1].start()

    def _hand_over(self, told: dict[str, Any]) -> None:
        log = str(self._kept.path) if self._kept else ""
        if problem := aftermath.tell(self._wanted.on_failure, told, log):
            self._say(f"vllm-triage: {problem}\n")

    def _say(self, text: str) -> None:
        if self._screen is not None:
            self._screen.say(text)
            return
        with contextlib.suppress(OSError):
            write_all(2, text.encode("utf-8", "replace"))


def _type(child: Child) -> None:
    """Hand on what is typed, while we are in the foreground."""
    while True:
        select.select([0], [], [])
        if child.status is not None:
            # What is typed now answers a question of ours, or is the shell's.
            return
        try:
            if os.tcgetpgrp(0) != os.getpgrp():
                time.sleep(1)
                continue
            data = os.read(0, 4096)
        except OSError:
            return
        child.type(data)
        if not data:
            return
