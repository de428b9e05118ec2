"""Limits: size, lines, time, requests at once, requests a minute."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.http.conftest import LOG, PATIENCE
from vllm_triage.classifier.api import shared
from vllm_triage.service.http.keys import make_key
from vllm_triage.service.http.limits import Places, Rate
from vllm_triage.service.http.problems import Problem
from vllm_triage.service.http.work.dispatcher import Dispatcher
from vllm_triage.service.http.work.jobs import Job, Limits
from vllm_triage.service.http.work.worker_pool import Workers

MIB = 1 << 20


def problem_of(answer) -> tuple[int, str]:
    """Return status and name of a problem."""
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read(service):
    """And one that does not say so, when it is."""
    client = service(max_body=10_000)

    assert (413, "body-too-large") == problem_of(client.post("/v1/triage", content=LOG * 2))
    assert (413, "body-too-large") == problem_of(client.post("/v1/triage", content=iter([LOG, LOG])))
    assert client.post("/v1/triage", content=LOG).status_code == 200


def test_json_is_held_in_memory_and_so_limited_further(service):
    """Packed or not; the log itself may be larger."""
    client = service(max_json=300_000, small=100_000)
    log = (LOG * 60).decode()

    assert (413, "body-too-large") == problem_of(client.post("/v1/triage", json={"log": log}))
    packed = gzip.compress(b'{"log": "' + b"a" * MIB + b'"}')
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert (413, "body-too-large") == problem_of(client.post("/v1/triage", content=packed, headers=headers))
    assert client.post("/v1/triage", content=log.encode()).status_code == 200


@pytest.mark.parametrize("what", [b"a" * 1000 + b"\n", b"\0", b"a"], ids=["lines", "NULs", "one line"])
def test_a_bomb_is_stopped(service, what):
    """A few kilobytes that unpack to far more than is allowed."""
    client = service(max_decompressed=8 * MIB, request_seconds=PATIENCE)
    bomb = gzip.compress(what * (64 * MIB // len(what)), 9)

    assert len(bomb) < 300_000
    assert (413, "log-too-large") == problem_of(client.post("/v1/triage", content=bomb))


@pytest.mark.parametrize("lines", [200, 100_000])
def test_a_log_of_too_many_lines_is_refused(service, lines):
    """Small or large."""
    assert (413, "log-too-large") == problem_of(service(max_lines=100).post("/v1/triage", content=b"INFO x\n" * lines))


def test_a_body_that_stops_coming_is_given_up(service):
    """Half a log, then nothing."""
    client = service(idle_seconds=0.2)

    async def stalled():
        from vllm_triage.service.http.bodies import arriving

        class Request:
            headers: dict[str, str] = {}  # noqa: RUF012
            scope: dict[str, Any] = {}  # noqa: RUF012

            async def receive(self):
                await asyncio.sleep(30)

        request: Any = Request()
        return [piece async for piece in arriving(request, client.app.state.service.settings)]

    with pytest.raises(Problem) as caught:
        asyncio.run(stalled())
    assert (408, "body-timeout") == (caught.value.status, caught.value.name)


def test_a_log_that_takes_too_long_ends_with_its_process():
    """The worker is killed, and the next log gets another."""

    async def run() -> tuple[str, list[int], str]:
        desk = Dispatcher(shared(), Limits(1 << 30, 1 << 30), Workers(1), 1000, 1.5)

        async def endless():
            while True:
                yield b"INFO hello\n" * 1000
                await asyncio.sleep(0.01)

        try:
            with pytest.raises(Problem) as caught:
                await desk.triage(endless(), Job)
            left = desk.children.pids
            # The next has all the time it needs.
            desk._seconds = PATIENCE
            answer = await desk.quick(LOG * 10, Job())
            return caught.value.name, left, answer.report.bucket
        finally:
            await desk.close()

    assert ("out-of-time", [], "kv_cache_oom") == asyncio.run(run())


def test_a_worker_that_dies_is_a_problem_and_not_the_end():
    """Killed for memory, for instance; the next log gets another."""

    async def run() -> tuple[str, str]:
        import os
        import signal

        desk = Dispatcher(shared(), Limits(1 << 30, 1 << 30), Workers(1), 1000, PATIENCE)

        async def with_murder():
            yield LOG * 10
            while not desk.children.pids:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
            os.kill(desk.children.pids[0], signal.SIGKILL)
            while True:
                yield LOG
                await asyncio.sleep(0.01)

        try:
            with pytest.raises(Problem) as caught:
                await desk.triage(with_murder(), Job)
            return caught.value.name, (await desk.quick(LOG * 10, Job())).report.bucket
        finally:
            await desk.close()

    assert ("internal", "kv_cache_oom") == asyncio.run(run())


def test_workers_are_used_again_and_at_most_so_many():
    """Four logs at once through two processes; both are there for the next ones."""

    async def run() -> tuple[int, set[str]]:
        desk = Dispatcher(shared(), Limits(1 << 30, 1 << 30), Workers(2), 1000, PATIENCE)
        try:
            answers = await asyncio.gather(*(desk.quick(LOG * 10, Job()) for _ in range(4)))
            return len(desk.children.pids), {answer.report.bucket for answer in answers}
        finally:
            await desk.close()

    assert (2, {"kv_cache_oom"}) == asyncio.run(run())


def test_a_caller_that_gives_up_takes_its_process_along():
    """What nobody waits for is not worked out."""

    async def run() -> list[int]:
        desk = Dispatcher(shared(), Limits(1 << 30, 1 << 30), Workers(1), 1000, PATIENCE)
        started = asyncio.Event()

        async def endless():
            while True:
                started.set()
                yield b"INFO hello\n" * 1000
                await asyncio.sleep(0.01)

        task = asyncio.create_task(desk.triage(endless(), Job))
        await started.wait()
        while not desk.children.pids:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        try:
            return desk.children.pids
        finally:
            await desk.close()

    assert [] == asyncio.run(run())


def test_places_are_limited_and_given_back():
    """One too many is told to come again."""
    places = Places(2)
    with places, places:
        with pytest.raises(Problem) as caught, places:
            pass
        assert ("busy", "1") == (caught.value.name, caught.value.headers["Retry-After"])
    with places, places:
        assert 2 == places.taken
    assert (0, 1) == (places.taken, places.full)


def test_the_rate_is_kept_for_each_caller():
    """A minute's worth at once, then one each second; others are not touched."""
    now = [0.0]
    rate = Rate(60, lambda: now[0])
    for left in range(59, -1, -1):
        assert f'"default";r={left};' in rate.take("a")["RateLimit"] + ";"
    with pytest.raises(Problem) as caught:
        rate.take("a")
    assert ("rate-limited", "1", '"default";r=0;t=1') == (
        caught.value.name, caught.value.headers["Retry-After"], caught.value.headers["RateLimit"],
    )  # fmt: skip
    rate.take("b")
    now[0] = 1.0
    rate.take("a")
    with pytest.raises(Problem):
        rate.take("a")


@given(st.lists(st.floats(0, 120), max_size=80), st.integers(1, 40))
def test_no_pattern_of_requests_beats_the_rate(pauses, limit):
    """In any time there are at most a minute's worth and what came in that time."""
    now = [0.0]
    rate = Rate(limit, lambda: now[0])
    allowed = 0
    for pause in pauses:
        now[0] += pause
        try:
            rate.take("a")
            allowed += 1
        except Problem:
            pass

    assert allowed <= limit + now[0] * limit / 60 + 1e-6


def test_too_many_requests_are_told_when_to_come_again(service):
    """With the headers that clients go by; probes are not counted."""
    client = service(rate_limit=2)
    answers = [client.post("/v1/triage", content=LOG) for _ in range(3)]

    assert [200, 200, 429] == [answer.status_code for answer in answers]
    assert ('"default";q=2;w=60', "30") == (answers[0].headers["RateLimit-Policy"], answers[2].headers["Retry-After"])
    assert 200 == client.get("/healthz").status_code


def test_wrong_keys_are_counted(service):
    """Who guesses is told to wait, and fills no log."""
    _, line = make_key("ci", ["triage"])
    client = service(rate_limit=20, api_keys=(line,))
    statuses = [client.get("/v1/buckets", headers={"X-API-Key": f"guess-{number}"}).status_code for number in range(30)]
    assert [401] * 20 + [429] * 10 == statuses
