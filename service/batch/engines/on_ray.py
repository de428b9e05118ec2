"""Works chunks off on a Ray cluster, by Ray Data: streaming, lost workers and nodes replaced, nothing shuffled."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, cast

from ....classifier.errors import InputError
from ....classifier.extras import install
from ..log import Chunk
from .interface import Result, Work, poisoned

ROUND = 2048
"""Chunks of one pass of Ray Data: what the driver holds of the listing."""
ROUND_BYTES = 256 << 20
"""Bytes of one pass that travel with the listing (members of archives)."""
TRIES = 2
"""How often a chunk is begun as a whole; from then on its logs are read one by one."""


class Ray:
    """A Ray cluster.

    Args:
        workers: Tasks at a time; 0 for as many as the cluster has processors.
        address: ``HOST:PORT`` of the cluster; "" for that of RAY_ADDRESS, else one that is started here.

    Raises:
        InputError: Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, workers: int = 0, address: str = "") -> None:
        try:
            import ray
        except ImportError:
            raise InputError(f"--engine ray needs Ray: {install('ray')}") from None
        self._workers = workers
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        if ray.is_initialized():
            return
        known = address or os.environ.get("RAY_ADDRESS", "")
        # Without an address Ray would join whatever cluster somebody has started on this machine.
        options: dict[str, Any] = {"address": known} if known else {"address": "local", "include_dashboard": False}
        if workers and not known:
            options["num_cpus"] = workers
        try:
            ray.init(log_to_driver=False, configure_logging=False, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(f"the Ray cluster {known or 'on this machine'}: {error}") from None

    def run(self, work: Work[Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield what the workers return, a pass of Ray Data after the other."""
        import ray

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        attempts = _counted_here()
        for some in _passes(chunks):
            data = ray.data.from_items(
                [{"chunk": pickle.dumps(chunk)} for chunk in some], override_num_blocks=len(some)
            )
            # Ray Data tries tasks of lost workers and nodes again, as often as it takes.
            pool = ray.data.TaskPoolStrategy(size=self._workers or None)
            done = data.map(partial(_one, work=work, attempts=attempts), num_cpus=1, compute=pool)
            for row in done.iter_rows():
                yield from cast("list[Result]", pickle.loads(row["results"]))  # noqa: S301 - our own workers wrote it


def _counted_here() -> Any:
    """Return a new ``_Attempts`` on the driver's own node: no other node takes it along, and its calls with it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    # Ray's types know strategies for tasks, and none for actors.
    remote = cast("Any", ray.remote)
    return remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)(_Attempts).remote()


class _Attempts:
    """Counts how often something was begun; lives in the cluster as long as the run."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}

    def begin(self, key: str) -> int:
        """Return how often it was begun, this time included."""
        self._begun[key] = self._begun.get(key, 0) + 1
        return self._begun[key]

    def over(self, key: str) -> None:
        """Forget what is done."""
        self._begun.pop(key, None)


def _one(row: dict[str, Any], work: Work[Result], attempts: Any) -> dict[str, Any]:
    """Work a chunk off: as a whole, or log by log where it took its workers along."""
    import ray

    chunk = cast("Chunk", pickle.loads(row["chunk"]))  # noqa: S301 - our own driver wrote it
    key = chunk[0].id
    if ray.get(attempts.begin.remote(key)) <= TRIES:
        results = [work(chunk)]
    else:
        results = []
        for log in chunk:
            again = ray.get(attempts.begin.remote(f"{key} {log.id}")) > TRIES
            results.append(work((poisoned(log) if again else log,)))
            attempts.over.remote(f"{key} {log.id}")
    attempts.over.remote(key)
    return {"results": pickle.dumps(results)}


def _passes(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    gathered: list[Chunk] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += sum(len(log.data) for log in chunk if log.data is not None)
        if len(gathered) >= ROUND or size >= ROUND_BYTES:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered
