"""Damaged text as it is read: through the same door as every log."""

from __future__ import annotations

from vllm_triage.classifier.input.numbers import Numbers
from vllm_triage.classifier.input.read import read_blocks

RECORD = "(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:12]"


def read(text: str) -> list[tuple[int, str]]:
    """Return the lines of a text as they are read, each with its number in the text."""
    numbers: Numbers | None = None
    found = []
    for block in read_blocks(text.encode("utf-8", "surrogateescape")):
        if block.mended is not None or numbers is not None:
            numbers = numbers or Numbers(block.number - 1)
            numbers.note(block.data.count(b"\n"), block.mended)
        lines = block.data.decode("utf-8", "surrogateescape").split("\n")
        if lines[-1] == "":
            lines.pop()
        found += [
            (numbers.original(number) if numbers is not None else number, line)
            for number, line in enumerate(lines, block.number)
        ]
    return found


def texts(text: str) -> list[str]:
    """Return the lines alone."""
    return [line for _, line in read(text)]


def mended(text: str) -> str:
    """Return a text as it is read, as one text that ends as it did."""
    return "\n".join(texts(text)) + ("\n" if text.endswith("\n") else "")
