"""Which reports are of the same failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.everyday import examples
from tests.fixtures.wrappers import WRAPPERS, after_another_start
from tests.service.history.reports import PREFIX, report
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import ContextLine, Report
from vllm_triage.service.fingerprint import template
from vllm_triage.service.history import fingerprint

RECORDED = Path(__file__).parents[2] / "corpus" / "logs" / "recorded"
ALIKE = sorted(
    path.stem
    for path in (RECORDED / "0.27.1").glob("*.log")
    if (RECORDED / "0.32.0" / path.name).exists() and not path.stem.startswith(("healthy", "engine-killed-starting"))
)
"""Faults recorded under both releases. (A killed engine's exit code is told by the later one alone: another cause.)"""


@cache
def answer(path: Path, wrapper: str = "") -> Report:
    log = path.read_text("utf-8", errors="replace")
    wraps: dict[str, Callable[[str], str | bytes]] = {**WRAPPERS, "after_another_start": after_another_start, "": str}
    made = wraps[wrapper](log)
    return shared().report(made.encode() if isinstance(made, str) else made)


@pytest.mark.parametrize("name", ALIKE)
def test_one_fault_under_two_releases(name):
    """pids, times, source lines, prefixes and lists of what a release knows differ."""
    before, after = answer(RECORDED / "0.27.1" / f"{name}.log"), answer(RECORDED / "0.32.0" / f"{name}.log")

    assert before.cause == after.cause
    assert fingerprint(before) == fingerprint(after)


@pytest.mark.parametrize("wrapper", [*WRAPPERS, "after_another_start"])
@pytest.mark.parametrize("name", ["kv-context-exceeds-cache", "port-in-use", "weights-wrong-shape", "lora-rank"])
def test_one_log_as_others_wrap_it(name, wrapper):
    plain, wrapped = (answer(RECORDED / "0.32.0" / f"{name}.log", each) for each in ("", wrapper))

    assert plain.cause == wrapped.cause
    assert fingerprint(plain) == fingerprint(wrapped)


def test_different_faults():
    """Recorded faults of different causes, and different faults of one cause."""
    names = ["kv-context-exceeds-cache", "port-in-use", "weights-wrong-shape", "lora-rank", "flag-unknown", "hub-404"]
    names += ["hub-gated", "weights-cut-off", "quantisation-unknown", "draft-tokens-missing", "config-cut-off"]
    # Both are invalid_argument/batch_limits_contradict, and both weights_mismatch/shape_mismatch.
    names += ["batched-tokens-below-context", "batched-tokens-below-sequences", "weights-wrong-vocabulary"]

    assert len(names) == len({fingerprint(answer(RECORDED / "0.32.0" / f"{name}.log")) for name in names})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB",
         "CUDA out of memory. Tried to allocate 1.12 GiB. GPU 7 has a total capacity of 80 GiB"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried"),
        ("OSError: [Errno 98] address already in use: ('0.0.0.0', 8000)", "OSError: [Errno 98] address already in use: ('::', 9001)"),
        ("Connection to tcp://10.0.0.7:29500 was reset by peer", "Connection to tcp://[fe80::1]:41777 was reset by peer"),
        ("Request chatcmpl-8f3ac19b2d4e failed in the engine", "Request cmpl-00aa failed in the engine"),
        ("cannot read /tmp/tmpab3x/model.bin right now", "cannot read /var/tmp/x9/model-00001-of-00009.bin right now"),
        ("cannot read C:\\Users\\x\\model.bin right now", "cannot read D:\\y\\model.bin right now"),
        ("the object at 0x7fe9ce3b5580 was dropped too soon", "the object at 0x55d0 was dropped too soon"),
        ("rank 3 waited for rank 0 too long", "rank 11 waited for rank 7 too long"),
        ("shapes [1, 2, [3, 4]] and {'a': {'b': 1}} do not go together", "shapes [] and {} do not go together"),
        ("model acme/harbor-8b has no such layer", "model Qwen/Qwen2.5-7B-Instruct has no such layer"),
        ("unknown names are listed here: ['a', 'b', 'c']", "unknown names are listed here: ['a', 'b', 'c', 'd … "),
        ("ValueError: no such thing as this one", "RuntimeError: no such thing as this one"),
        ("  Value error, no such thing as this one [type=value_error, input_value=3]", "ValueError: no such thing as this one"),
        ("KeyError: 'no such thing as this one'", 'KeyError: "no such thing as this one"'),
        ("took 12.5 s to answer the call", "took 900ms to answer the call"),
    ],
)  # fmt: skip
def test_values_do_not_count(one, other):
    assert template(one)[1] == template(other)[1]
    assert fingerprint(report(one)) == fingerprint(report(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AssertionError: the table is empty", "AssertionError: the table is full"),
        ("RuntimeError: NCCL error: unhandled cuda error", "RuntimeError: NCCL error: remote process exited"),
        ("AssertionError", "IndexError"),
        ("KeyError: 'a'", "ZeroDivisionError: division by zero"),
    ],
)
def test_words_count(one, other):
    assert fingerprint(report(one)) != fingerprint(report(other))


def test_the_answer_counts():
    base = report()

    assert 3 == len(
        {
            fingerprint(base),
            fingerprint(replace(base, cause="kv_cache_oom/x")),
            fingerprint(replace(base, bucket="x")),
        }
    )


def test_where_a_message_says_nothing_the_place_counts():
    """Its function, not its line."""

    def at(function: str, line: int, text: str = "AssertionError") -> str:
        made = report(text)
        frame = (
            f'{PREFIX}  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/core/sched.py", line {line}, in {function}'
        )
        first = ContextLine(line=39, text=frame, process="EngineCore")
        return fingerprint(replace(made, context=(first, *made.context[1:])))

    assert at("schedule", 7) == at("schedule", 99)
    assert at("schedule", 7) != at("finish", 7)
    # A message that tells it: releases move functions.
    assert at("schedule", 7, "ValueError: the request is gone already") == at(
        "finish", 7, "ValueError: the request is gone already"
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"confidence": 0.4},
        {"facts": {"model": "x/y", "vllm_version": "0.8.5"}},
        {"title": "other"},
        {"notes": ["x"]},
        {"incidents": 3},
    ],
)
def test_what_stays_out(changed):
    """Model, release, words of ours."""
    assert fingerprint(report()) == fingerprint(report(**changed))


def test_processes_and_line_numbers_stay_out():
    made = report()
    moved = Report.from_json(
        re.sub(r'"line": 4?0?', '"line": 7', made.to_json()).replace("EngineCore", "Worker_TP3").replace("4190", "77")
    )

    assert fingerprint(made) == fingerprint(moved)


def test_a_report_without_evidence():
    """Silence has no deciding line."""
    assert re.fullmatch("[0-9a-f]{16}", fingerprint(report(evidence=[], context=[])))


@given(st.text(max_size=3000))
def test_any_line_has_a_template(text):
    """Of few words, none of which has a figure; the same again when it is read again."""
    name, words = template(text)

    assert len(words) <= 16
    assert not any(character.isdigit() for word in [*words] for character in word if character.isascii())
    assert (name, words) == template(text)


_NUMBER = st.integers(0, 10**12).map(str) | st.floats(0, 1e6).map("{:.2f}".format)
_HEX = st.integers(16, 2**64).map("0x{:x}".format)
_PATH = st.lists(st.text("abcxyz0189_-", min_size=1, max_size=9), min_size=1, max_size=5).map(
    lambda parts: "/" + "/".join(parts)
)
_ADDRESS = st.ip_addresses().map(str).filter(lambda text: ":" not in text or text.count(":") >= 2) | st.tuples(
    st.ip_addresses(v=4), st.integers(1, 65535)
).map(lambda pair: f"{pair[0]}:{pair[1]}")
_QUOTED = st.text("abc xyz/.-_01", max_size=20).map("'{}'".format)


@settings(max_examples=examples(300))
@given(*[st.tuples(value, value) for value in (_NUMBER, _HEX, _PATH, _ADDRESS, _QUOTED)])
def test_two_lines_that_differ_in_values_only(number, hexed, path, address, quoted):
    def line(at: int) -> str:
        return (
            f"ValueError: slot {number[at]} of {hexed[at]} was read from {path[at]} by {address[at]} "
            f"and holds {quoted[at]} instead"
        )

    assert template(line(0)) == template(line(1))
