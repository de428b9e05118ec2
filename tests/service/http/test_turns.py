"""Fairness: whose work is next, and where slow logs go."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.service.http.conftest import LOG, PATIENCE
from vllm_triage.classifier.api import shared
from vllm_triage.service.http.problems import Problem
from vllm_triage.service.http.turns import Turns
from vllm_triage.service.http.work import dispatcher
from vllm_triage.service.http.work.dispatcher import Dispatcher
from vllm_triage.service.http.work.jobs import Job, Limits
from vllm_triage.service.http.work.worker_pool import Workers


def test_a_caller_that_asks_much_waits_behind_one_that_asks_little():
    """Twenty pieces of work wait when another caller comes with three: they are among the next."""

    async def run() -> list[str]:
        turns, order = Turns(1, 100), list[str]()

        async def work(caller: str) -> None:
            async with turns.turn(caller):
                order.append(caller)
                await asyncio.sleep(0.005)

        busy = [asyncio.create_task(work("busy")) for _ in range(20)]
        await asyncio.sleep(0.02)
        seldom = [asyncio.create_task(work("seldom")) for _ in range(3)]
        await asyncio.gather(*busy, *seldom)
        return order

    order = asyncio.run(run())
    assert Counter(busy=20, seldom=3) == Counter(order)
    last = len(order) - order[::-1].index("seldom")
    assert last - order.index("seldom") <= 6
    assert last < 15


def test_time_counts_and_not_requests():
    """One piece of work of a caller takes ten times as long as those of another: that one has about ten turns for it."""

    async def run() -> Counter[str]:
        turns, done = Turns(1, 100), Counter[str]()

        async def work(caller: str, seconds: float) -> None:
            async with turns.turn(caller):
                await asyncio.sleep(seconds)
                done[caller] += 1

        tasks = [asyncio.create_task(work("long", 0.05)) for _ in range(10)]
        tasks += [asyncio.create_task(work("short", 0.005)) for _ in range(50)]
        while done["long"] < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        told = done.copy()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return told

    told = asyncio.run(run())
    assert 5 <= told["short"] / told["long"] <= 15


def test_where_too_much_waits_whoever_has_most_waiting_is_refused():
    """Not the newcomer; alone, a caller is told itself. What is left goes on."""

    async def run() -> tuple[list[str], list[str]]:
        turns, done, refused = Turns(1, 4), list[str](), list[str]()
        gate = asyncio.Event()

        async def work(caller: str) -> None:
            try:
                async with turns.turn(caller):
                    await gate.wait()
                    done.append(caller)
            except Problem as problem:
                refused.append(f"{caller} {problem.name}")

        tasks = []
        for caller in ("many", "many", "many", "many", "many", "many", "one", "one"):
            tasks.append(asyncio.create_task(work(caller)))
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        return done, refused

    done, refused = asyncio.run(run())
    assert ({"many": 3, "one": 2}, {"many busy": 3}) == (Counter(done), Counter(refused))


def test_who_leaves_while_waiting_holds_no_place():
    """Also where the turn comes in the same moment."""

    async def run() -> bool:
        turns = Turns(1, 9)

        async def work() -> None:
            async with turns.turn("a"):
                await asyncio.sleep(0)

        for gone in (0, 1, 2, 3):
            tasks = [asyncio.create_task(work()) for _ in range(3)]
            for _ in range(gone):
                await asyncio.sleep(0)
            tasks[1].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5), turns.turn("b"):
            return True

    assert asyncio.run(run())


@pytest.mark.slow
def test_a_small_log_that_takes_long_is_read_elsewhere_with_the_same_answer(monkeypatch):
    """And so are its caller's next ones of that size, for a while; those of others are not."""
    monkeypatch.setattr(dispatcher, "SLOW", -1.0)

    async def run() -> tuple[list[object], int, int]:
        desk = Dispatcher(shared(), Limits(1 << 30, 1 << 30), Workers(1), 1 << 20, PATIENCE)
        log = LOG * 20
        try:
            answers = [await desk._small_one(log, Job, "a")]
            tried = len(desk._slow)
            monkeypatch.setattr(dispatcher, "SLOW", 60.0)
            answers.append(await desk._small_one(log, Job, "a"))
            before = desk.children.pids
            answers.append(await desk._small_one(log, Job, "b"))
            return [answer.report for answer in answers], tried, len(before)
        finally:
            await desk.close()

    reports, tried, processes = asyncio.run(run())
    assert reports[0] == reports[1] == reports[2]
    assert (1, 1) == (tried, processes)
