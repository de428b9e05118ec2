"""How long each stage may take: learnt from recorded healthy starts and from the log itself, and adjustable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from ...corpus.stages import STAGES
from ..errors import InputError
from . import limits

LEARNT = Path(__file__).resolve().parents[2] / "corpus" / "patience.json"


class Usual(NamedTuple):
    """How recorded healthy starts went through one stage; seconds."""

    starts: int
    median: float
    nine_of_ten: float
    longest: float
    silence: float
    """The longest time without a line."""


class Patience:
    """Seconds that each stage may be silent.

    Args:
        given: Seconds by stage, as a user gave them; they count as they are.
        factor: What all others are multiplied by.

    Raises:
        InputError: A stage that there is not, or seconds that are none.
    """

    def __init__(self, given: Mapping[str, float] | None = None, factor: float = 1.0) -> None:
        self._given = dict(given or {})
        for stage, seconds in self._given.items():
            if stage not in STAGES:
                raise InputError(f"{stage!r} is not a stage of a start ({', '.join(STAGES)})")
            if not seconds > 0:
                raise InputError(f"patience for {stage} is {seconds:g}: give seconds above 0")
        if not factor > 0:
            raise InputError(f"patience × {factor:g}: give a factor above 0")
        self._factor = factor
        self._learnt = learnt()
        self._own: dict[str, float] = {}

    def of(self, stage: str) -> float:
        """Return the seconds that a stage may be silent; 0 for one that is never judged by time."""
        if stage in self._given:
            return self._given[stage]
        if stage not in limits.FLOOR:
            return 0.0
        if stage in self._own:
            return max(limits.OWN_LEAST, limits.OWN_ROOM * self._own[stage]) * self._factor
        seen = self._learnt[stage].silence if stage in self._learnt else 0.0
        return max(limits.FLOOR[stage], limits.ROOM * seen) * self._factor

    def of_weights(self, gib: float, files: int, step: float) -> float:
        """Return the seconds for which weights may be silent while they are read: nothing is said between two files.

        Args:
            gib: Size of all files; 0 where it is not known.
            files: How many there are.
            step: Seconds that one of them took so far; 0 where none was read yet.
        """
        plain = self.of("weights")
        if "weights" in self._given:
            return plain
        return max(
            plain, self._factor * gib / max(1, files) / limits.SLOWEST_DISK, self._factor * limits.PACE_ROOM * step
        )

    def usual(self, stage: str) -> float:
        """Return the seconds that a stage takes as a rule; 0 where that is not known."""
        if stage in self._own:
            return self._own[stage]
        return self._learnt[stage].nine_of_ten if stage in self._learnt else 0.0

    def took(self, stage: str, seconds: float) -> None:
        """Note how long a stage took in an earlier start of the same log."""
        self._own[stage] = max(seconds, self._own.get(stage, 0.0))


def learnt() -> dict[str, Usual]:
    """Return what recorded healthy starts showed, by stage (``python -m vllm_triage.training.patience`` writes it)."""
    rows = cast("dict[str, dict[str, float]]", json.loads(LEARNT.read_text("utf-8")))
    return {
        stage: Usual(int(row["starts"]), row["median"], row["nine_of_ten"], row["longest"], row["silence"])
        for stage, row in rows.items()
    }


def parse(words: list[str]) -> Patience:
    """Return the patience that a command line asks for: ``weights=900`` sets a stage, ``x2`` multiplies all.

    Raises:
        InputError: It is neither.
    """
    given: dict[str, float] = {}
    factor = 1.0
    for word in words:
        stage, equals, seconds = word.partition("=")
        try:
            if equals:
                given[stage] = float(seconds.removesuffix("s"))
            else:
                factor = float(word.removeprefix("x") if word.startswith("x") else "no factor")
        except ValueError:
            raise InputError(f"patience {word!r}: give STAGE=SECONDS (weights=900) or a factor (x2)") from None
    return Patience(given, factor)
