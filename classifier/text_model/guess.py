"""Asks the text model: what it takes the log of an incident for, how sure it is, and which lines it goes by.

On top of the model that is shipped there may be one that a user trained from logs of their own. It knows the user's
buckets and 'none of these'. Where it is sure, its answer is taken; else the shipped model answers as if it were alone.
"""

# Importing pathlib would cost more than reading the model.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping

from ...corpus.records import Mutable, field, record
from ..errors import InputError
from ..incidents.types import Incident
from ..lines.types import Evidence, Line
from . import ask as text_model
from .features import judged
from .shipped import TextModel
from .user import OwnModel, read_own

SHOWN, ASKED = 3, 24
"""Lines of evidence shown; terms asked for to find them."""
_KINDS = {
    "w": "word", "b": "words", "k": "exception", "i": "module", "ip": "module", "if": "function", "n": "frame",
    "o": "package", "of": "package", "c": "code", "l": "level", "src": "source", "s": "stage", "f": "frames",
}  # fmt: skip


@record(slots=True)
class Guess(Mutable):
    """What the model makes of an incident."""

    ranked: list[tuple[str, float]]
    """All buckets with their calibrated probabilities, likeliest first."""
    threshold: float
    """Probability from which on the model that decided answers where it is asked alone."""
    own: bool
    """Whether a model that the user trained decided."""
    terms: set[str]
    """All terms of the incident, as the model reads them."""
    reasons: list[tuple[str, float, int]] = field(default_factory=list)
    """Terms that spoke most for the first bucket: (term, weight, line)."""
    evidence: list[Evidence] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    """Parts of the code in which the stack of an exception of unknown words ends, where these counted as well."""
    cause: str = ""
    """The cause that they stand for within the first bucket; "" where they tell none."""

    @property
    def bucket(self) -> str:
        """The likeliest bucket."""
        return self.ranked[0][0]

    @property
    def probability(self) -> float:
        """Its probability."""
        return self.ranked[0][1]

    def described(self) -> str:
        """Return in one line what decided, for those who ask why."""
        terms = ", ".join(f"{spoken(term)} {weight:+.2f} (line {line})" for term, weight, line in self.reasons[:6])
        whose = "your model" if self.own else "text model"
        ranked = ", ".join(f"{bucket} {share:.2f}" for bucket, share in self.ranked[:4])
        frames = f"; with the stack, which ends in {', '.join(self.frames)}" if self.frames else ""
        return f"{whose}: {ranked}; decided by {terms or 'no single term'}{frames}"


class Guesser:
    """The model to ask, for any number of logs and from any thread.

    Args:
        folder: A model made by ``vllm-triage train``; "" asks the shipped one alone.
        alone: Whether rules are silent.

    Raises:
        InputError: There is no model in the folder, or it cannot be read; or ``alone``, and there is none at all.
    """

    def __init__(self, folder: str = "", alone: bool = False) -> None:
        self.alone = alone
        self._whole: TextModel | None = None
        """A model that stands in for the shipped one (``python -m vllm_triage.training.text_model train``)."""
        self._own: OwnModel | None = None
        if folder:
            self._read(folder)
        elif alone and (problem := text_model.problem()):
            raise InputError(problem)

    def _read(self, folder: str) -> None:
        try:
            if os.path.exists(os.path.join(folder, "text.json")):  # noqa: PTH110
                self._whole = text_model.read_model(folder)
            else:
                self._own = read_own(folder)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"model {folder}: {reason} (vllm-triage train … --out FOLDER makes one)") from None
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise InputError(f"model {folder} cannot be read: {error}; train it anew") from None

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the buckets that only the user's model knows."""
        return self._own.titles if self._own is not None else {}

    @property
    def own_buckets(self) -> frozenset[str]:
        """Buckets of the model in the folder."""
        model = self._own or self._whole
        return frozenset(model.buckets if model is not None else ())

    def ask(self, incident: Incident, errors: list[Line], tail: Iterable[Line] = ()) -> Guess | None:
        """Return what the model makes of an incident; None where there is nothing to judge, or no model.

        Args:
            incident: For its exceptions and the stage reached.
            errors: Its logged errors.
            tail: The log's last lines, judged where there is neither exception nor logged error, and no healthy end.
        """
        traces, lines = judged(incident, errors, tail)
        parts = text_model.units(traces, lines, incident.reached)
        if not parts:
            return None
        model = self._whole or text_model._load()[0]  # noqa: SLF001 (the same package)
        ranked: list[tuple[str, float]] = []
        threshold = 2.0
        if model is not None:
            ranked, threshold = model.together(parts), model.threshold
        own, root = False, 0
        if self._own is not None:
            mine, left, root = self._own.ask([part.terms for part in parts])
            # Only where it is sure does it count: it has seen little.
            own = max(mine.values()) >= self._own.threshold
            ranked, threshold = (mixed(ranked, mine, left), self._own.threshold) if own else (ranked, threshold)
        if not ranked:
            return None
        guess = Guess(ranked, threshold, own, {term for part in parts for term in part.terms})
        if own and self._own is not None and guess.bucket in self._own.buckets:
            guess.reasons = self._own.reasons(parts[root].terms, guess.bucket)[:ASKED]
        elif model is not None:
            guess.reasons = model.reasons(parts, guess.bucket)[:ASKED]
        guess.evidence = _lines(guess.reasons, incident, lines)
        return guess


def mixed(base: list[tuple[str, float]], own: Mapping[str, float], left: float) -> list[tuple[str, float]]:
    """Return the probabilities of both models together, likeliest first.

    Args:
        base: What the shipped model says.
        own: What the user's model says of its buckets.
        left: What it leaves to 'none of these', which is shared out as the shipped model says.
    """
    both = {bucket: left * share for bucket, share in base} or {"unknown": left}
    for bucket, share in own.items():
        both[bucket] = both.get(bucket, 0.0) + share
    return sorted(both.items(), key=lambda item: (-item[1], item[0]))


def spoken(term: str) -> str:
    """Return a term as people read it."""
    kind, _, text = term.partition(":")
    return f"{_KINDS.get(kind, kind)} '{text or term}'"


def _lines(reasons: list[tuple[str, float, int]], incident: Incident, errors: list[Line]) -> list[Evidence]:
    """Return the lines on which the terms stand that decided, the weightiest first.

    Where that is a frame, the words of its exception go before it: they are what people look for.
    """
    total: dict[int, float] = {}
    for _, weight, number in reasons:
        total[number] = total.get(number, 0.0) + weight
    texts: dict[int, tuple[str, str]] = {line.number: (line.raw or line.text, line.process) for line in errors}
    raised: dict[int, int] = {}
    wanted = total.keys() | {trace.number for trace in incident.traces}
    for trace in incident.traces:
        for frame in trace.frames:
            if frame.line not in wanted and frame.code_line not in wanted:
                continue
            texts.setdefault(frame.line, (frame.raw, trace.process))
            texts.setdefault(frame.code_line, (frame.code_raw, trace.process))
            raised[frame.line] = raised[frame.code_line] = trace.number
        texts.setdefault(trace.number, (trace.raw or trace.text, trace.process))
    found = sorted(total, key=lambda number: (-total[number], number))
    ordered = dict.fromkeys(item for number in found[:1] for item in (raised.get(number, number), number))
    ordered.update(dict.fromkeys(found))
    shown = [number for number in ordered if texts.get(number, ("", ""))[0]]
    return [Evidence(number, *texts[number], "model") for number in shown[:SHOWN]]
