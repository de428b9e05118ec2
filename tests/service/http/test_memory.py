"""Memory is given back after a storm."""

from __future__ import annotations

import asyncio

import pytest

from vllm_triage.service.http import memory


def test_what_was_freed_is_given_back_once_the_process_has_grown(monkeypatch):
    """And not before: looking costs nothing, giving back a moment of everybody's time."""
    # Before; then at every look, and once more after that; after giving back twice.
    sizes = iter([100, 105, 105, 120, 90, 90, 99, 99, 101, 80, 80])
    trimmed: list[int] = []
    monkeypatch.setattr(memory, "resident", lambda: next(sizes))
    monkeypatch.setattr(memory, "trimmer", lambda: trimmed.append)

    with pytest.raises(RuntimeError):
        asyncio.run(memory.give_back(0, 10))
    assert 2 == len(trimmed)
    assert [] == list(sizes)


@pytest.mark.skipif(memory.trimmer() is None, reason="does not apply: no glibc")
def test_the_system_says_how_much_it_is():
    assert 1 << 20 < memory.resident() < 1 << 40
