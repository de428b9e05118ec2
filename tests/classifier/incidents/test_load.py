"""What a log is answered with does not depend on how busy the machine is: not on pauses, not on other threads."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.everyday import sample
from tests.fixtures.marked import FOLDER, read_marked
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.testing import CORPUS

LOGS = [(path.stem, read_marked(path).log) for path in sorted(FOLDER.glob("*.log"))]
CLOCKS = ("perf_counter", "thread_time", "process_time", "monotonic", "time")
PAUSE = 0.06
"""Seconds for which a thread may wait for its turn."""
THREADS = 16
ROUNDS = 2


def answer(triage: Triage, log: str) -> str:
    """Return the whole answer as JSON."""
    return triage.report(log).to_json()


@pytest.fixture(scope="module")
def quiet() -> dict[str, str]:
    """The answers of a machine that has nothing else to do."""
    triage = Triage()
    return {name: answer(triage, log) for name, log in LOGS}


@pytest.fixture(params=[0.02, 0.3, 1.0], ids=lambda share: f"{share:.0%}")
def pausing(request, monkeypatch):
    """Clocks that jump, now and then or always, as for a thread that has to wait."""
    chance, late = random.Random(7), [0.0]

    def jumping(clock: Callable[[], float]) -> Callable[[], float]:
        def read() -> float:
            late[0] += PAUSE * (chance.random() < request.param)
            return clock() + late[0]

        return read

    for name in CLOCKS:
        clock = getattr(time, name)
        read = jumping(clock)
        monkeypatch.setattr(time, name, read)
        for module in [module for key, module in sys.modules.items() if key.startswith("vllm_triage.classifier")]:
            for attribute, value in list(vars(module).items()):
                if value is clock:
                    monkeypatch.setattr(module, attribute, read)


def test_the_clocks_of_the_classifier_are_those_that_pause(pausing):
    """Also where a module took one by its name."""
    from vllm_triage.classifier.matching import bounded

    assert time.thread_time is vars(bounded)["thread_time"]
    assert len({time.perf_counter() for _ in range(9)}) == 9


def test_pauses_change_no_answer(pausing, quiet):
    """Facts, stages, evidence, notes: byte for byte."""
    triage = Triage()

    assert [] == [name for name, log in sample(LOGS, 3) if answer(triage, log) != quiet[name]]


@pytest.mark.slow
def test_threads_change_no_answer(quiet):
    """One engine, used by many threads at once that take turns as often as they can."""
    triage = Triage()
    often = sys.getswitchinterval()

    def different(seed: int) -> list[str]:
        logs = random.Random(seed).sample(LOGS, len(LOGS))
        return [name for _ in range(ROUNDS) for name, log in logs if answer(triage, log) != quiet[name]]

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as threads:
            wrong = [name for names in threads.map(different, range(THREADS)) for name in names]
    finally:
        sys.setswitchinterval(often)

    assert [] == wrong


def test_no_decision_asks_the_clock():
    """The one reading of a clock is that of the thread's own work, where a search is about to be given up.

    (A handler within the process writes the time into the line that it makes of an exception, as every handler does.)
    """
    folder = CORPUS.parent / "classifier"
    asking = re.compile(r"^\s*(?:from time import|import time\b|from datetime|import datetime)", re.MULTILINE)
    found = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*.py"))
        if asking.search(path.read_text(encoding="utf-8"))
    ]

    assert ["in_process/handler.py", "matching/bounded.py"] == found
