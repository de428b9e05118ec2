"""Starts that no rule names, held in bounded memory: what is counted stays what it was."""

from __future__ import annotations

from vllm_triage.training.harvest.clusters import clusters
from vllm_triage.training.harvest.condense import condensed
from vllm_triage.training.harvest.unnamed import Unnamed


def start(number: int, line: str = "RuntimeError: berth {} is closed", **more: object) -> Unnamed:
    """Return a start of a log of its own."""
    given = {
        "id": f"{number}-1", "log": str(number), "source": f"{number}.log", "day": f"2026-11-{1 + number % 28:02}",
        "release": "0.19.1", "bucket": "unknown", "nearest": "lora", "line": line.format(number), "level": "ERROR", **more,
    }  # fmt: skip
    return Unnamed(**given)  # type: ignore[arg-type]


def test_what_is_not_kept_is_counted() -> None:
    """Logs, starts, days, releases and the nearest bucket are those of all starts."""
    found = [
        start(number, release=f"0.{number % 2}", day="" if number == 50 else f"2026-11-{1 + number % 28:02}")
        for number in range(100)
    ]
    whole, small = clusters(found)[0], clusters(condensed(found, kept=3).starts)[0]
    assert len(small.members) == 8
    told = ("id", "logs", "starts", "first", "last", "releases", "nearest")
    assert [getattr(small, name) for name in told] == [getattr(whole, name) for name in told]


def test_a_crash_loop_stays_one_log() -> None:
    """However many of its starts are kept."""
    loop = [start(1, id=f"1-{number}") for number in range(50)]
    small = condensed(loop, kept=3).starts
    assert sum(item.starts for item in small) == 50
    assert clusters(small) == []
    assert clusters(small, least=1)[0].logs == 1


def test_what_a_rule_fits_counts_starts_that_are_not_kept() -> None:
    """A proposal says how many starts it speaks for."""
    from vllm_triage.corpus.store import load
    from vllm_triage.training.harvest.propose import propose

    found = condensed(
        [start(number, "RuntimeError: the harbor plugin refused berth {}") for number in range(40)], kept=3
    )
    (cluster,) = clusters(found.starts)
    assert propose(cluster, [cluster], load()).covers == 40


def test_rare_kinds_are_given_up_before_frequent_ones() -> None:
    """Noise does not fill the memory, and what was left out is told."""
    words = [f"{first}{second}" for first in "abcdefgh" for second in "klmnop"]
    noise = [start(1000 + number, f"OSError: {word} {word[::-1]}") for number, word in enumerate(words)]
    often = [start(number) for number in range(5)]
    found = condensed([*often, *noise], piles=10)
    assert {item.log for item in often} <= {item.log for item in found.starts}
    assert len(found.starts) <= 5 + 10
    assert found.given_up == len(often) + len(noise) - len(found.starts)
