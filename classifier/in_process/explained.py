"""A context manager that explains an exception where it is raised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from .handler import TriageHandler, traceback_of
from .kept import Kept
from .output import Output

if TYPE_CHECKING:
    from ..question import Question
    from ..report.model import Report

LINES = 3
"""Proving lines, and fixes, that an explanation shows."""


@contextmanager
def explained(
    question: Question | None = None,
    *,
    output: bool = True,
    told: Callable[[Report], None] | None = None,
) -> Iterator[None]:
    """Explain what is raised in the block: the exception goes on its way, with the diagnosis as a note below its traceback.

    The report is the exception's attribute ``vllm_triage``. What cannot be explained (none of vLLM's code is involved, and
    nothing in the log speaks of it) goes on as it is; a fault of ours changes nothing.

    Args:
        question: What is asked about the log.
        output: Whether what is printed is read, also by the engine's processes; it is passed on as it comes. False: what is
            logged in this process alone.
        told: Is given the report besides.

    Example:
        >>> with explained():  # doctest: +SKIP
        ...     llm = LLM("Qwen/Qwen2.5-7B-Instruct")
    """
    kept = Kept()
    handler = TriageHandler(kept=kept)
    logger = logging.getLogger("vllm")
    if not output:
        logger.addHandler(handler)
    try:
        with Output(kept.add) if output else nullcontext():
            yield
    except Exception as error:
        _explain(error, kept, question, told)
        raise
    finally:
        logger.removeHandler(handler)


def _explain(error: Exception, kept: Kept, question: Question | None, told: Callable[[Report], None] | None) -> None:
    from ..api import shared

    if hasattr(error, "vllm_triage"):
        # A block within this one has explained it: its note would be read as lines of the log.
        return
    try:
        report = shared().report(kept.log() + traceback_of(error), question)
    except Exception:  # noqa: BLE001 - the exception at hand is what the user must see, not one of ours
        return
    if not report.failed or (not _of_vllm(error) and (report.bucket == "unknown" or report.decided_by != "rule")):
        return
    error.vllm_triage = report  # type: ignore[attr-defined]
    error.add_note(explanation(report))
    if told is not None:
        told(report)


def _of_vllm(error: BaseException) -> bool:
    """Return whether an exception came through vLLM's code."""
    step = error.__traceback__
    while step is not None:
        if str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "vllm":
            return True
        step = step.tb_next
    return False


def explanation(report: Report) -> str:
    """Return a report in a few lines: cause, proof, fixes, and the correction as Python."""
    lines = ["", f"vllm-triage: {report.title}  [{report.cause}, {report.confidence:.0%}]"]
    if report.summary:
        lines.append(f"  {report.summary}")
    lines += [f"  line {item.line}: {item.text.strip()[:300]}" for item in report.evidence[:LINES]]
    for fix in report.fixes[:LINES]:
        change = f": {fix.change}" if fix.pasted and "\n" not in fix.change else ""
        lines.append(f"  {fix.rank}. {fix.title}{change}")
    if program := report.command_as("python"):
        lines += ["", *(f"  {line}".rstrip() for line in _without_server(program))]
    return "\n".join(lines)


def _without_server(program: str) -> list[str]:
    """Return a program without the remarks on a server's options: there is none."""
    return [line for line in program.splitlines() if not line.startswith("#")]
