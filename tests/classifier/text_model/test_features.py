"""What the text model reads: each kind of term, what is judged at all, and how it is told to people."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.incidents.types import Incident, StageSpan
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Frame, Line, Trace
from vllm_triage.classifier.text_model.features import Unit, judged, notable, units
from vllm_triage.classifier.text_model.guess import Guess, mixed, spoken
from vllm_triage.classifier.text_model.shipped import of_vllm


def of_text(text: str) -> dict[str, int]:
    """Return the terms of a logged error, its pieces of words left out."""
    (unit,) = units([], [split_line(7, text)])
    return {term: line for term, line in unit.terms.items() if not term.startswith("g:")}


def test_words_of_a_line() -> None:
    """In small letters, two by two, parts of names; values by their kind."""
    assert set(of_text("Load modelParallel_size of gpuWorker")) == {
        "l:bare", "w:load", "w:modelparallel_size", "w:of", "w:gpuworker", "b:load modelparallel_size", "b:modelparallel_size of", "b:of gpuworker",
        "w:model", "w:parallel", "w:size", "w:gpu", "w:worker",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("https://x.y/z", "url"), ("/a/b/c.py", "path"), ("~/a/b", "path"), ("C:\\a\\b", "path"), ("0x7f", "hex"), ("0123456789ab", "hex"), ("org/name-7b", "id"), ("-3.5", "figure"), ("1,024", "figure"),
        ("12:30", "figure"),
    ],
)  # fmt: skip
def test_values_are_terms_of_their_kind(value: str, kind: str) -> None:
    """Whatever they are."""
    found = of_text(f"at {value} now")
    assert {"w:at", f"w:<{kind}>", "w:now", f"b:at <{kind}>", f"b:<{kind}> now"} <= set(found)
    assert len(found) == 6


def test_pieces_of_words() -> None:
    """Four letters long, the ends marked, of words of four letters or more and their first twenty-four."""
    (unit,) = units([], [split_line(7, "Memory at all")])
    assert {term for term in unit.terms if term.startswith("g:")} == {"g:^mem", "g:memo", "g:emor", "g:mory", "g:ory$"}
    (long,) = units([], [split_line(7, "abcdefghijklmnopqrstuvwxyz")])
    assert "g:vwx$" in long.terms
    assert not any("y" in term for term in long.terms if term.startswith("g:"))
    (many,) = units(
        [], [split_line(7, " ".join(f"{chr(97 + at // 10) * 2}{chr(97 + at % 10) * 2}" for at in range(60)))]
    )
    assert ("g:^eeh" in many.terms, "g:^eei" in many.terms) == (True, False)


def test_who_logged_a_line() -> None:
    """Its level and its source, part by part; the stage."""
    line = split_line(7, "ERROR 11-02 10:00:00 [v1/engine_core.py:3] no")
    (unit,) = units([], [line], "weights")
    assert set(unit.terms) == {"l:ERROR", "src:v1/engine_core", "ip:v1", "ip:engine", "ip:core", "w:no", "s:weights"}
    assert set(unit.terms.values()) == {7}


def trace(kind: str = "Odd", message: str = "no", number: int = 9, **keys: Any) -> Trace:
    """Return an exception of vLLM's with two frames."""
    frames = [
        Frame("vllm/a.py", "outer", "", 1, 3, "raw"),
        Frame("vllm/v1/gpu_worker.py", "Worker.load_it", "x = go(y)", 2, 5, "raw", 6),
    ]
    return Trace(number, 2, "", kind, message, **{"frames": frames, **keys})


def test_an_exception_with_frames_of_vllm() -> None:
    """Its name and words, the innermost module and function part by part, all names, the code; each with its line."""
    (unit,) = units([trace()], [], "weights")
    assert unit.terms == {
        "k:Odd": 9, "w:no": 9, "i:v1": 5, "i:v1/gpu_worker": 5, "ip:gpu": 5, "ip:worker": 5, "if:load_it": 5, "ifp:load": 5, "ifp:it": 5, "n:load_it": 5,
        "n:gpu_worker": 5, "n:outer": 3, "n:a": 3, "c:x": 6, "c:go": 6, "c:y": 6, "s:weights": 9,
    }  # fmt: skip


def test_an_exception_of_another_package() -> None:
    """Which one, and where; that nothing is vLLM's."""
    (unit,) = units([trace(frames=[Frame("torch/nn/mod.py", "f", "", 1, 3)])], [])
    assert unit.terms == {"k:Odd": 9, "w:no": 9, "o:torch": 3, "of:nn": 3, "of:mod.py": 3, "of:f": 3, "f:none": 3} | {
        "f:none": 9
    }
    (both,) = units([trace(frames=[Frame("vllm/a.py", "g", "", 1, 3), Frame("/torch/mod.py", "f", "", 1, 4)])], [])
    assert {"o:torch", "of:mod.py", "i:a", "if:g"} <= set(both.terms)
    assert "f:none" not in both.terms
    assert (of_vllm(both.terms), of_vllm(unit.terms), of_vllm(["src:x"])) == (True, False, True)


def test_how_many_frames_and_units_are_read() -> None:
    """Eight of each."""
    frames = [Frame(f"vllm/m{at}.py", "f", "", 1, at) for at in range(10)]
    (unit,) = units([trace(frames=frames)], [])
    assert ("n:m2" in unit.terms, "n:m1" in unit.terms) == (True, False)
    many = [trace(number=at, message=f"w{chr(97 + at)}") for at in range(1, 11)]
    assert len(units(many, [split_line(100 + at, "no") for at in range(10)])) == 16


def test_the_likeliest_root_comes_first() -> None:
    """What was raised from nothing, then in the order of the log; lines within a stack, and heads, are told already."""
    first, second = trace(number=5), trace(number=9)
    first.raised_from = second
    lines = [
        split_line(3, "in the stack"),
        split_line(20, "Traceback (most recent call last):"),
        split_line(21, "beside"),
    ]
    assert [unit.line for unit in units([first, second], lines)] == [9, 5, 21]
    strange = trace()
    strange.logging_error = True
    assert units([strange, Trace(1, 1, "")], []) == []


def incident(*traces: Trace, **stages: int) -> Incident:
    """Return a start with these exceptions and stages."""
    made = Incident(1)
    made.traces = list(traces)
    made.stages = [StageSpan(stage, line, "") for stage, line in stages.items()]
    return made


def numbers(found: tuple[list[Trace], list[Line]]) -> tuple[list[int], list[int]]:
    """Return the lines of what is judged."""
    return [item.number for item in found[0]], [line.number for line in found[1]]


def test_what_a_log_is_judged_by() -> None:
    """Not what was overcome before the server came up, nor what it prints once it is stopped."""
    lines = [split_line(number, "an error") for number in (5, 10, 15, 20)]
    assert numbers(judged(incident(trace()), lines)) == ([9], [5, 10, 15, 20])
    assert numbers(judged(incident(trace(), api_ready=9), lines)) == ([], [10, 15, 20])
    assert numbers(judged(incident(trace(), api_ready=8), lines)) == ([9], [10, 15, 20])
    assert numbers(judged(incident(trace(), shutdown=15), lines)) == ([9], [5, 10])
    for kind in ("KeyboardInterrupt", "SystemExit", "CancelledError"):
        assert numbers(judged(incident(Trace(15, 15, "", kind)), lines)) == ([], [5, 10])


def test_the_end_of_a_log_where_nothing_else_tells() -> None:
    """Lines that may tell of a failure, else the last two; nothing of a server that came up or was stopped."""
    tail = [
        split_line(number, text)
        for number, text in enumerate(["it is quiet", "the file is missing here", "all is well", "nothing more"], 1)
    ]
    assert numbers(judged(incident(), [], tail)) == ([], [2])
    assert numbers(
        judged(incident(), [], [*tail[:1], *tail[2:], split_line(9, "x"), split_line(10, "and so on it went")])
    ) == ([], [10, 9])
    assert numbers(judged(incident(api_ready=1), [], tail)) == ([], [])
    assert numbers(judged(incident(shutdown=1), [], tail)) == ([], [])
    assert numbers(judged(incident(Trace(1, 1, "", "SystemExit")), [], tail)) == ([], [])


@pytest.mark.parametrize(
    "words",
    [
        "error", "exception", "fail", "fatal", "killed", "died", "abort", "fault", "cannot", "could not", "unable", "denied", "refused", "timed out", "time out", "timeout", "invalid", "missing",
        "not found", "not support", "unsupported", "unknown", "undefined", "mismatch", "incompatible", "exceed", "insufficient", "out of memory", "no such", "too big", "must", "NaN ",
    ],
)  # fmt: skip
def test_words_that_tell_of_a_failure(words: str) -> None:
    """In whatever case; lines of INFO and DEBUG, and very short ones, are not looked at."""
    plain = [split_line(number, "nothing to see in it") for number in range(1, 5)]
    told = split_line(9, f"then {words.upper()}it was")
    assert notable([*plain, told]) == [told]
    assert (
        notable([*plain, split_line(9, f"INFO: then {words} it was"), split_line(10, f"DEBUG: then {words} it was")])
        == []
    )
    assert notable(plain) == []


def test_a_quotation_is_meant_to_tell() -> None:
    """Three lines whatever their words, the last first; eight of a longer end."""
    lines = [split_line(number, "nothing to see in it") for number in range(1, 4)]
    assert [line.number for line in notable(lines)] == [3, 2, 1]
    assert notable([*lines, split_line(4, "nothing to see in it")]) == []
    assert notable([split_line(1, "no errr!"), split_line(2, "an error")]) == []
    assert notable([split_line(1, "an error!")]) != []
    assert [
        line.number for line in notable([split_line(number, "this is an error") for number in range(1, 12)])
    ] == list(range(11, 3, -1))


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("w:x", "word 'x'"), ("b:x y", "words 'x y'"), ("k:X", "exception 'X'"), ("i:x", "module 'x'"), ("ip:x", "module 'x'"), ("if:x", "function 'x'"), ("n:x", "frame 'x'"), ("o:x", "package 'x'"),
        ("of:x", "package 'x'"), ("c:x", "code 'x'"), ("l:x", "level 'x'"), ("src:x", "source 'x'"), ("s:x", "stage 'x'"), ("f:none", "frames 'none'"), ("zz:x", "zz 'x'"), ("zz", "zz 'zz'"),
    ],
)  # fmt: skip
def test_terms_as_people_read_them(term: str, words: str) -> None:
    """By their kind."""
    assert spoken(term) == words


def test_what_decided_in_one_line() -> None:
    """Whose model, four buckets, six terms."""
    ranked = [(f"b{at}", 0.5 - at / 10) for at in range(5)]
    guess = Guess(ranked, 0.5, False, set())
    assert (guess.bucket, guess.probability) == ("b0", 0.5)
    assert guess.described() == "text model: b0 0.50, b1 0.40, b2 0.30, b3 0.20; decided by no single term"
    guess.reasons = [("w:x", 1.5, 7)] * 7
    guess.own = True
    assert guess.described().startswith("your model: b0 0.50")
    assert guess.described().endswith("decided by " + ", ".join(["word 'x' +1.50 (line 7)"] * 6))


def test_two_models_together() -> None:
    """What the user's leaves to none of its buckets is shared out as the shipped one says."""
    assert mixed([("a", 0.75), ("b", 0.25)], {"b": 0.25, "c": 0.25}, 0.5) == [("a", 0.375), ("b", 0.375), ("c", 0.25)]
    assert mixed([], {"c": 0.25}, 0.75) == [("unknown", 0.75), ("c", 0.25)]


def test_a_term_counts_on_its_first_line() -> None:
    """Its own, else that of the unit."""
    unit = Unit(7)
    unit.add("a")
    unit.add("b", 3)
    unit.add("b", 4)
    assert unit.terms == {"a": 7, "b": 3}
