"""A report to vLLM's own issue tracker, made of an answer: release, environment, minimal command, the lines that matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..classifier.command.shell import FRONT, as_run
from ..classifier.report.model import Report
from ..classifier.report.pack.text import body_of
from ..classifier.version import version
from ..corpus.options import version_key
from ..corpus.records import replace
from .render.formats.markdown import fenced, plain
from .render.words import start_line, sure_of

TRACKER = "https://github.com/vllm-project/vllm/issues/new"
MOST = 60_000
"""Characters of a report: GitHub takes 65,536."""
LINES = 30_000
"""Characters of the evidence whose lines are shown."""
TELLING = 50
"""Worth of a line from which on it belongs to what is to be shown: what stands before the first such line is any start's."""
TITLE = 120
"""Characters of an issue's title; trackers cut longer ones."""
COLLECTS = (0, 8, 5)
"""The first release with ``vllm collect-env``."""
ENVIRONMENT = (
    "vllm_version", "engine", "platform", "torch_version", "cuda_version", "driver_version", "nccl_version", "gpu_name",
    "gpu_count", "gpu_memory_total_gib", "gpu_memory_free_gib", "container_image", "model", "architecture", "dtype",
    "quantization", "kv_cache_dtype", "attention_backend", "max_model_len", "tensor_parallel_size",
    "pipeline_parallel_size", "data_parallel_size",
)  # fmt: skip
"""Facts that a report begins with, where the log tells them."""
ABOUT_FRONT = frozenset({"port_in_use", "client_connection", "invalid_argument", "unknown_model_name"})
"""Buckets that the options of the HTTP server matter to."""


@dataclass(frozen=True, slots=True)
class BugReport:
    """What is pasted."""

    title: str
    body: str
    """Markdown."""


def bug_report(report: Report) -> BugReport:
    """Return the report about an answer, with the lines of its evidence pack.

    Args:
        report: The answer, masked as it is.
    """
    title = f"[Bug]: {report.title}"
    if report.bucket == "unknown" and report.evidence:
        title = f"[Bug]: {report.evidence[0].text}"
    parts = (_environment(report), _what(report), _command(report), _lines(report), _said(report))
    body = "\n\n".join("\n".join(part) for part in parts) + "\n"
    return BugReport(title if len(title) <= TITLE else title[: TITLE - 1] + "…", body[:MOST])


def _environment(report: Report) -> Iterator[str]:
    yield "### Your current environment\n"
    told = [(name, report.facts.get(name)) for name in ENVIRONMENT if report.facts.get(name) not in (None, "")]
    if told:
        yield "What the log says:\n"
        yield "| | |\n|---|---|"
        yield from (f"| {name} | {plain(str(value))} |" for name, value in told)
        yield ""
    release = str(report.facts.get("vllm_version", ""))
    key = version_key(release)
    by = "`vllm collect-env`" if key is None or key[:3] >= COLLECTS else "`collect_env.py` of vLLM's repository"
    yield f"<details>\n<summary>The output of {by}</summary>\n"
    yield from fenced("text", ["(paste it here)"])
    yield "\n</details>"


def _what(report: Report) -> Iterator[str]:
    yield "### 🐛 Describe the bug\n"
    yield plain(report.title) + "."
    if report.summary:
        yield plain(report.summary)
    if start := start_line(report):
        yield f"\nStart-up: {start}"
    if report.story is not None and report.story.told:
        yield "\n" + " ".join(plain(sentence) for sentence in report.story.told)


def _command(report: Report) -> Iterator[str]:
    proof = " ".join(item.text for item in report.evidence)
    keep = FRONT if report.bucket in ABOUT_FRONT else [name for name in FRONT if name in proof]
    command, dropped = as_run(report.facts, keep)
    yield "How it was started" + (f" (left out: {', '.join(f'`{name}`' for name in dropped)}):\n" if dropped else ":\n")
    yield from fenced("shell", [command or "(the log does not show it: paste the start command here)"])


def _lines(report: Report) -> Iterator[str]:
    yield "The lines that matter, with their numbers in the log; secrets are masked:\n"
    pack = report.pack(LINES, candidates=False)
    at = next((index for index, line in enumerate(pack.lines) if line.worth >= TELLING), 0)
    lines, gaps = pack.lines[at:], [gap for gap in pack.gaps if not at or gap.first > pack.lines[at].line]
    yield from fenced("text", body_of(replace(pack, lines=lines, gaps=tuple(gaps))))


def _said(report: Report) -> Iterator[str]:
    sure = sure_of(report)
    yield "<details>\n<summary>What vllm-triage says</summary>\n"
    yield f"`{report.cause}`, {sure and f'{sure} sure, '}decided by {report.decided_by}; vllm-triage {version()}.\n"
    for fix in report.fixes[:3]:
        change = (
            f": `{fix.change}`" if fix.change != fix.title and "`" not in fix.change and "\n" not in fix.change else ""
        )
        yield f"- {plain(fix.title)}{change}"
    yield "\n</details>"
