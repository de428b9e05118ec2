"""What life does to a log: cut above, cut below, reworded, frames without a message, other names and figures."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from ....corpus.stages import STAGES
from ...examples.row import Row
from .stacks import above, below

_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_NAME = re.compile(r"\bexample\b")
_FINAL = re.compile(r"^(?P<kind>(?:\w+\.)*[A-Z]\w+): (?P<message>.+)$", re.MULTILINE | re.DOTALL)
_HEAD = "Traceback (most recent call last):\n"
_NAMES = (
    "Qwen/Qwen2.5-7B-Instruct", "llama", "bfloat16", "model.layers.3.mlp", "fp8", "None", "/data/models/harbor",
    "cuda", "auto",
)  # fmt: skip
_WRAPPED = ("RuntimeError", "ValueError", "Exception")
_SYNONYMS = {
    "not supported": "unsupported",
    "is not supported": "cannot be used",
    "cannot": "can not",
    "must be": "has to be",
    "should be": "must be",
    "failed to": "could not",
    "does not": "doesn't",
    "Please": "You should",
    "found": "detected",
    "invalid": "bad",
    "Invalid": "Illegal",
    "Unsupported": "Not supported:",
    "greater": "larger",
    "less than": "below",
    "larger than": "greater than",
    "expected": "wanted",
    "requires": "needs",
    "unable to": "failed to",
    "missing": "absent",
}


_WRAPPINGS = (
    "vllm-1  | {line}",
    "2026-11-02T10:00:00.{n}Z stderr F {line}",
    "Nov 02 10:00:00 node1 vllm[{n}]: {line}",
    "(EngineCore_DP0 pid={n}) ERROR 11-02 10:00:00 [core.py:{n}] {line}",
    "(VllmWorker rank=1 pid={n}) ERROR 11-02 10:00:00 [multiproc_executor.py:{n}] {line}",
    "\x1b[36m(RayWorkerWrapper pid={n}, ip=10.0.0.2)\x1b[0m {line}",
)
"""What others, and vLLM's own processes, put in front of each line."""


FEW = 2
"""Variants of a message of the sources: there are so many of them that each needs few."""


def variants(row: Row, seed: random.Random) -> Iterator[Row]:
    """Yield a row and what life makes of it; the same seed yields the same rows."""
    yield _staged(row, row.text, 1.0, seed)
    if row.origin in ("healthy", "other", "reject"):
        return
    made = list(_altered(row, seed))
    if row.origin == "release" and len(made) > FEW:
        share = len(made) / FEW
        made = [replace(item, weight=round(item.weight * share, 4)) for item in seed.sample(made, FEW)]
    yield from made


def _altered(row: Row, seed: random.Random) -> Iterator[Row]:
    if seed.random() < 0.2:
        yield _staged(row, _wrapped(row.text, seed), 0.3, seed)
    if "\n" in row.text and seed.random() < 0.15:
        yield _staged(row, _pasted(row.text, seed), 0.3, seed)
    final = _FINAL.search(row.text)
    has_stack = row.text.startswith("Traceback") and final is not None
    if final is not None and has_stack:
        yield _staged(row, row.text[final.start() :], 0.5, seed)
        if final.start() > 40:
            yield _staged(row, row.text[: final.start()], 0.4, seed)
        yield _staged(
            row, row.text[: final.start()] + f"{seed.choice(_WRAPPED)}: {_lived(final['message'], seed)}", 0.4, seed
        )
    if final is not None:
        message = _reworded(_lived(final["message"], seed), seed)
        yield _staged(row, f"{row.text[: final.start()]}{final['kind']}: {message}", 0.5, seed)
        yield _staged(row, f"{final['kind']}: {_cut(message, seed)}", 0.3, seed)
        # Logged rather than raised: one line of the engine's logger.
        yield _staged(
            row, f"ERROR 11-02 10:00:00 [core.py:{seed.randint(1, 999)}] {final['kind']}: {message}", 0.3, seed
        )
        frames = row.text.count('\n  File "')
        if frames > 2:
            for _ in range(2):
                yield _staged(row, _cut_above(row.text, seed.randint(1, frames - 1)), 0.4, seed)
        elif not (has_stack and row.origin == "rule"):
            # Where a rule's example shows a stack, the stack tells the fault: it keeps its own.
            for _ in range(2):
                yield _staged(row, _with_stack(row.text, final, has_stack, seed), 0.4, seed)
    elif not has_stack:
        yield _staged(row, f"{_HEAD}{above(seed)}{below(seed)}RuntimeError: {_lived(row.text, seed)}", 0.3, seed)
        yield _staged(row, _reworded(_lived(row.text, seed), seed), 0.5, seed)


def _with_stack(text: str, final: re.Match[str], has_stack: bool, seed: random.Random) -> str:
    """Return an exception with the frames above it that it has in a whole log."""
    tail = f"{final['kind']}: {_lived(final['message'], seed)}"
    if has_stack:
        return f"{_HEAD}{above(seed)}{text[len(_HEAD) : final.start()]}{tail}"
    return f"{_HEAD}{above(seed)}{below(seed)}{tail}"


def _cut_above(text: str, frames: int) -> str:
    """Return a traceback without its outermost frames."""
    pieces = text.split('\n  File "')
    return '\n  File "'.join([pieces[0], *pieces[1 + frames :]])


def _staged(row: Row, text: str, share: float, seed: random.Random) -> Row:
    # Where the stage tells the fault it is given; else any, so that the model learns to lean on it lightly.
    stage = row.stage if row.stage and seed.random() < 0.7 else (seed.choice(STAGES) if seed.random() < 0.3 else "")
    return replace(row, text=text, stage=stage, weight=round(row.weight * share, 4))


def _wrapped(text: str, seed: random.Random) -> str:
    prefix, number = seed.choice(_WRAPPINGS), str(seed.randint(100, 999))
    return "\n".join(prefix.replace("{n}", number).replace("{line}", line) for line in text.splitlines())


def _pasted(text: str, seed: random.Random) -> str:
    """Return what a form or a chat leaves of some lines: no newlines, or no indentation."""
    lines = [line.strip() for line in text.splitlines()]
    return seed.choice((" ", "\n", "\n")).join(lines)


def _lived(text: str, seed: random.Random) -> str:
    text = _NAME.sub(lambda _: seed.choice(_NAMES), text)
    return _FIGURE.sub(lambda _: str(seed.choice((0, 1, 2, 8, 64, 4096, 131072, "0.35"))), text)


def _reworded(text: str, seed: random.Random) -> str:
    for old, new in _SYNONYMS.items():
        if old in text and seed.random() < 0.5:
            text = text.replace(old, new)
    words = text.split(" ")
    kept = [word for word in words if len(words) < 6 or seed.random() > 0.08]
    return " ".join(kept)


def _cut(text: str, seed: random.Random) -> str:
    words = text.split(" ")
    if len(words) < 8:
        return text
    half = seed.randint(len(words) // 2, len(words) - 1)
    return " ".join(words[:half] if seed.random() < 0.6 else words[len(words) - half :])
