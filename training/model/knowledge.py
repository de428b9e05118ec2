"""Rows from the rule files: their examples, texts drawn from their patterns, counter-examples and healthy lines."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from ...corpus.compiler import read_bucket
from ...corpus.schema import Bucket, Rule
from .expand import draw
from .rows import Row

WEIGHTS = {"certain": 1.5, "strong": 1.5, "weak": 0.8, "guess": 0.5}
DRAWN = 4
"""Texts drawn from each pattern."""
_NEWER = re.compile(r">=?\s*([\d.]+)")


def rule_rows(buckets: list[Bucket], seed: random.Random) -> Iterator[Row]:
    """Yield the rows of all rule files (``facts`` and ``no_failure`` included: lines of healthy logs)."""
    for bucket in buckets:
        for rule in bucket.rule:
            yield from _rows(bucket.id, rule, seed)


def _rows(bucket: str, rule: Rule, seed: random.Random) -> Iterator[Row]:
    if rule.role in ("fact", "benign", "teardown", "advice"):
        label, origin, weight = "no_failure", "healthy", 0.7
    else:
        label, origin, weight = bucket, "rule", WEIGHTS[rule.strength] * (1.0 if rule.role == "cause" else 0.8)
    group = f"{bucket}/{rule.id}"
    stage = rule.stages[0] if rule.stages else ""
    newer = _NEWER.search(rule.versions)
    release = newer.group(1) if newer else ""
    for text in rule.match:
        yield Row(text.strip("\n"), label, group, origin, release, stage, weight)
    if origin == "rule":
        for text in _drawn(rule, seed):
            yield Row(text, label, group, origin, release, stage, weight * 0.5)
    if bucket != "facts":
        # What a rule must not fire on may be healthy or another failure; the level tells the former.
        for text in rule.reject:
            if text.startswith(("INFO ", "DEBUG ", "WARNING ")) and "Error" not in text:
                yield Row(text.strip("\n"), "no_failure", group, "reject", release, "", 0.7)


def _drawn(rule: Rule, seed: random.Random) -> list[str]:
    if rule.pattern:
        return [" ".join(text.split()) for text in draw(rule.pattern, DRAWN, seed)]
    kinds = draw(rule.exception, DRAWN, seed) if rule.exception else ["RuntimeError"]
    messages = draw(rule.message, DRAWN, seed) if rule.message else [""]
    frames = (
        [_frame(text) for text in draw(rule.frames or rule.innermost, DRAWN, seed)]
        if rule.frames or rule.innermost
        else [""]
    )
    if not (kinds and messages and frames):
        return []
    return [
        f"{seed.choice(frames)}{seed.choice(kinds).rpartition('.')[2]}: {seed.choice(messages)}".rstrip(": ")
        for _ in range(DRAWN)
    ]


def _frame(text: str) -> str:
    """Return the traceback that ends in what a rule's expression on frames draws."""
    lines = ["Traceback (most recent call last):"]
    for piece in text.splitlines():
        path, _, rest = piece.partition(":")
        function, _, code = rest.partition(":")
        path = path.strip("/. ") or "vllm/v1/worker/gpu_worker.py"
        path = path if path.endswith(".py") else f"{path.rstrip('/')}/core.py"
        lines.append(f'  File "/opt/venv/lib/python3.12/site-packages/{path}", line 64, in {function.strip() or "run"}')
        if code.strip():
            lines.append(f"    {code.strip()}")
    return "\n".join(lines) + "\n"


def read_buckets(corpus: Path) -> list[Bucket]:
    """Read the rule files of the corpus folder."""
    return [read_bucket(path) for path in [*sorted((corpus / "buckets").glob("*.toml")), corpus / "facts.toml"]]
