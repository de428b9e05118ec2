"""The database is away for a while under traffic: every log is answered, and nothing that was acknowledged is lost; see README.md.

python benchmarks/storm_database.py [locked|removed|postgresql …] [--seconds 60]

Each round posts logs and alerts before, while and after the database is away, each with a service label of its own, asks
/readyz meanwhile, and looks in the end whether the history holds all that was said to be in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serving import Server
from storm import AUTH, HOOK, LOG, _alert, _idle, _notification, _until, chatting
from storm_kill import _services, _worked_off

from tests.service.chat.slack_server import FakeSlack
from tests.service.history.conftest import _make, _programs, _running
from vllm_triage.service.history import History

AROUND = 5.0
"""Seconds of traffic before and after."""
PAUSE = 0.1
"""Seconds between two requests of a client."""
PEOPLE, SENDERS = 4, 2
Away = Callable[[float], None]


def main() -> None:
    """Run the rounds; print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=[*KINDS], help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    failed = False
    for kind in options.kinds:
        before = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder, FakeSlack() as slack, KINDS[kind](Path(folder)) as (url, away):
            figures = _round(folder, slack, url, away, options.seconds)
        load = [round(before, 1), round(os.getloadavg()[0], 1)]
        print(json.dumps({"database": kind, "seconds": options.seconds, **figures, "load": load}), flush=True)
        failed |= bool(figures["lost"] or figures["not_answered"])
    raise SystemExit(failed)


@dataclass(slots=True)
class Told:
    """What the service said in one part of a round."""

    recorded: set[str] = field(default_factory=set)
    """Services whose logs it said to have recorded, and whose alerts it took."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why logs were not recorded."""
    alerts: Counter[int] = field(default_factory=Counter)
    """Statuses."""
    ready: Counter[str] = field(default_factory=Counter)
    not_answered: int = 0
    seconds: list[float] = field(default_factory=list)


def _round(folder: str, slack: FakeSlack, url: str, away: Away, seconds: float) -> dict[str, Any]:
    with chatting(folder, slack, database=url) as served:
        parts = {"before": asyncio.run(_traffic(served, "before", AROUND))}
        parts["away"] = asyncio.run(_traffic(served, "away", seconds, away))
        began = time.perf_counter()
        _until(lambda: _ready(served) == "ok", 60)
        back = time.perf_counter() - began
        parts["after"] = asyncio.run(_traffic(served, "after", AROUND))
        _until(lambda: _worked_off(served), 300)
        _idle(served)
        history = History(url)
        found = _services(history)
        history.close()
    acknowledged = set().union(*(part.recorded for part in parts.values()))
    return {
        "acknowledged": len(acknowledged), "lost": len(acknowledged - found),
        "not_answered": sum(part.not_answered for part in parts.values()),
        "answers": {name: len(part.seconds) for name, part in parts.items()},
        "p99_ms": {name: round(1000 * statistics.quantiles(part.seconds, n=100)[98]) for name, part in parts.items()},
        "not_recorded": dict(parts["away"].reasons), "alerts": {name: dict(part.alerts) for name, part in parts.items()},
        "ready_while_away": dict(parts["away"].ready), "seconds_until_ready": round(back, 1),
        "not_recorded_afterwards": dict(parts["after"].reasons),
    }  # fmt: skip


async def _traffic(served: Server, part: str, seconds: float, away: Away | None = None) -> Told:
    """Post logs and alerts for a time, in which the database is away where something takes it away."""
    told, end = Told(), time.perf_counter() + seconds

    async def repeat(name: str, call: Callable[[Server, str, Told], None], pause: float) -> None:
        number = 0
        while time.perf_counter() < end:
            await asyncio.to_thread(call, served, f"{part}-{name}-{number}", told)
            number += 1
            await asyncio.sleep(pause)

    work = [repeat(f"person-{number}", _person, PAUSE) for number in range(PEOPLE)]
    work += [repeat(f"alert-{number}", _sender, PAUSE) for number in range(SENDERS)]
    work.append(repeat("ready", lambda served, _, told: told.ready.update([_ready(served)]), 1))
    if away is not None:
        work.append(asyncio.to_thread(away, seconds))
    await asyncio.gather(*work)
    return told


def _person(served: Server, service: str, told: Told) -> None:
    began = time.perf_counter()
    try:
        request = urllib.request.Request(
            f"{served.url}/v1/triage?service={service}", LOG.encode(), {"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            report = json.load(answer)
    except OSError:
        told.not_answered += 1
        return
    told.seconds.append(time.perf_counter() - began)
    if report["incident"] is not None:
        told.recorded.add(service)
    elif reason := report.get("not_recorded"):
        told.reasons[reason] += 1
    else:
        told.not_answered += 1


def _sender(served: Server, service: str, told: Told) -> None:
    headers = dict(line.split(": ", 1) for line in AUTH.strip().split("\r\n"))
    request = urllib.request.Request(
        f"{served.url}{HOOK}", _notification([_alert(0, service=service)]), headers, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    except OSError:
        status = 0
    told.alerts[status] += 1
    if status == 202:
        told.recorded.add(service)


def _ready(served: Server) -> str:
    try:
        with urllib.request.urlopen(f"{served.url}/readyz", timeout=60) as answer:
            return str(json.load(answer)["status"])
    except OSError as error:
        return type(error).__name__


@contextmanager
def _locked(folder: Path) -> Iterator[tuple[str, Away]]:
    """Another program holds a write transaction."""
    path = folder / "history.sqlite"

    def away(seconds: float) -> None:
        other = sqlite3.connect(path, timeout=30, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        other.close()

    yield f"sqlite:///{path}", away


@contextmanager
def _removed(folder: Path) -> Iterator[tuple[str, Away]]:
    """The file is moved away, and back."""
    path = folder / "history.sqlite"

    def away(seconds: float) -> None:
        aside = path.rename(folder / "aside.sqlite")
        time.sleep(seconds)
        aside.rename(path)

    yield f"sqlite:///{path}", away


@contextmanager
def _postgresql(folder: Path) -> Iterator[tuple[str, Away]]:
    """A server of our own is stopped at once, and started again."""
    programs = _programs()
    if programs is None:
        raise SystemExit("PostgreSQL's server programs (initdb, postgres) are not installed")
    home = folder / "postgresql"
    home.mkdir()
    folder.chmod(0o755)
    _make(programs, home)
    running = _running(programs, home)
    url = running.__enter__()

    def away(seconds: float) -> None:
        nonlocal running
        running.__exit__(None, None, None)
        time.sleep(seconds)
        running = _running(programs, home)
        running.__enter__()

    try:
        yield url, away
    finally:
        running.__exit__(None, None, None)


KINDS = {"locked": _locked, "removed": _removed, "postgresql": _postgresql}

if __name__ == "__main__":
    main()
