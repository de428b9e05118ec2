"""Whatever fields a logging configuration prints, and in whatever order, the message and its level come out."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.lines.formatter import read_header
from vllm_triage.classifier.lines.prefix import split_line

FORMATS = [
    "[2025-01-01 10:00:00,123] [ERROR] [MainThread] [vllm.engine.x] >>> ",
    "2025-01-01 10:00:00,123 - vllm.engine.core - ERROR - ",
    "2025-01-01 10:00:00,123 ERROR vllm.engine.core: ",
    "ERROR:vllm.engine:",
    "[ERROR] 2025-01-01 10:00:00 vllm.engine.x - ",
    "2025-01-01T10:00:00.123Z ERROR [vllm.engine.x] ",
    "10:00:00 | ERROR | vllm.v1.engine.core | ",
    "[2025-01-01 10:00:00,123][vllm.engine][ERROR] - ",
    "ERROR 2025-01-01 10:00:00,123 core.py:12 ",
    "[10:00:00] ERROR    ",
    "[E 2025-01-01 10:00:00.123 core:12] ",
    "E0101 10:00:00.123456 123 core.py:12] ",
    "2025-01-01 10:00:00,123 [MainThread] ERROR vllm.engine - ",
    "[2025-01-01 10:00:00] ERROR core.py:12: ",
    "(EngineCore_0 pid=9) [2025-01-01 10:00:00,123] [ERROR] [vllm.v1.engine.core] ",
    "2025-01-01 10:00:00,123 ERROR [MainThread] core.py:12 - ",
    "<ERROR> [vllm.engine] ",
]
MESSAGES = [
    "RuntimeError: boom",
    "torch.OutOfMemoryError: CUDA out of memory.",
    "socket.gaierror: [Errno -2] Name or service not known",
    "Traceback (most recent call last):",
]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("fields", FORMATS)
def test_the_message_is_what_follows_the_fields(fields: str, message: str) -> None:
    """An exception's own module is no field."""
    line = split_line(1, fields + message)

    assert (message, "ERROR") == (line.text, line.level)


def test_where_it_was_logged_is_told_apart_from_the_thread() -> None:
    """The logger's name is the place; vLLM's shows that its own logger spoke."""
    line = split_line(1, "[2025-01-01 10:00:00,123] [ERROR] [MainThread] [vllm.engine.x] >>> gone")

    assert ("vllm.engine.x", "2025-01-01 10:00:00,123", True) == (line.source, line.time, line.logged)


def test_indentation_of_the_message_is_kept() -> None:
    line = split_line(1, '[2025-01-01 10:00:00,123] [ERROR] [vllm.engine.x] >>>   File "/a.py", line 1, in f')

    assert '  File "/a.py", line 1, in f' == line.text


@pytest.mark.parametrize(
    "text",
    [
        "ERROR while loading the model",
        "[ERROR] something went wrong",
        "Failed with ERROR 17 in vllm.engine: gone",
        "10:00:00 all is well",
        "vllm.engine.core: RuntimeError",
        "error: ERROR",
    ],
)
def test_words_of_a_sentence_are_no_fields(text: str) -> None:
    """A level alone, or no level at all, is no header."""
    assert read_header(text, "", "") is None
