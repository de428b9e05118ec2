"""Recorded logs of real vLLM: each must be answered as the index says, as it came and as others pass it on.

The index holds for each log its bucket, the lines that prove it, and the cause that the engine must name (`verdict`).
``TRIAGE_BLESS=1 pytest tests/test_recorded.py`` writes the causes that are named now into the index, where the bucket is
right; what moved shows in review.
"""

from __future__ import annotations

import os
import re
from zlib import crc32

import pytest

from tests.everyday import VARIABLE, sample
from tests.recorded import Example, Marked, ask, read_examples
from tests.recorded_forms import FORMS
from vllm_triage.classifier.api import shared
from vllm_triage.training.record.faults import Catalogue
from vllm_triage.training.record.publish import INDEX, RECORDED, VERDICT, long_times, read_index, write_index

TORCH = RECORDED / "torch"
EXAMPLES = list(read_examples())
ALL = [*EXAMPLES, *read_examples(TORCH)]
KNOWN = set(Catalogue().faults)
LARGEST = 12_000_000
# Recorded faults that the engine does not name, and why. Strict: a fault that is named by now must leave this list.
MISSED: dict[str, str] = {}
# The same for one form only.
MISSED_AS = {
    ("0.32.0/chat-template-syntax.log", "last 200 lines"),  # what is left of it was printed while the server stopped
    # OpenTelemetry's exporter says that it fails; below the journal's stamp that is not seen for the client's log that it is.
    ("0.9.2/healthy-debug.log", "journald"),
    ("0.9.2/healthy-serve.log", "journald"),
    ("0.9.2/healthy-stream-terminate.log", "journald"),
    ("0.9.2/healthy-two-starts.log", "journald"),
}
OURS = re.compile(rb"/\.pyenv|vtrec|hf_[A-Za-z0-9]{20}")
WRAPPED = [name for name in FORMS if name != "as recorded"]
# A program of torch's alone is not a server: beside one that starts, nothing tells it from that one's helpers.
ALONE = [name for name in WRAPPED if name != "started together"]


def marked(example: Example, form: str) -> Marked | None:
    """Return how an example is answered in a form."""
    return ask(shared(), example, form, FORMS[form], EXAMPLES)


def forms_of(example: Example) -> list[str]:
    """Return the forms in which an example is asked once more: always the same one, all with ``--whole``."""
    forms = ALONE if example.release.startswith("torch") else WRAPPED
    return forms if os.environ.get(VARIABLE) else [forms[crc32(example.file.encode()) % len(forms)]]


def cases(examples: list[Example]) -> list[object]:
    """Return the examples as parameters; those that are known to be missed are expected to fail."""
    return [
        pytest.param(
            example,
            id=example.file.removesuffix(".log"),
            marks=[pytest.mark.xfail(reason=MISSED[example.file], strict=True)] if example.file in MISSED else [],
        )
        for example in examples
    ]


@pytest.mark.parametrize("example", cases(ALL))
def test_a_recorded_log_is_answered_as_the_index_says(example):
    """The bucket, a line that proves it, and the cause."""
    answer = marked(example, "as recorded")

    assert answer is not None
    assert answer.bucket in (example.bucket, *example.also), answer.shown
    assert answer.evident, answer.shown
    if os.environ.get("TRIAGE_BLESS"):
        bless(example, answer)
    else:
        assert example.verdict == answer.cause


@pytest.mark.parametrize(
    ("example", "form"),
    sample(
        pytest.param(example, form, id=f"{example.file.removesuffix('.log')}-{form}")
        for example in ALL
        for form in forms_of(example)
        if example.file not in MISSED and (example.file, form) not in MISSED_AS
    ),
)
def test_a_recorded_log_is_answered_the_same_as_others_pass_it_on(example, form):
    """Of Docker, Compose, Kubernetes, the journal; cut; beside another server."""
    answer = marked(example, form)

    if answer is None:
        pytest.skip("does not apply: the form leaves no line that proves anything")
    assert (answer.accepted, answer.evident) == (True, True), f"{form}: {answer.cause}: {answer.shown}"


def test_there_are_logs_of_many_releases_and_enough_healthy_ones():
    """What the accuracy figures stand on."""
    assert len({example.release for example in EXAMPLES}) >= 6
    assert len(EXAMPLES) >= 120
    assert len([example for example in EXAMPLES if not example.failing]) >= 24


def test_the_index_and_the_files_are_the_same_set():
    """No log without an entry, no entry without a log."""
    folders = {example.release for example in EXAMPLES}
    files = {f"{path.parent.name}/{path.name}" for folder in folders for path in (RECORDED / folder).glob("*.log")}

    assert {example.file for example in EXAMPLES} == files


@pytest.mark.parametrize(
    ("folder", "entry"),
    sample(
        pytest.param(folder, entry, id=entry["file"])
        for folder in (RECORDED, TORCH)
        for entry in read_index(folder / INDEX)
    ),
)
def test_an_entry_fits_its_log(folder, entry):
    """The evidence stands where the index says, and each line has its arrival time."""
    log = (folder / entry["file"]).read_bytes()
    texts = log.decode("utf-8", "replace").split("\n")
    times = long_times((folder / entry["file"]).with_suffix(".times").read_text())

    assert entry["evidence"] == (texts[entry["evidence_lines"][0] - 1].rstrip("\r") if entry["evidence_lines"] else "")
    assert bool(entry["evidence_lines"]) == (entry["bucket"] != "no_failure")
    assert log.count(b"\n") == len(times)
    assert times == sorted(times)
    assert folder == TORCH or entry["fault"] in KNOWN


def test_the_recordings_are_small_and_name_no_machine():
    """Whoever clones the repository downloads them; what they hold is public."""
    files = [path for path in RECORDED.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) <= LARGEST
    assert [] == [path.name for path in files if OURS.search(path.read_bytes())]


def bless(example: Example, answer: Marked) -> None:
    """Write the cause that the engine names now into the index."""
    index = (TORCH if example.release.startswith("torch") else RECORDED) / INDEX
    entries = read_index(index)
    for entry in entries:
        if entry["file"] == example.file and entry.get(VERDICT) != answer.cause:
            entry[VERDICT] = answer.cause
            write_index(index, entries)
            return
