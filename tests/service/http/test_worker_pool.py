"""Processes that several streams share: told apart, ended together only where the process dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.service.http.conftest import LOG, PATIENCE
from vllm_triage.classifier.api import shared
from vllm_triage.service.http.problems import Problem
from vllm_triage.service.http.work import worker_pool
from vllm_triage.service.http.work.dispatcher import Dispatcher
from vllm_triage.service.http.work.jobs import Job, Limits
from vllm_triage.service.http.work.worker_pool import PIPE, SHARED, Workers

OTHER = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def with_desk(work: Callable[[Dispatcher, Workers], Awaitable[Any]], most: int = 4, **limits: Any) -> Any:
    """Run something with a desk whose streams share one process."""

    async def run() -> Any:
        pool = Workers(most, each=most)
        desk = Dispatcher(shared(), Limits(**{"decompressed": 1 << 30, "lines": 1 << 30, **limits}), Workers(1), 1000, PATIENCE, watching=pool)  # fmt: skip
        try:
            async with asyncio.timeout(PATIENCE):
                return await work(desk, pool)
        finally:
            await desk.close()

    return asyncio.run(run())


async def follow(desk: Dispatcher, pieces: AsyncIterator[bytes]) -> Any:
    """Return the answer of a stream."""

    async def tell(kind: str, value: dict[str, object]) -> None:
        pass

    return (await desk.stream(pieces, Job, tell, asyncio.Event())).report


async def comes(condition: Callable[[], bool]) -> None:
    """Wait for what nothing tells of."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def slowly(log: bytes, go: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    """Yield a log line by line; the last one when told to."""
    *lines, last = log.splitlines(keepends=True)
    for line in lines:
        yield line
        await asyncio.sleep(0)
    if go is not None:
        await go.wait()
    yield last


def test_logs_in_one_process_are_told_apart():
    async def work(desk: Dispatcher, pool: Workers) -> Any:
        found = await asyncio.gather(*(follow(desk, slowly(log)) for log in (LOG, OTHER, LOG, OTHER)))
        return [report.bucket for report in found], len(pool.pids)

    buckets, processes = with_desk(work)
    assert (["kv_cache_oom", buckets[1], "kv_cache_oom", buckets[1]], 1) == (buckets, processes)
    assert buckets[1] != "kv_cache_oom"


def test_a_process_that_dies_is_told_to_all_and_replaced():
    async def work(desk: Dispatcher, pool: Workers) -> Any:
        go = asyncio.Event()
        following = [asyncio.create_task(follow(desk, slowly(LOG, go))) for _ in range(3)]
        await comes(lambda: bool(pool.pids and pool._processes[0].streams))
        [before] = pool.pids
        os.kill(before, signal.SIGKILL)
        ended = await asyncio.gather(*following, return_exceptions=True)
        after = await follow(desk, slowly(LOG))
        return [type(one) for one in ended], after.bucket, before in pool.pids

    assert ([Problem] * 3, "kv_cache_oom", False) == with_desk(work)


def test_a_stream_that_is_given_up_leaves_the_others_alone():
    async def work(desk: Dispatcher, pool: Workers) -> Any:
        go = asyncio.Event()
        left, stays = (asyncio.create_task(follow(desk, slowly(LOG, go))) for _ in range(2))
        await comes(lambda: bool(pool.pids) and len(pool._processes[0].streams) == 2)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        await comes(lambda: len(pool._processes[0].streams) == 1)
        go.set()
        return (await stays).bucket, len(pool.pids)

    assert ("kv_cache_oom", 1) == with_desk(work)


def test_a_log_that_is_refused_is_refused_alone():
    async def work(desk: Dispatcher, pool: Workers) -> Any:
        both: tuple[Any, ...] = await asyncio.gather(
            follow(desk, slowly(LOG * 3)), follow(desk, slowly(OTHER)), return_exceptions=True
        )
        return both[0].name, both[1].failed

    assert ("log-too-large", True) == with_desk(work, lines=100)


def test_what_is_sent_waits_for_what_is_read():
    """A stream that comes faster than it is read does not fill the memory of the process."""

    async def work(desk: Dispatcher, pool: Workers) -> Any:
        most = 0

        async def fast() -> AsyncIterator[bytes]:
            nonlocal most
            for _ in range(80):
                yield b"INFO: words\n" * 8000
                most = max(most, *(stream._under_way for stream in pool._processes[0].streams.values()))

        report = await follow(desk, fast())
        return report.input.lines, most

    lines, most = with_desk(work)
    assert 80 * 8000 == lines
    assert most <= PIPE + 8000 * 12


def test_a_process_that_is_stuck_gets_no_more(monkeypatch):
    """Where a stream that was given up goes on, the others end and the process goes."""
    monkeypatch.setattr(worker_pool, "STUCK", 0.01)

    async def work(desk: Dispatcher, pool: Workers) -> Any:
        leaving = asyncio.create_task(follow(desk, slowly(LOG, asyncio.Event())))
        await comes(lambda: bool(pool.pids and pool._processes[0].streams))
        [process] = pool._processes
        os.kill(process.pid, signal.SIGSTOP)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await comes(lambda: not pool.pids)
        return await process._process.wait(), (await follow(desk, slowly(LOG))).bucket

    assert (-signal.SIGKILL, "kv_cache_oom") == with_desk(work)


def test_a_place_is_for_one(monkeypatch):
    """More than may be wait for it."""

    async def work(desk: Dispatcher, pool: Workers) -> Any:
        go = asyncio.Event()
        first = asyncio.create_task(follow(desk, slowly(LOG, go)))
        await comes(lambda: bool(pool.pids and pool._processes[0].streams))
        second = asyncio.create_task(follow(desk, slowly(LOG)))
        await asyncio.sleep(0.05)
        waits = not second.done()
        go.set()
        return waits, (await first).bucket, (await second).bucket

    assert (True, "kv_cache_oom", "kv_cache_oom") == with_desk(work, most=1)


@pytest.mark.parametrize(("watchers", "processes"), [(0, 1), (1, 1), (16, 1), (17, 2), (40, 3)])
def test_how_many_processes_there_may_be(watchers, processes):
    """The usual number of watchers shares one."""
    assert processes == Workers(watchers, each=SHARED)._most
