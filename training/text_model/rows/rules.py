"""Rows from the rule files: their examples, texts drawn from their patterns, counter-examples and healthy lines."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ahocorasick_rs import AhoCorasick, MatchKind

from ....classifier.facts.versions import version_key
from ....corpus.compiler import read_bucket
from ....corpus.types import Bucket, Rule
from ...examples.row import Row
from .pattern_texts import draw

WEIGHTS = {"certain": 1.5, "strong": 1.5, "weak": 0.8, "guess": 0.5}
DRAWN = 4
"""Texts drawn from each pattern."""
LEAST = 16
"""Characters by which a message of vLLM's is known again in a rule's example."""
_NEWER = re.compile(r">=?\s*([\d.]+)")


class Known:
    """From which of the read releases on vLLM itself says the words of a text.

    Args:
        messages: The part of each message that stands there literally, and the first release that has it.
    """

    def __init__(self, messages: Mapping[str, str]) -> None:
        self._messages = [(text, release) for text, release in messages.items() if release and len(text) >= LEAST]
        self._automaton = AhoCorasick([text for text, _ in self._messages], matchkind=MatchKind.Standard)
        self.newest = max((release for _, release in self._messages), key=_key, default="")

    def since(self, text: str) -> str:
        """Return the first release whose sources hold words of a text.

        Words that no read source holds (put together at run time, or of the compiled part) count as known from the
        newest release on: a test on later releases must not have seen them.
        """
        shown = " ".join(text.split())
        found = {
            self._messages[item[0]][1] for item in self._automaton.find_matches_as_indexes(shown, overlapping=True)
        }
        return min(found, key=_key, default=self.newest)


def _key(release: str) -> tuple[int, int, int, int, int]:
    return version_key(release) or (0, 0, 0, 0, 0)


def rule_rows(buckets: list[Bucket], seed: random.Random, known: Known | None = None) -> Iterator[Row]:
    """Yield the rows of all rule files (``facts`` and ``no_failure`` included: lines of healthy logs).

    Args:
        buckets: The rule files.
        seed: Source of chance.
        known: Messages of the releases, to tell from when on a rule's words of vLLM's could be known.
    """
    known = known or Known({})
    for bucket in buckets:
        for rule in bucket.rules:
            yield from _rows(bucket.id, rule, seed, known)


def _rows(bucket: str, rule: Rule, seed: random.Random, known: Known) -> Iterator[Row]:
    if rule.role in ("fact", "benign", "teardown", "advice"):
        label, origin, weight = "no_failure", "healthy", 0.7
    else:
        label, origin, weight = bucket, "rule", WEIGHTS[rule.strength] * (1.0 if rule.role == "cause" else 0.8)
    group = rule.id
    stage = rule.stages[0] if rule.stages else ""
    newer = _NEWER.search(rule.versions)
    # Words of torch, CUDA, the Hub and others belong to no release of vLLM's.
    ours = rule.source.startswith("vllm")
    cause = rule.cause if origin == "rule" else ""
    releases = [_later(newer, known.since(text) if ours else "") for text in rule.match]
    for text, release in zip(rule.match, releases, strict=True):
        yield Row(text.strip("\n"), label, group, origin, release, stage, weight, cause)
    release = min(releases, key=_key, default=_later(newer, known.newest if ours else ""))
    if origin == "rule":
        for text in _drawn(rule, seed):
            yield Row(text, label, group, origin, release, stage, weight * 0.5, cause)
    if bucket != "facts":
        # What a rule must not fire on may be healthy or another failure; the level tells the former.
        for text in rule.reject:
            if text.startswith(("INFO ", "DEBUG ", "WARNING ")) and "Error" not in text:
                yield Row(text.strip("\n"), "no_failure", group, "reject", release, "", 0.7)


def _later(newer: re.Match[str] | None, since: str) -> str:
    """Return the later of the release that a rule's ``versions`` begin with and the first with its words."""
    return max((newer.group(1) if newer else "", since), key=_key)


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
