"""The collector of cycles runs after loading if it ran before, whatever happened."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from vllm_triage.corpus.gc_pause import Paused


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Leave the collector of this process alone."""
    ran = gc.isenabled()
    yield
    (gc.enable if ran else gc.disable)()


@pytest.mark.parametrize("ran", [True, False])
def test_it_is_as_it_was(ran: bool) -> None:
    """A program that has switched it off keeps it off."""
    (gc.enable if ran else gc.disable)()

    with Paused():
        within = gc.isenabled()

    assert (within, gc.isenabled()) == (False, ran)


def test_an_error_lets_it_go_on() -> None:
    """A broken table is no reason to leave a program without it."""
    gc.enable()

    with pytest.raises(ValueError, match="broken"), Paused():
        raise ValueError("broken")

    assert gc.isenabled()
