"""A Ray cluster of several nodes on this machine: a raylet of its own, with one processor, stands for each node."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fleet_cost import children, command

STORE = 100 << 20
"""Bytes of each node's object store."""


class Nodes:
    """A cluster whose head does not work.

    Args:
        number: Nodes that work.
    """

    def __init__(self, number: int) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE},
        )
        self._nodes = [self._another() for _ in range(number)]

    @property
    def address(self) -> str:
        """``HOST:PORT``."""
        return str(self._cluster.address)

    def kill(self, seed: random.Random) -> None:
        """Kill a node, as a power cut does, and have another one take its place."""
        node = self._nodes.pop(seed.randrange(len(self._nodes)))
        os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        self._cluster.remove_node(node, allow_graceful=False)
        self._nodes.append(self._another())

    def over(self) -> None:
        """End all nodes."""
        self._cluster.shutdown()

    def _another(self) -> Any:
        return self._cluster.add_node(num_cpus=1, object_store_memory=STORE)


@contextmanager
def nodes(number: int) -> Iterator[Nodes]:
    """Give a cluster of some nodes."""
    made = Nodes(number)
    try:
        yield made
    finally:
        made.over()


def busy() -> list[int]:
    """Return the processes of Ray, below this one, that work a task off."""
    return [pid for pid in children(os.getpid()) if command(pid).startswith(b"ray::Map")]
