"""Simulated starts: vLLM's own checks of a GPU's memory, computed with a log's numbers before and after a fix.

A card's memory cannot be broken on a CPU. What can be done is to compute the check that failed once more, as vLLM does, with
what the answer's fixes set. This is arithmetic on the log's numbers, no proof: activations, graphs and fragmentation stay as
they were in the log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...classifier.api import Triage
from ...classifier.report.model import Report
from ...corpus.action_text import TextError, read_actions
from ...corpus.actions import SetOption

CORPUS = Path(__file__).resolve().parents[2]
LOGS = ("corpus/logs/written", "corpus/logs/recorded", "tests/fixtures")
TRIED = 3
"""Fixes of an answer that are computed."""
CAUSES = ("kv_cache_oom/context_exceeds_cache", "kv_cache_oom/no_cache_blocks", "gpu_memory_budget/free_below_budget")
_MARK = re.compile(r"⟦[^⟧]*⟧")
_DEFAULT_SHARE = 0.9


@dataclass(frozen=True)
class Simulated:
    """One fix of an answer, and whether the check that failed passes with it."""

    log: str
    cause: str
    rank: int
    change: str
    passes: bool | None
    """None where the log lacks a number that the check needs, or the fix sets nothing that it reads."""


def simulated(root: Path = CORPUS) -> Iterator[Simulated]:
    """Yield the first fixes of all answers about a GPU's memory, over the repository's logs."""
    triage = Triage()
    for path in _logs(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "KV cache" not in text and "GPU memory utilization" not in text and "cache blocks" not in text:
            continue
        report = triage.report(_MARK.sub("", text))
        if report.cause in CAUSES and str(report.facts.get("platform") or "cuda") != "cpu":
            yield from of_report(str(path.relative_to(root)), report)


def of_report(log: str, report: Report) -> Iterator[Simulated]:
    """Yield the first fixes of one answer."""
    for fix in report.fixes[:TRIED]:
        yield Simulated(
            log, report.cause, fix.rank, fix.change, passes(report.cause, report.facts, _options(fix.change))
        )


def passes(cause: str, facts: Mapping[str, object], options: Mapping[str, str]) -> bool | None:
    """Compute the check that failed, with further options.

    Args:
        cause: Which check: a cause of ``CAUSES``.
        facts: The log's numbers.
        options: What the fix sets, by option.
    """
    if cause == CAUSES[2]:
        return _fits_free(facts, options)
    available, needed = _number(facts, "kv_cache_available_gib"), _number(facts, "kv_cache_needed_gib")
    if available is None or (needed is None and cause == CAUSES[0]) or not options:
        return None
    if "--max-model-len" in options and options["--max-model-len"] == "auto":
        return available > 0  # vllm/v1/core/kv_cache_utils.py, _auto_fit_max_model_len
    after = _available(facts, options, available)
    if after is None or not set(options) & _READ:
        return None
    # _check_enough_kv_cache_memory: none at all, or less than one request of the full context needs.
    return after > 0 and (needed is None or _needed(facts, options, needed) <= after + 1e-6)


_READ = {"--gpu-memory-utilization", "--max-model-len", "--kv-cache-dtype", "--tensor-parallel-size"}


def _fits_free(facts: Mapping[str, object], options: Mapping[str, str]) -> bool | None:
    """Compute ``request_memory`` of vllm/v1/worker/utils.py: the budget, in whole bytes, must be free."""
    total, free = _number(facts, "gpu_memory_total_gib"), _number(facts, "gpu_memory_free_gib")
    share = options.get("--gpu-memory-utilization")
    if total is None or free is None or share is None:
        return None
    return math.ceil(total * 2**30 * float(share)) <= free * 2**30


def _available(facts: Mapping[str, object], options: Mapping[str, str], available: float) -> float | None:
    """Compute ``determine_available_memory`` anew: budget less weights less what profiling found, which stays."""
    after = available
    if share := options.get("--gpu-memory-utilization"):
        total = _number(facts, "gpu_memory_total_gib")
        if total is None:
            return None
        now = _number(facts, "gpu_memory_utilization") or _DEFAULT_SHARE
        after += total * (float(share) - now)
    if ranks := options.get("--tensor-parallel-size"):
        weights = _number(facts, "weights_gib")
        if weights is None:
            return None
        after += weights * (1 - (_number(facts, "tensor_parallel_size") or 1) / int(ranks))
    return after


def _needed(facts: Mapping[str, object], options: Mapping[str, str], needed: float) -> float:
    """Compute ``max_memory_usage_bytes`` anew: it grows with the context in blocks, halves with a byte for two."""
    after = needed
    length = _number(facts, "max_model_len")
    if (given := options.get("--max-model-len")) and length:
        fits = _number(facts, "max_len_that_fits")
        available = _number(facts, "kv_cache_available_gib")
        # vLLM's own estimate is a point on the same line, exact where layers are of several kinds.
        by_estimate = fits and available and int(given) <= fits
        after = (
            min(available, after) * int(given) / fits
            if by_estimate and available and fits
            else after * int(given) / length
        )
    if options.get("--kv-cache-dtype", "").startswith("fp8"):
        after /= 2
    if ranks := options.get("--tensor-parallel-size"):
        after *= (_number(facts, "tensor_parallel_size") or 1) / int(ranks)
    return after


def _options(change: str) -> dict[str, str]:
    """Return what a fix sets; nothing where it is no list of options."""
    try:
        actions, _ = read_actions(change, "flag")
    except TextError:
        return {}
    if not all(isinstance(each, SetOption) for each in actions):
        return {}
    return {each.name: each.value for each in actions if isinstance(each, SetOption) and len(each.values) == 1}


def _number(facts: Mapping[str, object], name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _logs(root: Path) -> Iterable[Path]:
    return (path for folder in LOGS for path in sorted((root / folder).rglob("*.log")))


def section(rows: Iterable[Simulated]) -> list[str]:
    """Return the page's section about them."""
    found = list(rows)
    logs = {row.log for row in found}
    lines = [
        "## Simulated starts", "",
        "No proof, arithmetic: for faults of a GPU's memory the check that failed is computed once more as vLLM's source does",
        "(`request_memory`, `determine_available_memory`, `_check_enough_kv_cache_memory`), with the log's numbers and what a fix",
        "sets. '?' stands where the log lacks a number that the check reads, or the fix sets nothing that it reads.", "",
        "| log | fix | sets | the check that failed |", "|---|---|---|---|",
    ]  # fmt: skip
    words = {True: "passes", False: "fails again", None: "?"}
    lines += [f"| {row.log} | {row.rank} | `{row.change}` | {words[row.passes]} |" for row in found]
    first = [row for row in found if row.rank == 1]
    passing, failing = sum(row.passes is True for row in first), sum(row.passes is False for row in found)
    told = f"{passing} of {len(first)} first fixes pass, {failing} of {len(found)} fixes would fail again ({len(logs)} logs)."
    return [*lines, "", told, ""]
