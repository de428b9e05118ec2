"""What nearly all lines have in common before them is taken off."""

from __future__ import annotations

import pytest

from tests.classifier.input.as_read import RECORD, texts

LINES = [
    f"{RECORD} EngineCore failed to start.",
    "Traceback (most recent call last):",
    '  File "/a/vllm/engine/core.py", line 3, in run_core',
    "    engine = make(config)",
    "ValueError: No available memory for the cache blocks.",
]


@pytest.mark.parametrize("indent", ["\t", "    ", "\t\t"])
def test_common_indentation_is_no_part_of_the_lines(indent: str) -> None:
    """A block within a note or a list; what a traceback is indented by is kept."""
    assert LINES == texts("\n".join(indent + line for line in LINES))


def test_a_traceback_alone_keeps_its_indentation() -> None:
    """Its last line has none."""
    lines = LINES[2:]

    assert lines == texts("\n".join(lines))
