"""Wrapped lines are whole again, with the number of their first piece."""

from __future__ import annotations

import textwrap

import pytest

from tests.classifier.input.as_read import RECORD, read, texts

LINES = [
    "INFO 11-02 10:00:00 [api_server.py:1839] vLLM API server version 0.11.0",
    "(APIServer pid=4127) INFO 11-02 10:00:00 [utils.py:233] non-default args: {'model_tag': 'acme/harbor-70b', 'max_model_len': 8192}",
    "Triton is installed, but does not include CPU backend.",
    f"{RECORD} EngineCore failed to start.",
    f"{RECORD} Traceback (most recent call last):",
    f'{RECORD}   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 700, in run_engine_core',
    f"{RECORD}     engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
    f"{RECORD} ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing.",
    "Traceback (most recent call last):",
    '  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/cli/main.py", line 54, in main',
    "    args.dispatch_function(args)",
    '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/utils.py", line 726, in wait_for_engine_startup',
    "    raise RuntimeError(",
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}",
]


def cut(line: str, width: int) -> list[str]:
    """Return a line as a terminal shows it."""
    return [line[start : start + width] for start in range(0, len(line), width)]


@pytest.mark.parametrize("width", [72, 80, 93, 100, 120])
def test_lines_cut_at_the_edge_of_a_terminal_are_joined(width: int) -> None:
    """In the middle of words."""
    assert texts("\n".join(piece for line in LINES for piece in cut(line, width))) == LINES


@pytest.mark.parametrize("width", [72, 80, 100])
def test_lines_wrapped_at_blanks_are_joined(width: int) -> None:
    """As mail programs do."""
    wrapped = [
        piece
        for line in LINES
        for piece in (
            textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) if len(line) > width else [line]
        )
    ]

    assert [" ".join(line.split()) for line in texts("\n".join(wrapped))] == [" ".join(line.split()) for line in LINES]


def test_a_joined_line_bears_the_number_of_its_first_piece() -> None:
    """And what follows its own."""
    pieces = [cut(line, 80) for line in LINES]
    firsts = [1 + sum(map(len, pieces[:place])) for place in range(len(pieces))]

    assert [number for number, _ in read("\n".join(piece for line in pieces for piece in line))] == firsts


def test_a_rank_alone_on_its_line_gets_what_was_broken_off() -> None:
    """Some viewers break between the rank and an indented line."""
    log = '[rank0]:\n  File "/a.py", line 1, in f\n[rank0]:\n    return g()\n[rank0]: ValueError: x\n'

    assert [line.replace(":   ", ":  ") for line in texts(log)][0::2] == [
        '[rank0]:  File "/a.py", line 1, in f',
        "[rank0]: ValueError: x",
    ]
    assert texts(log)[1].endswith("    return g()")


@pytest.mark.parametrize(
    "log",
    [
        "│ x = attention(  │\n│ ❱ 202 query[:5] │\n│ key[:9],        │\n" * 4,
        f"{RECORD} the same length here\nprints of another library\n" * 5 + "x " * 200,
        "Error 803: system has unsupported display driver / cuda driver combination\nCUDA available: False\n",
        "RuntimeError: Failed to import the model because of the following error (look up to see):\noperator nms does not exist\n",
    ],
    ids=["box", "same length", "two statements", "message of two lines"],
)
def test_lines_that_only_look_full_stay(log: str) -> None:
    """The same length again and again is no edge, and one long line no wrapped one."""
    assert texts(log) == log.rstrip("\n").split("\n")


OLD = "ERROR 03-24 14:40:15 [engine.py:160]"
LONG_PATH = ".../anaconda3/envs/vllm/lib/python3.12/site-packages/vllm/model_executor/models/some_audio_model.py"


def test_a_path_that_is_longer_than_the_width_does_not_hide_it() -> None:
    """Most lines are short because the path did not fit behind them."""
    lines = [
        line
        for number in range(6)
        for line in (
            f'{OLD} File "{LONG_PATH}", line {number}, in forward',
            f"{OLD} inputs_embeds_{number} = self._process_the_audio_input_of_the_request_{number}(",
        )
    ]
    wrapped = [
        piece for line in lines for piece in textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False)
    ]

    assert lines == texts("\n".join(wrapped))


def test_words_stay_apart_where_the_same_line_is_wrapped_again_and_again() -> None:
    """That its first piece always has the same length says nothing of a cut at the edge."""
    line = "[shm_broadcast.py:501] No available shared memory broadcast block found in 60 seconds. This happens when some processes are hanging or compiling."

    assert [line] * 3 == texts("\n".join([*textwrap.wrap(line, 80)] * 3))


def test_code_below_a_frame_is_a_line_of_its_own_without_its_indentation() -> None:
    """However long the frame is."""
    lines = [
        "Traceback (most recent call last):",
        *(
            line
            for number in range(5)
            for line in (
                f'File "/usr/lib/python3.12/site-packages/vllm/engine/part_{number}.py", line 4{number}, in <module>',
                "from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs",
            )
        ),
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ]

    assert lines == texts("\n".join(lines))


@pytest.mark.parametrize("at", [25, 40, 61, 64, 66])
def test_frames_that_were_cut_anywhere_are_whole_again(at: int) -> None:
    """However wide the other lines are: a frame without its line number cannot end there."""
    frame = f'{RECORD}   File "/a/vllm/model_executor/models/deepseek_v2.py", line 743, in __init__'
    place = frame.index("File") + at - 12
    lines = [
        f"{RECORD}     assert isinstance(layer, DecoderLayer)",
        frame[:place],
        frame[place:],
        f"{RECORD}     more = 1",
    ]

    assert frame in texts("\n".join(lines))


def test_a_line_that_is_full_by_chance_is_not_joined_within_a_word() -> None:
    """The next begins with a word of sentences."""
    first = "[E1102 10:00:28.5429 socket.cpp:1023] [c10d] The client socket has now timed out"
    assert 80 == len(first)
    whole = f"{first} after 600000ms while trying to connect to (10.0.0.3, 54485)."

    assert texts("\n".join(textwrap.wrap(whole, 80))) == [whole]


FULL = [
    "CRITICAL 11-02 10:00:29 launcher.py:99] MQLLMEngine is already dead, terminating server process",
    "DEBUG 11-02 10:00:29 client.py:138] Shutting down MQLLMEngineClient check health loop due to time-out",
    "ERROR 11-02 10:00:29 client.py:244] TimeoutError('No heartbeat was received from MQLLMEngine')",
    "ERROR 11-02 10:00:29 client.py:244] TimeoutError('No answer received from MQLLMEngine')",
    "ERROR 11-02 10:00:30 client.py:245] TimeoutError('Nothing at all was received from MQLLMEngine')",
]


def test_lines_of_whole_words_are_not_taken_for_cut_ones() -> None:
    """Though three of them fill the width to its last column."""
    wrapped = [piece for line in FULL for piece in textwrap.wrap(line, 80)]
    assert 3 == [len(piece) for piece in wrapped].count(80)

    assert texts("\n".join(wrapped)) == FULL


def test_a_frame_broken_before_its_long_path_tells_that_words_were_left_whole() -> None:
    """Its path is longer than the line above it had room for; another line, of which nothing else tells, goes on as well."""
    owner = "(Worker pid=2552998) (Worker_TP0 pid=2552998)"
    path = "/home/user/vllm/.venv/lib/python3.12/site-packages/flashinfer/comm/workspace_base.py"
    lines = [
        f"{owner} Exception ignored in:",
        f'{owner} File "{path}", line 72, in __del__',
        f"{owner} ImportError: sys.meta_path is None, Python is likely shutting down",
    ]
    pieces = [
        piece for line in lines for piece in textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False)
    ]
    assert f"{owner} File" in pieces

    assert texts("\n".join(pieces)) == lines


def test_a_sentence_that_ends_with_file_is_left_alone() -> None:
    """What follows in quotation marks is no path of a frame."""
    lines = ["INFO 11-02 10:00:00 [a.py:1] No such File", '"a quotation", said somebody', "and went on with the work."]

    assert texts("\n".join(lines)) == lines
