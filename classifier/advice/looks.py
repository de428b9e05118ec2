"""Where to look when nothing that is known can help."""

from __future__ import annotations

from ..diagnosis import Advice
from ..verdict.culprit import searched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

TRACKER = "search https://github.com/vllm-project/vllm/issues for:"
"""How a fix begins that sends to vLLM's issues, in rule files as well."""


def look_elsewhere() -> Advice:
    """Return what to do where another program than vLLM failed and nothing that is known of vLLM can help."""
    return Advice(
        0, "Look at the innermost frame that is this program's own", "step",
        "start at the last 'File' line before the error that belongs to the program, not to a library that it calls",
        "The stack holds nothing of vLLM: its settings cannot change what failed.", "none", "The value that the frame works on is the expected one.",
    )  # fmt: skip


def search(situation: Situation, why: str) -> Advice:
    """Return where others have reported the error."""
    change = f"{TRACKER} {words_of(situation)}"
    return Advice(0, "Search vLLM's issues for this error", "step", change, why, "none", "")


def words_of(situation: Situation) -> str:
    """Return words by which others have reported the error."""
    trace = situation.trace
    said = f"{trace.kind}: {trace.message}" if trace is not None else situation.case.text
    words = searched(next((line for line in said.splitlines() if line.strip()), ""))
    return words or "the error's words"


def look(situation: Situation, nothing_known: bool = False) -> Advice:
    """Return what to do where nothing that is known can help: look at what the log holds back, or for others' reports.

    Args:
        situation: Of the failure.
        nothing_known: Whether there was no fix to begin with.
    """
    if nothing_known and situation.trace is not None:
        return search(situation, "No fix is known for it; these are the words that every report of it shares.")
    return Advice(
        0, "Start once more with all messages, and read the first error", "env", "VLLM_LOGGING_LEVEL=DEBUG",
        "None of the fixes that are known for this cause holds for this server; what came first says more than what came last.",
        "A longer log.", "The log holds lines of the level DEBUG.", "VLLM_LOGGING_LEVEL", "DEBUG", restart=True, exact=True,
    )  # fmt: skip
