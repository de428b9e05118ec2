"""The text model: guesses a bucket from words and places where no rule speaks, and says how sure it is.

A linear model, trained by ``training/model`` with scikit-learn and read here from a compact file by plain Python. A log
is taken apart into units (an exception, or a logged error); each is scored by itself, then they are weighed together.
"""

# Importing pathlib would cost more than reading the model.
# ruff: noqa: PTH100, PTH118, PTH120, PTH123

from __future__ import annotations

import math
import os
import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import Any

from .lazy import LazyPattern
from .model import Evidence, Frame, Line, Trace

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus", "model")
FORMAT = 1
"""Number of the file's layout; raise it with every change of it, and of the terms."""

THRESHOLD: float
"""Probability from which on the first bucket may be answered (2.0, never reached, where there is no model)."""

TEXT = 700
"""Characters of a message that are looked at."""
INNER = 8
"""Innermost frames of vLLM's that are looked at."""
TRACES, LINES = 8, 8
"""Units of each kind that are looked at."""
DECAY = 0.7
"""What a later unit counts for against the one before it."""
YIELD = {"engine_dead": 1.0, "no_failure": 1.0, "worker_died": 0.6, "mqllmengine_stall": 0.5, "unknown": 0.3}
"""Buckets that give way: their words are said about, or after, a fault that other words name."""

_VALUES = LazyPattern(
    r"(?P<url>\w+://[^\s'\",)]+)|(?P<path>(?:[~.]|[A-Za-z]:)?(?:[/\\][\w.@+\-]+){2,}[/\\]?)|(?P<hex>\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b)"
    r"|(?P<id>\b[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*\b)|(?P<figure>(?<![A-Za-z_0-9])[-+]?\d[\d.,:]*)"
)
_WORDS = LazyPattern(r"<[a-z]+>|--?[a-z][\w\-]+|[A-Za-z_][\w.]*\w|[A-Za-z]")
_PARTS = LazyPattern(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|[a-z]+\d+")
_OURS = LazyPattern(r"(?:^|.*/)(?:vllm|vllm_[a-z]+)/(?=[\w/]+\.py)")


class Unit:
    """One exception or logged error: its terms, each with the line that it stands on."""

    __slots__ = ("line", "terms")

    def __init__(self, line: int) -> None:
        self.line = line
        self.terms: dict[str, int] = {}

    def add(self, term: str, line: int = 0) -> None:
        """Note a term; its first line counts."""
        self.terms.setdefault(term, line or self.line)


def predict(traces: list[Trace], errors: list[Line], stage: str = "") -> list[tuple[str, float]]:
    """Return the buckets with their calibrated probabilities, likeliest first.

    Args:
        traces: The exceptions of one incident.
        errors: Its logged errors; where there are neither, :func:`notable` lines of the log's end.
        stage: The start-up stage reached.

    Returns:
        All buckets that the model knows; nothing where there is nothing to judge, or no model (:func:`problem` tells).
    """
    model = _load()[0]
    parts = units(traces, errors, stage)
    if model is None or not parts:
        return []
    return model.together(parts)


def explain(
    traces: list[Trace], errors: list[Line], stage: str = "", bucket: str = "", most: int = 8
) -> list[tuple[str, float, int]]:
    """Return the terms that spoke most for ``bucket`` (else the likeliest): (term, weight, line of the log)."""
    model = _load()[0]
    parts = units(traces, errors, stage)
    if model is None or not parts:
        return []
    bucket = bucket or model.together(parts)[0][0]
    return model.reasons(parts, bucket)[:most] if bucket in model.buckets else []


def evidence(traces: list[Trace], errors: list[Line], stage: str = "", bucket: str = "") -> list[Evidence]:
    """Return the lines on which the terms stand that spoke for ``bucket``, the weightiest line first."""
    total: dict[int, float] = {}
    for _, weight, number in explain(traces, errors, stage, bucket, most=24):
        total[number] = total.get(number, 0.0) + weight
    texts: dict[int, tuple[str, str]] = {line.number: (line.raw or line.text, line.process) for line in errors}
    for trace in traces:
        for frame in trace.frames:
            texts.setdefault(frame.line, (frame.raw, trace.process))
            texts.setdefault(frame.code_line, (frame.code_raw, trace.process))
        texts.setdefault(trace.number, (trace.raw or trace.text, trace.process))
    found = sorted(
        (number for number in total if texts.get(number, ("", ""))[0]), key=lambda item: (-total[item], item)
    )
    return [Evidence(number, *texts[number], "model") for number in found[:3]]


def problem() -> str:
    """Return why there is no model to ask; "" where there is one."""
    return _load()[1]


def notable(tail: Iterable[Line], most: int = LINES) -> list[Line]:
    """Return the last lines that may tell of a failure, last first: for logs without exception and logged error."""
    lines = [line for line in tail if line.level not in ("INFO", "DEBUG") and len(line.text.strip()) > 8]
    return lines[: -most - 1 : -1]


def units(traces: list[Trace], errors: list[Line], stage: str = "") -> list[Unit]:
    """Return what a log is judged by, the likeliest root first: exceptions, then errors that stand beside them."""
    ordered = sorted(
        (trace for trace in traces if not trace.logging_error and (trace.kind or trace.frames)),
        key=lambda trace: (trace.raised_from is not None, trace.number),
    )
    parts = [_of_trace(trace, stage) for trace in ordered[:TRACES]]
    told = {number for trace in traces for number in range(trace.first, max(trace.last, trace.number) + 1)}
    beside = [line for line in errors if line.number not in told and not line.text.startswith("Traceback (most")]
    parts += [_of_line(line, stage) for line in beside[:LINES]]
    return [part for part in parts if part.terms]


def _of_trace(trace: Trace, stage: str) -> Unit:
    unit = Unit(trace.number)
    if trace.kind:
        unit.add(f"k:{trace.kind}")
    _add_words(unit, trace.message)
    ours = [(frame, found) for frame in trace.frames if (found := _OURS.match(frame.path))]
    for depth, (frame, found) in enumerate(reversed(ours[-INNER:])):
        _add_frame(unit, frame, frame.path[found.end() :], innermost=depth == 0)
    if trace.frames:
        last = trace.frames[-1]
        if not ours or last is not ours[-1][0]:
            # Raised in another package: which one, and where.
            parts = [part for part in last.path.split("/") if part][-3:]
            unit.add(f"o:{last.path.lstrip('/').partition('/')[0]}", last.line)
            for part in (*parts[-2:], last.function):
                unit.add(f"of:{part}", last.line)
        if not ours:
            unit.add("f:none")
        for word in _WORDS.findall(last.code[:200]):
            unit.add(f"c:{word}", last.code_line or last.line)
    if stage:
        unit.add(f"s:{stage}")
    return unit


def _add_frame(unit: Unit, frame: Frame, path: str, innermost: bool) -> None:
    function = frame.function.rpartition(".")[2]
    steps = path.removesuffix(".py").split("/")
    if innermost:
        for count in range(1, len(steps) + 1):
            unit.add("i:" + "/".join(steps[:count]), frame.line)
        for part in steps[-1].split("_"):
            unit.add(f"ip:{part}", frame.line)
        unit.add(f"if:{function}", frame.line)
    unit.add(f"n:{function}", frame.line)
    unit.add(f"n:{steps[-1]}", frame.line)


def _of_line(line: Line, stage: str) -> Unit:
    unit = Unit(line.number)
    unit.add(f"l:{line.level or 'bare'}")
    if line.source:
        name = line.source.partition(":")[0].removesuffix(".py")
        unit.add(f"src:{name}")
        for part in name.replace("/", "_").split("_"):
            unit.add(f"ip:{part}")
    _add_words(unit, line.text)
    if stage:
        unit.add(f"s:{stage}")
    return unit


def _add_words(unit: Unit, text: str) -> None:
    plain = _VALUES.sub(lambda found: f" <{found.lastgroup}> ", text[:TEXT])
    before = ""
    for word in _WORDS.findall(plain):
        lowered = word.lower().strip("_.-")
        unit.add(f"w:{lowered}")
        if before:
            unit.add(f"b:{before} {lowered}")
        before = lowered
        if "_" in word or "-" in word or "." in word or not (word.islower() or word.isupper() or word.istitle()):
            for part in _PARTS.findall(word):
                unit.add(f"w:{part.lower()}")


class TextModel:
    """The model as it lies in its file: nothing of it is unpacked before a term asks for its row."""

    def __init__(self, data: bytes, about: dict[str, Any]) -> None:
        self.buckets: list[str] = about["buckets"]
        self.threshold = float(about["threshold"])
        self.temperature = float(about["temperature"])
        count, width = int(about["terms"]), len(self.buckets)
        self.keys, self.rarity = array("I"), array("f")
        self.keys.frombytes(data[: 4 * count])
        self.rarity.frombytes(data[4 * count : 8 * count])
        if sys.byteorder == "big":
            self.keys.byteswap()
            self.rarity.byteswap()
        self.unseen = float(about["unseen"])
        """Rarity of a term that the model does not know: it makes the known ones count for less."""
        self.intercept = struct.unpack_from(f"<{width}f", data, 8 * count)
        self._rows = struct.Struct(f"<{width}e")
        self._start = 8 * count + 4 * width
        self._data = data
        if len(data) != self._start + count * self._rows.size or struct.calcsize("I") != 4:
            raise ValueError("the file has another size than its description says")

    def vector(self, unit: Unit) -> list[tuple[int, float, str, int]]:
        """Return the known terms of a unit: (row, value, term, line)."""
        squares = 0.0
        known = []
        for term, line in unit.terms.items():
            key = zlib.crc32(term.encode())
            row = bisect_left(self.keys, key)
            if row < len(self.keys) and self.keys[row] == key:
                value = self.rarity[row]
                known.append((row, value, term, line))
            else:
                value = self.unseen
            squares += value * value
        norm = math.sqrt(squares) or 1.0
        return [(row, value / norm, term, line) for row, value, term, line in known]

    def row(self, index: int) -> tuple[float, ...]:
        """Return the weights of a term for all buckets."""
        return self._rows.unpack_from(self._data, self._start + index * self._rows.size)

    def logits(self, unit: Unit) -> list[float]:
        """Return the scores of one unit for all buckets."""
        scores = list(self.intercept)
        for index, value, _, _ in self.vector(unit):
            scores = [score + value * weight for score, weight in zip(scores, self.row(index), strict=True)]
        return scores

    def probabilities(self, logits: list[float]) -> list[float]:
        """Return calibrated probabilities."""
        top = max(logits)
        powers = [math.exp((value - top) / self.temperature) for value in logits]
        total = sum(powers)
        return [value / total for value in powers]

    def together(self, parts: list[Unit]) -> list[tuple[str, float]]:
        """Weigh the units of a log: roots before what came after, faults before the wrappers that speak of them."""
        scores = [self.logits(part) for part in parts]
        weights = self.weights(scores)
        joint = [
            sum(weight * score[index] for weight, score in zip(weights, scores, strict=True))
            for index in range(len(self.buckets))
        ]
        order = zip(self.buckets, self.probabilities(joint), strict=True)
        return sorted(order, key=lambda item: (-item[1], item[0]))

    def weights(self, scores: list[list[float]]) -> list[float]:
        """Return what each unit counts for; the sum is 1."""
        weights = []
        for rank, score in enumerate(scores):
            chances = self.probabilities(score)
            yields = sum(YIELD.get(bucket, 0.0) * chance for bucket, chance in zip(self.buckets, chances, strict=True))
            weights.append(DECAY**rank * (1.02 - min(1.0, yields)))
        total = sum(weights)
        return [weight / total for weight in weights]

    def reasons(self, parts: list[Unit], bucket: str) -> list[tuple[str, float, int]]:
        """Return the terms that spoke for a bucket, against the mean of all buckets, weightiest first."""
        index = self.buckets.index(bucket)
        found: dict[tuple[str, int], float] = {}
        for weight, part in zip(self.weights([self.logits(part) for part in parts]), parts, strict=True):
            for row, value, term, line in self.vector(part):
                told = self.row(row)
                points = weight * value * (told[index] - sum(told) / len(told))
                if points > 0:
                    found[term, line] = found.get((term, line), 0.0) + points
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [(term, round(points, 4), line) for (term, line), points in ordered]


def read_model(folder: str) -> TextModel:
    """Read the model in ``folder``.

    Raises:
        OSError: A file is missing.
        ValueError: It is damaged, or of another layout.
    """
    import hashlib
    import json

    with open(os.path.join(folder, "text.json"), encoding="utf-8") as file:
        about = json.load(file)
    if about.get("format") != FORMAT:
        raise ValueError(f"its layout is {about.get('format')}, this release reads {FORMAT}")
    with open(os.path.join(folder, "text.bin"), "rb") as binary:
        data = binary.read()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise ValueError("its SHA-256 is not the one that was written with it")
    return TextModel(data, about)


@cache
def _load() -> tuple[TextModel | None, str]:
    """Return the model, or why there is none: read once, when first asked."""
    try:
        return read_model(FOLDER), ""
    except OSError as error:
        return None, f"no text model: {error.strerror or error} (vllm_triage/corpus/model)"
    except (ValueError, KeyError, TypeError, struct.error) as error:
        return None, f"the text model is damaged: {error}; install vllm-triage anew"


def __getattr__(name: str) -> float:
    if name == "THRESHOLD":
        model = _load()[0]
        return model.threshold if model is not None else 2.0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
