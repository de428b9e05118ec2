"""Where to look when nothing that is known can help."""

from __future__ import annotations

from ..diagnosis import Advice


def look_elsewhere() -> Advice:
    """Return what to do where another program than vLLM failed and nothing that is known of vLLM can help."""
    return Advice(
        0, "Look at the innermost frame that is this program's own", "step",
        "start at the last 'File' line before the error that belongs to the program, not to a library that it calls",
        "The stack holds nothing of vLLM: its settings cannot change what failed.", "none", "The value that the frame works on is the expected one.",
    )  # fmt: skip


def look() -> Advice:
    """Return what to do where nothing that is known can help: look at what the log holds back."""
    return Advice(
        0, "Start once more with all messages, and read the first error", "env", "VLLM_LOGGING_LEVEL=DEBUG",
        "None of the fixes that are known for this cause holds for this server; what came first tells more than what came last.",
        "A longer log.", "The log holds lines of the level DEBUG.", "VLLM_LOGGING_LEVEL", "DEBUG", restart=True, exact=True,
    )  # fmt: skip
