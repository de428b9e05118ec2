"""The text model: guesses a bucket from words and places where no rule speaks, and says how sure it is.

A linear model, trained by ``training/text_model`` with scikit-learn and read here from a compact file by plain Python. A log
is taken apart into units (an exception, or a logged error); each is scored by itself, then they are weighed together.
"""

# Importing pathlib would cost more than reading the model.
# ruff: noqa: PTH100, PTH118, PTH120

from __future__ import annotations

import os
import struct
from functools import cache

from ..lines.types import Evidence, Line, Trace
from .features import Unit, judged, notable, units
from .shipped import FORMAT, TextModel, read_model

__all__ = (
    "FOLDER", "FORMAT", "THRESHOLD", "TextModel", "Unit", "evidence", "explain", "judged", "notable", "predict",
    "problem", "read_model", "units",
)  # fmt: skip

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "corpus", "model")

THRESHOLD: float
"""Probability from which on the first bucket may be answered (2.0, never reached, where there is no model)."""


def predict(traces: list[Trace], errors: list[Line], stage: str = "") -> list[tuple[str, float]]:
    """Return the buckets with their calibrated probabilities, likeliest first.

    Args:
        traces: The exceptions of one incident that :func:`judged` leaves.
        errors: Its logged errors, likewise; where there are neither, :func:`notable` lines of the log's end.
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
