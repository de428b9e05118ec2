"""A Ray cluster: the same rows, whatever is killed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.batch.logs import fleet
from tests.service.batch.test_local import chunks, flat
from tests.service.batch.workers import killed_once, names
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.engines.interface import LOST, Engine
from vllm_triage.service.batch.engines.local import Here
from vllm_triage.service.batch.log import Chunk
from vllm_triage.service.batch.run import run
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.batch.work import Write

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own


class KilledError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Give a cluster of one processor, started once: that takes longer than all of its work."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from vllm_triage.service.batch.engines.on_ray import Ray

    try:
        yield Ray(1)
    finally:
        ray.shutdown()


def test_ray_writes_what_one_process_writes(tmp_path: Path, engine: Engine) -> None:
    """Row for row."""
    logs = fleet(tmp_path / "logs", 5)
    for name, own in (("ray", engine), ("one", Here())):
        run([str(logs)], Write(Asking(), str(tmp_path / name), "parquet"), own)
    one, other = ({row["id"]: row for row in read_rows(str(tmp_path / name))} for name in ("one", "ray"))
    assert one == other


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path, engine: Engine) -> None:
    """Its chunk is worked off by another one."""
    wanted = ["a", str(tmp_path / "mark"), "b"]
    assert flat(engine.run(killed_once, chunks(*wanted))) == sorted(wanted)


def test_a_log_that_kills_its_worker_is_told_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried in its chunk and alone, twice each, and then given up. (Ray tries a task of a killed worker again.)"""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from vllm_triage.service.batch.engines import on_ray

    class Call:
        def __init__(self, method: Callable[[str], object]) -> None:
            self.remote = method

    class Attempts:
        def __init__(self) -> None:
            counter = on_ray._Attempts()
            self.begin, self.over = Call(counter.begin), Call(counter.over)

    def work(chunk: Chunk) -> list[str]:
        if any(log.name == "poison" and not log.problem for log in chunk):
            raise KilledError
        return names(chunk)

    monkeypatch.setattr(ray, "get", lambda told: told)
    (chunk,), attempts, kills = chunks("a", "poison"), Attempts(), 0
    while True:
        try:
            done = on_ray._one({"chunk": pickle.dumps(chunk)}, work, attempts)
            break
        except KilledError:
            kills += 1
    assert flat(pickle.loads(done["results"])) == ["a", f"poison: {LOST}"]
    assert kills == 4
