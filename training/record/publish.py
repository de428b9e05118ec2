"""From raw recordings to `corpus/logs/recorded`: normalised logs, arrival times, and the answer each must get."""

from __future__ import annotations

import json
import re
import shlex
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .faults import Catalogue, Fault, Outcome
from .normalise import machine_addresses, normalise, replacements
from .runner import Recording

RECORDED = Path(__file__).resolve().parents[2] / "corpus/logs/recorded"
INDEX = "index.jsonl"
VERDICT = "verdict"
"""The index's key for the cause that the engine must name (`lora/rank_too_high`), as the marks in tests/fixtures do."""
LARGEST = 400_000
"""Bytes of a log that are worth their place in a repository."""
LONGEST_ANSWER = 160
"""Characters of a request's answer that are kept."""
MOST_LINES = 40
"""Evidence lines that are listed; a stalled server repeats itself for hours."""
PREFIX = r"^(\([^)]*\) )?((DEBUG|INFO|WARNING|ERROR) [^\]]*\])?"
ECHO = re.compile(
    rf"non-default args: |\bargs: Namespace\(|Initializing a V\d|^usage: |█|Found ulimit of|{PREFIX} (  File \"|    \S)|^  File \"|^    \S"
)
"""What repeats the arguments, stands in every start, or is code in a traceback: it proves nothing, whatever
words stand in it."""


class NotProvokedError(Exception):
    """The log does not show the fault: nothing is kept of it; the message says what was looked for."""


@dataclass(frozen=True)
class Publisher:
    """Writes the recordings of one release."""

    work: Path
    catalogue: Catalogue
    target: Path = RECORDED

    def publish(self, release: str, fault: Fault) -> str:
        """Keep one recording in the repository and return what it must be answered with.

        Raises:
            NotProvokedError: The evidence that the catalogue names is not in the log.
        """
        raw = Recording.at(self.work, release, fault.id)
        about = json.loads(raw.about.read_text())
        known = replacements(about, str(self.work), machine_addresses(), socket.gethostname())
        log = normalise(raw.log.read_bytes(), known)
        outcome, lines = judged(fault.outcome(release), about, log)
        if len(log) > LARGEST:
            raise NotProvokedError(f"{len(log):,} bytes are more than a repository should hold")
        folder = self.target / release
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{fault.id}.log").write_bytes(log)
        (folder / f"{fault.id}.times").write_text(short_times(raw.times.read_text()))
        entry = {
            "file": f"{release}/{fault.id}.log",
            "release": release,
            "fault": fault.id,
            "bucket": outcome.bucket,
            "also": outcome.also,
            "evidence": text_of(log, lines[0]) if lines else "",
            "evidence_lines": lines,
            "cause": outcome.cause or fault.cause,
            "broken": fault.broken,
        }
        enter(self.target / INDEX, entry)
        self._describe(release, fault, about, known)
        return outcome.bucket

    def withdraw(self, release: str, fault: str) -> None:
        """Take a recording out of the repository."""
        for path in (self.target / release).glob(f"{fault}.*"):
            path.unlink()
        index = self.target / INDEX
        write_index(index, [entry for entry in read_index(index) if entry["file"] != f"{release}/{fault}.log"])

    def _describe(self, release: str, fault: Fault, about: dict[str, Any], known: dict[str, str]) -> None:
        path = self.target / release / "recordings.json"
        described: dict[str, Any] = (
            json.loads(path.read_text()) if path.is_file() else {"release": release, "recordings": {}}
        )
        told = {
            "command": shlex.join(about["command"]),
            "environment": about["environment"],
            "surroundings": about["surroundings"],
            "traffic": [action.model_dump(exclude_defaults=True) for action in fault.traffic],
            "answers": [note[:LONGEST_ANSWER] for note in about["notes"]],
            "ending": about["ending"],
            "exit_code": about["exit_code"],
            "ready": about["ready"],
            "seconds": about["seconds"],
            "recorded": about["recorded"],
        }
        described["recordings"][fault.id] = json.loads(normalise(json.dumps(told, ensure_ascii=False).encode(), known))
        described["recordings"] = dict(sorted(described["recordings"].items()))
        path.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_index(index: Path) -> list[dict[str, Any]]:
    """Return the entries of an index; none where there is no such file yet."""
    return [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()] if index.is_file() else []


def write_index(index: Path, entries: list[dict[str, Any]]) -> None:
    """Write an index in the order of releases and faults."""
    entries.sort(key=lambda entry: (_order(entry["release"]), entry["fault"]))
    # Others read the index while it grows: they see the old one or the new one, never half of it.
    index.parent.mkdir(parents=True, exist_ok=True)
    new = index.with_name(f".{index.name}")
    new.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")
    new.replace(index)


def enter(index: Path, entry: dict[str, Any]) -> None:
    """Put an entry into an index, in the place of the one for the same file.

    The verdict stays: it is set by hand or by `TRIAGE_BLESS` (tests/test_recorded.py), not by who records.
    """
    entries = read_index(index)
    before = next((other for other in entries if other["file"] == entry["file"]), {})
    verdict = {VERDICT: before[VERDICT]} if VERDICT in before else {}
    write_index(index, [*(other for other in entries if other["file"] != entry["file"]), {**entry, **verdict}])


def _order(release: str) -> tuple[int, ...]:
    """Return what releases are ordered by, those of torch (`torch-2.10.0-cpu`) too."""
    return tuple(int(part) for part in re.findall(r"\d+", release))


def judged(outcome: Outcome, about: dict[str, Any], log: bytes) -> tuple[Outcome, list[int]]:
    """Return what the log must be answered with, and the lines that prove it.

    Raises:
        NotProvokedError: The log does not show what the catalogue promises.
    """
    lines = find_evidence(log, outcome.evidence)
    if outcome.bucket == "no_failure":
        if not about["reached"]:
            raise NotProvokedError("a healthy server was meant to get further")
        return outcome, lines
    if lines:
        return outcome, lines
    if outcome.silent and about["ready"]:
        return Outcome(bucket="no_failure", cause=f"{outcome.cause} (leaves no trace in this log)"), []
    raise NotProvokedError(f"no line matches {' or '.join(outcome.evidence)}")


def find_evidence(log: bytes, patterns: list[str]) -> list[int]:
    """Return the numbers of the lines that match the first pattern that any line matches."""
    lines = [
        (number, line)
        for number, line in enumerate(log.decode("utf-8", "replace").split("\n"), 1)
        if not ECHO.search(line)
    ]
    for pattern in patterns:
        if found := [number for number, line in lines if re.search(pattern, line)]:
            return found[:MOST_LINES]
    return []


def text_of(log: bytes, number: int) -> str:
    """Return one line's text."""
    return log.decode("utf-8", "replace").split("\n")[number - 1].rstrip("\r")


def short_times(times: str) -> str:
    """Return arrival times as differences in milliseconds, one a line, runs of zeros as `0*count`."""
    short: list[str] = []
    before = zeros = 0
    for at in [*map(int, times.split()), None]:
        if at == before:
            zeros += 1
            continue
        if zeros:
            short.append("0" if zeros == 1 else f"0*{zeros}")
            zeros = 0
        if at is not None:
            short.append(str(at - before))
            before = at
    return "".join(f"{part}\n" for part in short)


def long_times(short: str) -> list[int]:
    """Return the milliseconds from the start at which each line was finished, as :func:`short_times` wrote them."""
    times: list[int] = []
    for part in short.split():
        step, _, count = part.partition("*")
        times += [(times[-1] if times else 0) + int(step)] * int(count or 1)
    return times
