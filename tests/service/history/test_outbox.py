"""Letters that wait: taken once, due again where nothing is heard, never lost, on both databases."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from sqlalchemy import inspect, text

from tests.service.history.reports import report
from vllm_triage.service.history import Filter, History, HistoryError, totals, upgrade
from vllm_triage.service.letter import Leader, Letter


def letters(*ids: str, lane: str = "slack") -> list[Letter]:
    return [Letter(lane, id_, b"body of " + id_.encode()) for id_ in ids]


def test_letters_come_in_their_order_and_once(history):
    """Those of a lane, to one of those who ask."""
    history.outbox.put(letters("a", "b", "c") + letters("x", lane="other"))

    assert ["a", "b"] == [taken.id for taken in history.outbox.take("slack", 2, 60)]
    assert [("c", b"body of c", 1, False)] == [
        (taken.id, taken.body, taken.attempts, taken.gathered) for taken in history.outbox.take("slack", 2, 60)
    ]
    assert [] == history.outbox.take("slack", 2, 60)


def test_a_lane_that_one_works_off_alone_keeps_its_order(history, clock):
    """Nobody else gets its letters, until it leaves; what one that has died had under way comes first."""
    one, other, take = Leader(1, 15), Leader(2, 15), history.outbox.take
    history.outbox.put(letters("a", "b", "c"))
    assert ["a"] == [taken.id for taken in take("slack", 1, 60, one)]
    assert [] == take("slack", 9, 60, other)
    assert ["b"] == [taken.id for taken in take("slack", 1, 60, one)]
    clock.forward(seconds=16)
    assert ["a", "b"] == [taken.id for taken in take("slack", 2, 60, other)]
    history.outbox.leave("slack", one)
    assert [] == take("slack", 9, 60, one)
    history.outbox.leave("slack", other)
    assert ["c"] == [taken.id for taken in take("slack", 9, 60, one)]


def test_a_letter_that_nobody_spoke_of_again_is_due_again(history, clock):
    """Its taker has died; what was done is gone, what is to be tried later comes later."""
    history.outbox.put(letters("a", "b", "c"))
    first, second, third = history.outbox.take("slack", 9, 60)
    history.outbox.done([first.number])
    history.outbox.later([second.number], clock() + timedelta(hours=1))
    clock.forward(seconds=61)
    again = history.outbox.take("slack", 9, 60)
    history.outbox.done([third.number])
    clock.forward(hours=1)

    assert [("c", 2)] == [(taken.id, taken.attempts) for taken in again]
    assert [("b", 2)] == [(taken.id, taken.attempts) for taken in history.outbox.take("slack", 9, 60)]


def test_letters_are_gathered_and_given_up(history, clock):
    """Keeping back is no attempt; what is given up waits no more, and is told with its reason."""
    history.outbox.put(letters("a", "b"))
    a, b = history.outbox.take("slack", 9, 60)
    history.outbox.later([a.number], clock() + timedelta(seconds=5), untried=True, gathered=True)
    history.outbox.give_up([b.number], "status 410")
    told = history.outbox.figures()
    clock.forward(seconds=5)
    [gathered] = history.outbox.take("slack", 9, 60)

    assert [("slack", 1, a.at, 1, "status 410")] == [
        (lane.lane, lane.waiting, lane.since, lane.failed, lane.reason) for lane in told
    ]
    assert ("a", 1, True) == (gathered.id, gathered.attempts, gathered.gathered)


def test_what_was_given_up_goes_in_the_end(history, clock):
    """What waits does not."""
    history.outbox.put(letters("a", "b"))
    a, _ = history.outbox.take("slack", 9, 60)
    history.outbox.give_up([a.number], "status 410")
    clock.forward(days=8)
    history.prune()

    assert [(1, 0)] == [(lane.waiting, lane.failed) for lane in history.outbox.figures()]


def test_a_claim_and_its_letters_are_one_thing(history):
    """Written together where the claim is the first; where the letters fail, nothing was claimed."""

    def fails() -> list[Letter]:
        raise HistoryError("no letters")

    with pytest.raises(HistoryError, match="no letters"):
        history.once("key", 60, 1, fails)
    assert (True, 3) == history.once("key", 60, 3, lambda: letters("a"))
    assert (False, 4) == history.once("key", 60, 1, fails)
    assert ["a"] == [taken.id for taken in history.outbox.take("slack", 9, 60)]


def test_many_takers_get_every_letter_once(history):
    """Eight threads, two hundred letters."""
    history.outbox.put(letters(*map(str, range(200))))
    found: list[str] = []

    def work() -> None:
        while taken := history.outbox.take("slack", 3, 600):
            found.extend(one.id for one in taken)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted(map(str, range(200)))


def test_a_killed_process_loses_no_letter(url, opened):
    """Acknowledged is written: another process finds all of them."""
    history = opened()
    code = f"""
import os, signal
from vllm_triage.service.history import History
from vllm_triage.service.letter import Leader, Letter
history = History({url!r})
for number in range(50):
    history.outbox.put([Letter("slack", str(number), b"x")])
    print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    written = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False).stdout.split()

    assert 50 == len(written) == history.outbox.figures()[0].waiting


def test_a_history_of_the_first_release_gets_its_outbox_while_it_is_written_to(url, clock, monkeypatch):
    """Rows that were there, and those that a process of the old release acknowledged meanwhile, are there afterwards."""
    # As that release wrote.
    monkeypatch.setattr(totals, "add", lambda *_: None)
    history = History(url, clock=clock)
    with history._database.writing() as connection:
        upgrade.move(connection, "0001")
    kept = [history.record(report(), service=f"service-{number}").id for number in range(20)]
    history.feedback(kept[0], "right", tenant=None)
    stop = threading.Event()
    meanwhile: list[str] = []

    def write() -> None:
        while not stop.is_set():
            meanwhile.append(history.record(report(), service=f"later-{len(meanwhile)}").id)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(meanwhile) < 5:
            pass
        newer = History(url, clock=clock)
        newer.upgrade()
        after = len(meanwhile)
        while len(meanwhile) < after + 5:
            pass
    finally:
        stop.set()
        writer.join()
    newer.outbox.put(letters("a"))
    found = {incident.id for incident in newer.incidents(Filter(limit=500)).items}
    with newer._database.reading() as connection:
        revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    names = set(inspect(newer._database.engine).get_table_names())
    details = newer.incident(kept[0])
    voice = details.incident.feedback if details else None
    newer.close()
    history.close()

    assert set(kept) | set(meanwhile) <= found
    assert (upgrade.newest(), True, "right") == (revision, names >= {"outbox", "handling", "owners"}, voice)
