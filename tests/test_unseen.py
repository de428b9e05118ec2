"""A message that no rule knows is still answered rightly most of the time (``benchmarks/unseen.py`` asks all recorded logs)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.damaged import Log, recorded, written
from tests.hidden import STRANGE, Hider, masked
from vllm_triage.classifier.lines.types import Trace

LOGS = [*written(), *recorded(12)]
TEXT = """(Worker pid=7) ERROR [worker.py:3] Traceback (most recent call last):
(Worker pid=7) ERROR [worker.py:3]   File "/x/acme/cogs.py", line 3, in turn
(Worker pid=7) ERROR [worker.py:3] acme.errors.CogError: the seventh cog is missing
(Worker pid=7) ERROR [worker.py:3]   look in the box
(EngineCore pid=5) RuntimeError: a worker said: the seventh cog is missing
"""


@pytest.fixture(scope="module")
def hider() -> Hider:
    """One for all tests: it reads the model."""
    return Hider()


def test_with_the_rules_of_its_message_hidden_a_failure_is_mostly_named_and_seldom_misnamed(hider: Hider) -> None:
    found = list(hider.answers(LOGS, "message"))
    shares = {name: count / len(found) for name, count in Counter(item.outcome for item in found).items()}

    assert len(found) >= 40
    assert shares["right"] >= 0.8
    assert shares.get("wrong", 0) <= 0.1
    assert shares.get("healthy", 0) <= 0.05


def test_with_all_words_hidden_no_failure_is_called_healthy(hider: Hider) -> None:
    found = list(hider.answers(LOGS, "words"))

    assert len(found) >= 30
    assert not [item.name for item in found if item.outcome == "healthy"]


def test_what_is_hidden_is_gone(hider: Hider) -> None:
    """The rule that decided answers no more."""
    log = Log(
        "cache",
        "ValueError: No available memory for the cache blocks. Try increasing it.\n",
        frozenset({"kv_cache_oom"}),
    )
    (found,) = hider.answers([log], "message")

    assert found.before.startswith("kv_cache_oom/")
    assert "" == found.answer.rule


def test_masked_words_are_gone_everywhere_and_the_frames_stay() -> None:
    trace = Trace(3, 1, "Worker", "CogError", "the seventh cog is missing\nlook in the box", last=4)
    text = masked(TEXT, [trace])

    assert "missing" not in text
    assert "look in the box" not in text
    assert 2 == text.count(STRANGE)
    assert "/x/acme/cogs.py" in text
    assert text.count("\n") == TEXT.count("\n")
