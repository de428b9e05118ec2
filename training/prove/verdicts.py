"""From a failing start to what its answer is worth: the fixes tried in their order, on the command that failed."""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ...classifier.api import Triage
from ...classifier.command.change import applied
from ...classifier.command.source import read_text
from ...classifier.command.words import join
from ...classifier.fix import Fix as Made
from ...classifier.question import Question
from ...classifier.report.model import Fix, Report
from ...corpus.action_text import TextError, read_actions
from ..record.traffic import filled
from .faults import ByHand, Proof
from .starts import Started, Starter

TRIED = 3
"""Fixes of an answer that are tried."""
_FREE_TEXT = re.compile(r"\b(?:Error|error)\b[:\]]?\s*(?P<said>.{10,})")


@dataclass(frozen=True)
class Tried:
    """One fix, and what came of it."""

    title: str
    command: str
    """What was started; "" where nothing can be pasted."""
    by: str
    """``command`` (the corrected command, verbatim), ``fix`` (a later fix, applied to the command), ``hand`` (a person did
    what a step says) or "" where nothing was started."""
    cured: bool
    why_not: str = ""


@dataclass(frozen=True)
class Verdict:
    """A row of the table."""

    fault: str
    release: str
    group: str
    broken: str
    cause: str
    right: bool
    """Whether the bucket is right."""
    cured_by: int
    """Rank of the first fix that cures; 0 where none of the first three does."""
    command: bool
    """Whether a corrected command was given, the start command being known."""
    alone: bool
    """Whether the log alone was enough for one."""
    parses: bool
    """Whether the release's parser takes the corrected command; true where there is none."""
    keeps: bool
    """Whether everything that was right in the command is still there."""
    unsafe: bool
    """Whether the command lowers security."""
    tried: tuple[Tried, ...]


class Judge:
    """Judges faults of one release.

    Args:
        starter: Starts its servers.
        triage: Reads the logs.
        work: Folder for logs and for what starts came to; what stands there is not started again.
        fill: What stands for the placeholders of the catalogue.
        release: The release.
    """

    def __init__(self, starter: Starter, triage: Triage, work: Path, fill: dict[str, str], release: str) -> None:
        self._starter = starter
        self._triage = triage
        self._fill = fill
        self._release = release
        self._logs = work / "prove" / "logs" / release
        self._logs.mkdir(parents=True, exist_ok=True)
        self._cures = work / "prove" / f"cures-{release}.json"
        self._known: dict[str, dict[str, object]] = json.loads(self._cures.read_text()) if self._cures.is_file() else {}

    def judge(self, fault: Proof) -> Verdict | None:
        """Return what the answer to a fault is worth; None where the fault does no harm in this release."""
        command = fault.command(self._fill)
        log = self._failing(fault, command)
        if log is None:
            return None
        alone = self._triage.report(log)
        report = self._triage.report(log, Question(command=command))
        tried: list[Tried] = []
        for fix in report.fixes[:TRIED]:
            tried.append(self._try(fault, fix, report, command))
            if tried[-1].cured:
                break
        corrected = report.corrected_command
        first = tried[0] if corrected and tried else None
        return Verdict(
            fault=fault.id,
            release=self._release,
            group=fault.group,
            broken=fault.broken,
            cause=report.cause,
            right=report.bucket in fault.buckets,
            cured_by=len(tried) if tried and tried[-1].cured else 0,
            command=bool(corrected),
            alone=bool(alone.corrected_command),
            parses=first is None or not self._refused(fault, corrected),
            keeps=not corrected or _keeps(fault.kept(self._fill), corrected),
            unsafe=bool(re.search(r"trust-remote-code|allow-deprecated|INSECURE", corrected)),
            tried=tuple(tried),
        )

    def _failing(self, fault: Proof, command: str) -> bytes | None:
        """Return the log of the fault, None where the server serves all the same."""
        path, about = self._logs / f"{fault.id}.log", self._logs / f"{fault.id}.json"
        if about.is_file() and (known := json.loads(about.read_text()))["command"] == command:
            return None if known["works"] else path.read_bytes()
        started = self._start(fault, command)
        path.write_bytes(started.log)
        about.write_text(json.dumps({"command": command, "works": started.works, "seconds": started.seconds}))
        return None if started.works else started.log

    def _try(self, fault: Proof, fix: Fix, report: Report, command: str) -> Tried:
        by, text = self._with(fault, fix, report, command)
        if not text:
            return Tried(
                self._plain(fix.title),
                "",
                "",
                False,
                "nothing to paste" if fix.kind == "step" else "not for this command",
            )
        known = self._outcome(fault, text)
        return Tried(self._plain(fix.title), self._plain(text), by, bool(known["works"]), str(known["why"]))

    def _with(self, fault: Proof, fix: Fix, report: Report, command: str) -> tuple[str, str]:
        """Return the command with a fix, and how it came about."""
        if fix.rank == 1 and report.corrected_command:
            return "command", report.corrected_command
        start = read_text(command)
        advice = _made(fix)
        made = applied(start, advice) if start is not None and advice is not None else None
        if made is not None:
            return "fix", join(made.words())
        for hand in fault.by_hand:
            if re.search(hand.says, f"{fix.title} {fix.change}") and (text := _by_hand(hand, command, self._fill)):
                return "hand", text
        return "", ""

    def _outcome(self, fault: Proof, text: str) -> dict[str, object]:
        key = "\n".join([self._plain(text), fault.request, str(fault.hold_port), json.dumps(fault.files)])
        if key not in self._known:
            started = self._start(fault, text)
            self._known[key] = {
                "works": started.works,
                "refused": started.refused,
                "why": "" if started.works else self._plain(_why(started)),
                "seconds": started.seconds,
            }
            self._cures.write_text(json.dumps(self._known, indent=1))
        return self._known[key]

    def _refused(self, fault: Proof, text: str) -> bool:
        return bool(self._outcome(fault, text)["refused"])

    def _start(self, fault: Proof, text: str) -> Started:
        with _held(int(self._fill["port"]) if fault.hold_port else 0):
            return self._starter.start(text, fault.request, fault.files)

    def _plain(self, text: str) -> str:
        """Return a text without what only this machine has."""
        for name, value in self._fill.items():
            text = text.replace(value, f"{{{name}}}" if name == "port" else f"/{name}")
        return text


def _made(fix: Fix) -> Made | None:
    """Return a report's fix with its actions; None where its text is none of the grammar."""
    try:
        actions, remark = read_actions(fix.change, fix.kind)
    except TextError:
        return None
    return Made(
        fix.title, fix.kind, actions, fix.why, fix.cost, fix.verify, fix.option, fix.value, fix.safety, whole=True, remark=remark,
    )  # fmt: skip


def _by_hand(hand: ByHand, command: str, fill: dict[str, str]) -> str:
    """Return the command as a person changes it; "" where nothing in it is to be changed."""
    pairs = [(filled(old, fill), filled(new, fill)) for old, new in hand.instead.items()]
    instead: dict[str, str] = dict(pairs)
    words = shlex.split(command)
    made = [instead.get(word, word) for word in words]
    if made == words and not hand.environment:
        return ""
    variables = [f"{name}={shlex.quote(filled(value, fill))}" for name, value in hand.environment.items()]
    assigned = next((place for place, word in enumerate(made) if "=" not in word), 0)
    # Quoting would make a command's name of an assignment.
    before = [f"{name}={shlex.quote(value)}" for name, _, value in (word.partition("=") for word in made[:assigned])]
    return " ".join([*variables, *before, shlex.join(word for word in made[assigned:] if word)])


def _keeps(words: list[str], command: str) -> bool:
    """Return whether all words that were right are in the corrected command."""
    try:
        there = shlex.split(command)
    except ValueError:
        return False
    return all(word in there for word in words)


def _why(started: Started) -> str:
    """Return the line that says best why a start failed."""
    if started.ready:
        return f"the request was answered {started.answer[:160]}" if started.answer else "no answer to the request"
    lines = started.log.decode(errors="replace").splitlines()
    said = [found["said"] for line in lines if (found := _FREE_TEXT.search(line)) and "See root cause" not in line]
    return (said[-1] if said else lines[-1] if lines else "no output")[:200]


@contextmanager
def _held(port: int) -> Iterator[None]:
    """Hold a port as another program would."""
    if not port:
        yield
        return
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        yield


def to_row(verdict: Verdict) -> str:
    """Return a verdict as a line of JSON."""
    return json.dumps(asdict(verdict), ensure_ascii=False)
