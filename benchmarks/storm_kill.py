"""kill -9 in the middle of a storm of alerts, again and again: nothing that was acknowledged may be lost; see README.md in this folder.

python benchmarks/storm_kill.py [--rounds 5] [--alerts 400] [--database postgresql://…]

Each round sends different alerts, ends the service as a power cut would, starts it on the same database, and waits until it has
worked off what it had acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from typing import Any

from serving import Connection, Server
from storm import AUTH, HOOK, _alert, _idle, _notification, _until, chatting

from tests.service.chat.slack_server import FakeSlack
from vllm_triage.service.history import Filter, History

SENDERS = 16


def main() -> None:
    """Run the rounds; print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alerts", type=int, default=400)
    parser.add_argument("--database", default="", help="empty: a SQLite file")
    options = parser.parse_args()
    acknowledged: set[str] = set()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, FakeSlack() as slack:
        more = {"database": options.database} if options.database else {}
        left_waiting = []
        for number in range(options.rounds):
            with chatting(folder, slack, **more) as served:
                services = [f"round-{number}-{alert}" for alert in range(options.alerts)]
                # Somewhere between the first and the last.
                acknowledged |= asyncio.run(_storm(served, services, (number + 1) / (options.rounds + 1)))
            with chatting(folder, slack, **more) as served:
                began = time.perf_counter()
                _until(lambda: _worked_off(served), 300)
                left_waiting.append(round(time.perf_counter() - began, 1))
                _idle(served)
        history = History(options.database or f"sqlite:///{folder}/history.sqlite")
        found = _services(history)
        history.close()
    lost = acknowledged - found
    load = [round(before, 1), round(os.getloadavg()[0], 1)]
    print(
        json.dumps(
            {
                "rounds": options.rounds, "acknowledged": len(acknowledged), "lost": len(lost),
                "seconds_to_work_off": left_waiting, "load": load,
            }
        )
    )  # fmt: skip
    raise SystemExit(bool(lost))


async def _storm(served: Server, services: list[str], share: float) -> set[str]:
    """Send an alert for each service; kill when a share was acknowledged; return the services that were."""
    acknowledged: set[str] = set()
    todo = iter(services)

    async def sender() -> None:
        connection = await Connection.open(served.port)
        for service in todo:
            try:
                status = await connection.post(HOOK, _notification([_alert(0, service=service)]), AUTH)
            except (ConnectionError, asyncio.IncompleteReadError):
                return
            if status == 202:
                acknowledged.add(service)
            if len(acknowledged) >= share * len(services):
                served.kill()
                return

    await asyncio.gather(*(sender() for _ in range(SENDERS)))
    return acknowledged


def _worked_off(served: Server) -> bool:
    import urllib.request

    request = urllib.request.Request(f"{served.url}/metrics")
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
    waiting = [line for line in text.splitlines() if line.startswith('vllm_triage_messages_waiting{target="alerts"')]
    return all(float(line.rpartition(" ")[2]) == 0 for line in waiting)


def _services(history: History) -> set[str]:
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        page: Any = history.incidents(Filter(limit=500, cursor=cursor, tenant=None))
        found |= {incident.service for incident in page.items}
        cursor = page.next
    return found


if __name__ == "__main__":
    main()
