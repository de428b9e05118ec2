"""A log that does not print its release is bounded by where in vLLM its lines come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.classifier.facts.fingerprint import (
    FrameMark,
    Mark,
    ReleaseRange,
    SiteMark,
    bound_release,
    mark_of_frame,
    mark_of_line,
    marks_in,
    short_path,
)
from vllm_triage.classifier.facts.fingerprint_index import FILES, INDEX, Index, Spot, index
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Frame
from vllm_triage.corpus.records import replace
from vllm_triage.training.record.publish import RECORDED

STARTS = sorted(path for path in RECORDED.glob("[0-9]*/*.log") if "healthy" in path.name)


def without_version(text: str, version: str) -> str:
    """Return a log without the lines that name its release."""
    return "\n".join(line for line in text.split("\n") if version not in line)


@pytest.mark.parametrize("path", STARTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_start_is_of_its_own_release(path: Path) -> None:
    """Each was recorded from a real server of the release that its folder is called by."""
    version = path.parent.name
    text = without_version(path.read_text("utf-8", "replace"), version)

    found = bound_release(marks_in(text))

    assert version in found.releases
    assert found.confidence > 0.8


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        (
            "(EngineCore_DP0 pid=12) INFO 10-25 13:08:43 [core.py:708] Waiting for init message",
            SiteMark("core.py", 708, "Waiting for init message"),
        ),
        (
            "INFO 03-14 10:22:33 llm_engine.py:174] Initializing an LLM engine",
            SiteMark("llm_engine.py", 174, "Initializing an LLM engine"),
        ),
        (
            "DEBUG 10-25 13:08:43.123 [v1/.../engine/core.py:7] Loop",
            SiteMark("v1/.../engine/core.py", 7, "Loop"),
        ),
        (
            "\x1b[32mINFO\x1b[0m \x1b[90m10-25 13:08:43\x1b[0m \x1b[90m[core.py:708]\x1b[0m Waiting",
            SiteMark("core.py", 708, "Waiting"),
        ),
        ("ERROR 10-25 13:08:43 [core.py:708]", SiteMark("core.py", 708, "")),
        (
            '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 12, in step\n    return self.f()',
            FrameMark("vllm/v1/engine/core.py", "step", 12, "return self.f()"),
        ),
        (
            'ERROR 10-25 13:08:43 [x.py:1]   File "/w/vllm/vllm/v1/a.py", line 12, in step\n(E pid=3) ERROR 10-25 13:08:43 [x.py:1]     return self.f()',
            FrameMark("vllm/v1/a.py", "step", 12, "return self.f()"),
        ),
        (
            '(Engine pid=3)   File "/w/site-packages/vllm/v1/a.py", line 12, in step\n(Engine pid=3)     self.f()',
            FrameMark("vllm/v1/a.py", "step", 12, "self.f()"),
        ),
    ],
)
def test_marks_are_read_in_every_form(line: str, mark: Mark) -> None:
    """vLLM's prefix has had several, and wrappers put theirs before it."""
    assert mark in list(marks_in(line))


def test_other_packages_frames_are_no_marks() -> None:
    """Neither is a file of an environment that is called vllm."""
    path = "/home/me/vllm/lib/python3.12/site-packages/torch/nn/modules/module.py"

    assert [] == list(marks_in(f'  File "{path}", line 12, in f\n    g()\n'))
    assert short_path(path) == ""
    assert short_path("/w/vllm/vllm/v1/a.py") == "vllm/v1/a.py"


def test_lines_and_frames_already_read_are_marks() -> None:
    """What the classifier has peeled need not be searched for again."""
    line = split_line(1, "(EngineCore_DP0 pid=12) INFO 10-25 13:08:43 [core.py:708] Waiting for init message")

    assert SiteMark("core.py", 708, "Waiting for init message") == mark_of_line(line)
    assert mark_of_line(split_line(1, "INFO: 127.0.0.1:80 - GET /v1/models")) is None
    assert FrameMark("vllm/a.py", "step", 12, "f()") == mark_of_frame(Frame("vllm/a.py", "step", "f()", 12))
    assert mark_of_frame(Frame("torch/nn/modules/module.py", "forward", "f()", 12)) is None
    assert mark_of_frame(Frame("vllm/a.py", "step", "f()", 0)) is None


def test_a_log_without_marks_tells_nothing() -> None:
    """That is not the same as a log that no release fits."""
    found = bound_release([SiteMark("nobodys_file.py", 3, "Words")])

    assert ReleaseRange((), 0, 0, 0.0) == found
    assert str(found).startswith("not told")


def test_lines_that_no_release_has_fit_none() -> None:
    """A fork, or a build between releases."""
    found = bound_release(SiteMark("core.py", 60000 + number, "Words") for number in range(5))

    assert ReleaseRange((), 5, 0, 0.0) == found
    assert str(found) == "none fits (by 0 of 5 marks): a fork, or a build between releases"


def test_a_build_between_releases_is_near_one() -> None:
    """Half of its lines stand where a release has them."""
    log = next(path for path in STARTS if path.parent.name == "0.19.1" and "debug" not in path.name).read_text(
        "utf-8", "replace"
    )
    marks = [mark for mark in marks_in(log) if bound_release([mark]).fitting]
    moved = [replace(mark, line=mark.line + 30000) for mark in marks[::3]]

    found = bound_release([*marks, *moved])

    assert found.releases == ()
    assert "0.19.1" in found.nearest
    assert found.first == found.last == ""
    assert str(found).startswith("none fits, nearest 0.19")


def test_one_mark_of_many_may_be_wrong() -> None:
    """A line may be cut or copied badly; the range says how many fit."""
    log = next(path for path in STARTS if path.parent.name == "0.19.1" and "debug" not in path.name).read_text(
        "utf-8", "replace"
    )
    marks = list(marks_in(log))
    whole = bound_release(marks)

    found = bound_release([*marks, SiteMark("core.py", 60000, "Words")])

    assert whole.releases == found.releases
    assert whole.confidence > found.confidence
    assert f"by {found.marks - 1} of {found.marks} marks" in str(found)


def test_only_the_releases_asked_for_are_answered() -> None:
    """Other evidence may have left the others out."""
    log = next(path for path in STARTS if path.parent.name == "0.19.1" and "debug" not in path.name).read_text(
        "utf-8", "replace"
    )

    assert ("0.19.1",) == bound_release(marks_in(log), ["0.18.0", "0.19.1"]).releases
    assert () == bound_release(marks_in(log), ["0.9.2"]).releases


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (ReleaseRange(("0.8.4",), 7, 7, 0.9), "0.8.4 (by 7 marks)"),
        (ReleaseRange(("0.8.4", "0.8.5"), 7, 7, 0.9), "0.8.4 or 0.8.5 (by 7 marks)"),
        (ReleaseRange(("0.8.3", "0.8.4", "0.8.5"), 1, 1, 0.5), "0.8.3 to 0.8.5 (by 1 mark)"),
        (ReleaseRange(("0.8.4",), 8, 7, 0.9), "0.8.4 (by 7 of 8 marks)"),
    ],
)
def test_a_range_reads_well(found: ReleaseRange, text: str) -> None:
    """As a person would say it."""
    assert text == str(found)


def test_repeated_marks_count_once() -> None:
    """Thousands of lines from one place say no more than one of them."""
    assert bound_release([SiteMark("core.py", 60000, f"Words {number}") for number in range(9)]).marks == 1


def test_the_index_holds_every_release_in_order() -> None:
    """From the oldest on the package index on."""
    assert index().releases[0] == "0.2.0"
    assert len(set(index().releases)) == len(index().releases) > 80


def test_functions_of_a_few_files_are_kept() -> None:
    """Asked again, whether they were kept or not, they are the same."""
    known = Index(Path(INDEX).read_bytes())
    paths = sorted(known._head["files"])[: FILES + 2]
    spots = [Spot("__init__", line, "") for line in (10, 50, 100)]

    first = [known.frames(path, spots) for path in paths]

    assert len(known._functions) <= FILES
    assert first == [known.frames(path, spots) for path in paths]
