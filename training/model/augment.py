"""What life does to a log: cut above, cut below, reworded, frames without a message, other names and figures."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ...classifier.model import STAGES
from .rows import Row
from .stacks import above, below

_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_NAME = re.compile(r"\bexample\b")
_FINAL = re.compile(r"^(?P<kind>(?:\w+\.)*[A-Z]\w+): (?P<message>.+)$", re.MULTILINE | re.DOTALL)
_HEAD = "Traceback (most recent call last):\n"
_NAMES = (
    "Qwen/Qwen2.5-7B-Instruct",
    "llama",
    "bfloat16",
    "model.layers.3.mlp",
    "fp8",
    "None",
    "/data/models/harbor",
    "cuda",
    "auto",
)
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


def variants(row: Row, seed: random.Random) -> Iterator[Row]:
    """Yield a row and what life makes of it; the same seed yields the same rows."""
    yield _staged(row, row.text, 1.0, seed)
    if row.origin in ("healthy", "other", "reject"):
        return
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
        # Where a rule's example shows a stack, the stack tells the fault: it keeps its own.
        for _ in range(0 if has_stack and row.origin == "rule" else 2):
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


def _staged(row: Row, text: str, share: float, seed: random.Random) -> Row:
    # Where the stage tells the fault it is given; else any, so that the model learns to lean on it lightly.
    stage = row.stage if row.stage and seed.random() < 0.7 else (seed.choice(STAGES) if seed.random() < 0.3 else "")
    return Row(text, row.bucket, row.group, row.origin, row.release, stage, round(row.weight * share, 4))


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
