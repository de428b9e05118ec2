"""Works chunks off in processes of this machine; a process that is killed costs no log."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for

from ..log import Chunk
from .interface import Result, Work, poisoned

AHEAD = 3
"""Chunks that are handed over for each worker: one is worked on, the others wait."""
TRIES = 2
"""How often a log that is read alone may take its worker along."""


class Here:
    """This very process: for small work, and for tests."""

    def run(self, work: Work[Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield what becomes of each chunk, in their order."""
        return map(work, chunks)


class Processes:
    """Processes of this machine.

    Args:
        workers: How many.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, work: Work[Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield what the workers return. Chunks of a lost worker are tried again, each on its own."""
        waiting = iter(chunks)
        suspects: list[Chunk] = []
        while True:
            with _pool(self._workers) as pool:
                yield from _worked_off(pool, work, waiting, suspects, self._workers * AHEAD)
            if not suspects:
                return
            # Which of them took the worker along is found out one by one.
            for chunk in suspects:
                yield from _alone(work, chunk)
            suspects.clear()


def _worked_off(
    pool: ProcessPoolExecutor, work: Work[Result], chunks: Iterator[Chunk], lost: list[Chunk], most: int
) -> Iterator[Result]:
    """Yield results until there are no more chunks or the pool is broken; then note whose result is missing."""
    running: dict[Future[Result], Chunk] = {}
    try:
        while True:
            while not lost and len(running) < most and (chunk := next(chunks, None)) is not None:
                try:
                    running[pool.submit(work, chunk)] = chunk
                except BrokenProcessPool:
                    lost.append(chunk)
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    lost.append(chunk)
                else:
                    yield result
    finally:
        for future in running:
            future.cancel()


def _alone(work: Work[Result], chunk: Chunk) -> Iterator[Result]:
    """Yield what becomes of a chunk that was lost with its worker: as a whole, else log by log."""
    for part in (chunk,) if len(chunk) == 1 else (chunk, *((log,) for log in chunk)):
        for _ in range(TRIES if len(part) == 1 else 1):
            try:
                with _pool(1) as pool:
                    result = pool.submit(work, part).result()
            except BrokenProcessPool:
                continue
            yield result
            break
        else:
            if len(part) == 1:
                yield work((poisoned(part[0]),))
            continue
        if len(part) == len(chunk):
            return


def _pool(workers: int) -> ProcessPoolExecutor:
    # Forking a process that has threads (the progress bar) may leave a lock taken for ever.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
