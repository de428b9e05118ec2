"""Phrases that several formats share: what ran where, how far it got, how sure the answer is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...classifier.report.model import Report
from ...corpus.stages import STAGES

STAGE_NAMES = {
    "launch": "launch", "config": "config", "engine_init": "engine", "distributed_init": "distributed",
    "weights": "weights", "compile": "compile", "profile": "profile", "kv_cache": "KV cache",
    "graph_capture": "graphs", "api_ready": "API up", "serving": "serving", "shutdown": "shutdown",
}  # fmt: skip

CACHED = re.compile(r"(?:.*/)?models--([^/]+)--([^/]+)/snapshots/[^/]+/?$")
"""A model in a hub's cache, whose folder is named for a commit."""
COMMENT = re.compile(r"(?<!^)\s+# +")
WORD = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+""")
"""A word of a shell's command line, with its quotes."""


def headline(facts: Mapping[str, object]) -> str:
    """Return one line: vLLM, model, hardware, the settings that matter."""
    parts = []
    if version := facts.get("vllm_version"):
        parts.append(f"vLLM {version}" + (f" ({facts['engine']})" if facts.get("engine") else ""))
    elif facts.get("engine"):
        parts.append(f"vLLM {facts['engine']}")
    if model := facts.get("model"):
        parts.append(model_name(str(model)))
    gpu = str(facts.get("gpu_name", "")).replace("NVIDIA ", "").replace("GeForce ", "")
    total = facts.get("gpu_memory_total_gib")
    if gpu or total:
        count = facts.get("gpu_count")
        parts.append(
            (f"{count} × " if count else "")
            + ", ".join(part for part in (gpu, f"{total:g} GiB" if total else "") if part)
        )
    for name, label in (("tensor_parallel_size", "TP"), ("pipeline_parallel_size", "PP"), ("data_parallel_size", "DP")):
        value = facts.get(name)
        if value and (name == "tensor_parallel_size" or value != 1):
            parts.append(f"{label} {value}")
    if length := facts.get("max_model_len"):
        parts.append(f"max_model_len {length}")
    if quantization := facts.get("quantization"):
        parts.append(str(quantization))
    return " · ".join(parts)


def model_name(model: str) -> str:
    """Return a model as people call it: a repository of a hub's cache by its name, a path by its end."""
    if cached := CACHED.match(model):
        return cached[2]
    return model.rstrip("/").rpartition("/")[2] or model


def timeline(report: Report) -> list[tuple[str, str]]:
    """Return the stages that were reached as (name, state): ``done``, or ``last`` where a failed start stopped."""
    seen = {span.stage for span in report.startup.stages}
    up = report.startup.reached in ("api_ready", "serving", "shutdown")
    last = report.startup.reached if report.failed and not up else ""
    reached = STAGES.index(report.startup.reached) if report.startup.reached in STAGES else 0
    return [
        (STAGE_NAMES[stage], "last" if stage == last else "done")
        for stage in STAGES[: reached + 1]
        if seen and (stage in seen or stage == last)
    ]


def start_line(report: Report) -> str:
    """Return the same in Markdown, on one line."""
    return " › ".join(f"**✖ {name}**" if state == "last" else name for name, state in timeline(report))


def seconds_between(report: Report) -> dict[str, float]:
    """Return the seconds spent in each stage that has them, by shown name."""
    return {
        STAGE_NAMES.get(span.stage, span.stage): span.seconds
        for span in report.startup.stages
        if span.seconds is not None
    }


def plural(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}" + "s" * (count != 1)


def percent(confidence: float) -> str:
    """Return a probability as people read it."""
    return f"{round(confidence * 100)} %"


def answer_of(report: Report) -> str:
    """Return the cause and how sure it is."""
    return f"{report.cause} {sure_of(report)}".rstrip()


def fix_share_of(report: Report) -> str:
    """Return how often first fixes of such answers were right on logs that nobody had read; nothing where none has a share."""
    share = report.fixes[0].confidence if report.fixes else None
    return f"fix {percent(share)}" if share is not None else ""


def sure_of(report: Report) -> str:
    """Return how sure an answer is; nothing is said of a probability where nothing was decided."""
    return "" if report.bucket == "unknown" else percent(report.confidence)


def is_foreign(report: Report) -> bool:
    """Return whether nothing in a log is vLLM's: that is no failed server."""
    return report.cause == "unknown/nothing_recognised"


def first_change(report: Report) -> str:
    """Return the first fix on one line: what is to be pasted where there is such, else its title."""
    for fix in report.fixes[:1]:
        by = f" (proposed by {fix.proposed_by})" if fix.proposed_by else ""
        return without_comment(fix.change)[0].partition("\n")[0] + by if fix.pasted else fix.title
    return ""


def verdict_mark(report: Report) -> str:
    """Return the sign before the verdict."""
    if report.filtered is not None:
        return "–"
    return {"well": "✔", "unknown": "?", "failed": "✖"}[report.state]


def left_out(report: Report) -> str:
    """Return why a failure that was found does not count; empty where it counts, or there is none."""
    if report.filtered is None:
        return ""
    by, ids = report.filtered.by, ", ".join(report.filtered.ids)
    return f"Ignored: {ids}" if by == "ignore" else f"Left out: only {ids} was asked for"


def without_comment(change: str) -> tuple[str, str]:
    """Return a change of one line as what is to be pasted, and the comment behind it as a sentence."""
    for found in COMMENT.finditer("" if "\n" in change else change):
        if not any(change[: found.start()].count(quote) % 2 for quote in "'\""):
            comment = change[found.end() :]
            return change[: found.start()], f"{comment[:1].upper()}{comment[1:].rstrip('.')}."
    return change, ""


def continued(command: str, width: int) -> list[str]:
    """Return a command in rows of at most ``width`` where its options allow that, each but the last with a backslash."""
    words = WORD.findall(command)
    if len(command) <= width or "\n" in command or " ".join(words) != command:
        return command.split("\n")
    rows, group = [""], ""
    for word in [*words, "-"]:
        if word.startswith(("-", "|", "&&")):
            if rows[-1] and len(rows[-1]) + len(group) + 3 > width:
                rows.append("   ")
            rows[-1] = f"{rows[-1]} {group}" if rows[-1] else group
            group = word
        else:
            group = f"{group} {word}" if group else word
    return [f"{row} \\" for row in rows[:-1]] + rows[-1:]
