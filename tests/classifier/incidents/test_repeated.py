"""Stacks and errors that a log prints again are passed over, and the answer is the same as if each line had been read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.classifier.made import line_rule
from tests.everyday import examples
from vllm_triage.classifier.incidents import candidates
from vllm_triage.classifier.incidents import reader as reader_module
from vllm_triage.classifier.incidents.builder import ERRORS, SITES
from vllm_triage.classifier.incidents.plain_lines import LONGEST
from vllm_triage.classifier.incidents.reader import IncidentReader
from vllm_triage.classifier.incidents.repeated import STEPS, Repeated
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.tail import Tail
from vllm_triage.classifier.matching.engine import Engine

ENGINE = Engine(
    [
        line_rule("a/cause", "no room"), line_rule("a/code", "await queue"), line_rule("a/dead", "engine died of"),
        line_rule("a/never", "raise EngineDead", pattern=r"raise EngineDead\w+ now"),
        line_rule("a/refused", "refused 1", pattern=r"refused 1\d times"),
    ]
)  # fmt: skip
STACK = [
    "Traceback (most recent call last):",
    '  File "/x/site-packages/vllm/v1/engine/async_llm.py", line 10, in generate',
    "    out = await queue.get()",
    "          ^^^^^^^^^^^^^^^^^",
    '  File "/x/site-packages/vllm/v1/engine/core.py", line 20, in step',
    "    raise EngineDeadError()",
]
OTHER = [*STACK[:4], '  File "/x/site-packages/vllm/v1/engine/output.py", line 3, in get', "    raise output"]
ENDS = ["EngineDeadError: engine died of 1", "EngineDeadError: engine died of 2", "RuntimeError: no room"]
LINKS = ["", "During handling of the above exception, another exception occurred:", "a line of somebody else's"]
PREFIXES = [
    "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] ", "(APIServer pid=5) ERROR 11-02 10:00:02 [serving.py:9] ",
    "(Worker_TP1 pid=7) ERROR 11-02 10:00:01 [executor.py:9] ", "(EngineCore pid=6) ", "",
    "vllm-1  | (APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] ", "(MyActor pid=5) ERROR 11-02 10:00:01 [serving.py:9] ",
]  # fmt: skip


def told(incidents: list[Incident]) -> list[object]:
    """Return all that is kept of the starts of a log."""
    return [
        (
            [
                (
                    trace.kind, trace.message, trace.number, trace.first, trace.last, trace.count, trace.processes,
                    [(f.path, f.function, f.number, f.line, f.raw, f.code, f.code_line, f.code_raw) for f in trace.frames],
                    trace.raised_from and trace.raised_from.number, trace.direct,
                )
                for trace in incident.traces
            ],
            [(line.number, line.raw, incident.contexts.lines(line.number)) for line in incident.errors],
            [(hit.rule.id, hit.line.number, hit.count, hit.last, hit.quoted) for hit in incident.hits],
            incident.given_up, [site.number for site in incident.sites],
        )
        for incident in incidents
    ]  # fmt: skip


def read(text: str, size: int = 1 << 20) -> list[Incident]:
    """Read a log in blocks of about so many bytes."""
    reader, tail, number = IncidentReader(ENGINE), Tail(), 1
    data = text.encode()
    while data:
        cut = data.find(b"\n", min(size, len(data) - 1)) + 1 or len(data)
        block, data = data[:cut], data[cut:]
        reader.read(block, number, tail.data)
        number += block.count(b"\n")
        tail.extend(block, number)
    return reader.finish(tail, number)


class Nothing(Repeated):
    """Remembers nothing: every line is read."""

    def take(self, *_: object) -> bool:
        """Take nothing."""
        return False

    def follow(self, _block: object, start: int, number: int, index: int, _reading: object) -> tuple[int, int, int]:
        """Pass over nothing."""
        return start, number, index


@pytest.fixture
def lines_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the lines that were read."""
    numbers: list[int] = []
    usual = candidates.read_line

    def noted(*place: object) -> object:
        line = usual(*place)  # type: ignore[arg-type]
        numbers.append(line.number)
        return line

    monkeypatch.setattr(reader_module, "read_line", noted)
    return numbers


def reference(text: str, size: int) -> list[object]:
    """Return what is kept of a log of which each line is read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_module, "Repeated", Nothing)
        return told(read(text, size))


def printed(prefix: str, stack: list[str], end: str) -> list[str]:
    """Return the lines that a process writes of an exception."""
    return [prefix + line for line in [*stack, end]]


@st.composite
def logs(draw: st.DrawFn) -> str:
    """Logs of a few processes that print a few stacks again and again, whole, cut, changed, between each other's lines."""
    sites = [
        f"(APIServer pid=5) INFO 11-02 09:00:00 [api.py:{number}] ready"
        for number in range(draw(st.sampled_from([0, SITES])))
    ]
    streams: list[list[str]] = []
    for prefix in draw(st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=3, unique=True)):
        lines: list[str] = []
        for _ in range(draw(st.integers(2, 9))):
            one = printed(prefix, draw(st.sampled_from([STACK, STACK, OTHER])), draw(st.sampled_from(ENDS)))
            if draw(st.integers(0, 5)) == 0:
                del one[draw(st.integers(0, len(one) - 1))]
            if draw(st.integers(0, 5)) == 0:
                one.insert(
                    draw(st.integers(0, len(one))), prefix + draw(st.sampled_from([*LINKS, *ENDS, "Error: odd"]))
                )
            lines += one
            if draw(st.integers(0, 3)) == 0:
                lines += [f"{prefix}request was refused {count} times" for count in range(draw(st.integers(1, 25)))]
        streams.append(lines)
    woven: list[str] = []
    while streams:
        stream = draw(st.sampled_from(streams))
        count = draw(st.integers(1, 9))
        woven += stream[:count]
        del stream[:count]
        streams = [left for left in streams if left]
    return "\n".join([*sites, *woven]) + "\n"


@settings(max_examples=examples(120), deadline=None)
@given(logs(), st.sampled_from([300, 2000, 1 << 20]))
def test_the_answer_is_that_of_reading_each_line(text: str, size: int) -> None:
    """Counts, numbers and all, wherever blocks are cut."""
    assert told(read(text, size)) == reference(text, size)


@settings(max_examples=examples(120), deadline=None)
@given(logs(), st.sampled_from([300, 2000, 1 << 20]), st.sampled_from([(64, 16), (400, 1), (4000, 100)]))
def test_it_is_the_same_where_literals_are_looked_for_bit_by_bit(
    text: str, size: int, windows: tuple[int, int]
) -> None:
    """As in large blocks, where lines that are known are passed over first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IncidentReader, "lazy", lambda *_: True)
        patch.setattr(candidates, "FIRST", windows[0])
        patch.setattr(candidates, "LEAST", windows[1])
        found = told(read(text, size))
    assert found == reference(text, size)


def test_a_stack_that_is_printed_again_is_not_read(lines_read: list[int]) -> None:
    """From the third time on, but for its head, its exception, and a line that a rule matches."""
    one = printed("(EngineCore pid=6) ", STACK, ENDS[0])

    [incident] = read("\n".join(one * 50) + "\n")

    assert [50] == [trace.count for trace in incident.traces]
    assert [50 * len(one)] == [trace.last for trace in incident.traces]
    assert len(lines_read) <= 3 * len(one) + 3 * 50


def test_a_stack_that_ends_otherwise_has_its_own_line_numbers() -> None:
    """What was passed over is read then: of the frames too."""
    text = "\n".join([*printed("", STACK, ENDS[0]) * 3, *printed("", STACK, ENDS[1])]) + "\n"

    [incident] = read(text)

    first, second = incident.traces
    assert (first.count, second.count) == (3, 1)
    assert [23, 26] == [frame.line for frame in second.frames]
    assert ["await queue.get()", "raise EngineDeadError()"] == [
        frame.code.removeprefix("out = ") for frame in second.frames
    ]


def test_errors_that_begin_like_a_kept_one_are_not_read(lines_read: list[int]) -> None:
    """A server that refuses requests by thousands."""
    begin = "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] "
    different = [f"{begin}{number:03d} refused" for number in range(ERRORS)]
    text = [*different * (SITES // ERRORS), *(f"{begin}request {number} was refused as well" for number in range(1000))]

    [incident] = read("\n".join(text) + "\n")

    assert [line.raw for line in incident.errors] == different
    assert len(lines_read) <= SITES + 2


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: no more", "caught (ValueError): no more", "Killed", "x.Odd: no more", "ValueError: 1",
        'File "/x.py", line 1, in f', "Traceback (most recent call last):", "[rank0]: RuntimeError: no more",
    ],
)  # fmt: skip
def test_an_exception_among_them_is_read(line: str) -> None:
    """Whatever way it is written."""
    begin = "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] "
    text = "\n".join(
        [*(f"{begin}{number:03d} refused" for number in range(SITES + 9)), begin + line, begin + "  x", begin + "y"]
    )

    assert told(read(text)) == reference(text, 1 << 20)


def test_long_lines_are_read() -> None:
    """They would take too much to remember."""
    stack = [STACK[0], STACK[1], "    " + "x" * LONGEST, ENDS[0]]
    text = "\n".join(printed("", stack, ENDS[0]) * 4) + "\n"

    assert told(read(text)) == reference(text, 1 << 20)


def test_what_waits_and_what_is_kept_of_errors_does_not_grow_with_the_log() -> None:
    """Stacks that go on over the end of each block, and errors that name an exception of their own each."""
    reader = IncidentReader(ENGINE)
    stack = printed("", STACK, ENDS[0])
    begin = "(APIServer pid=5) ERROR 11-02 10:00:01 [serving.py:9] "
    errors = [f"{begin}ValueError: {number} of its own" for number in range(3 * SITES)]
    for number in range(30):
        # Each block ends within a stack.
        lines = [*stack[3:], *stack * 20, *stack[:3]] if number else [*errors, *stack * 3, *stack[:3]]
        reader.read(("\n".join(lines) + "\n").encode(), 1 + number * 1000, b"")

    assert len(reader._repeated.waiting) == 1
    assert len(reader._repeated._begins) <= ERRORS


def test_memory_is_bounded() -> None:
    """A log whose stacks are all different is remembered up to a number of lines."""
    reader = IncidentReader(ENGINE)
    reader.again = True
    lines = [
        line
        for number in range(STEPS // 5)
        for line in printed(
            "", [STACK[0], *(f'  File "/x/{number}_{depth}.py", line 1, in f' for depth in range(9))], ENDS[0]
        )
    ]
    reader.read(("\n".join(lines) + "\n").encode(), 1, b"")

    assert reader._repeated._steps == STEPS
    assert len(reader._repeated.sources.whole) <= 5000
