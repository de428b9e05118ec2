"""The catalogue as it lies in corpus/messages, how it is read, written and kept over a new mining."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from vllm_triage.corpus import messages
from vllm_triage.corpus.messages import Label, Row
from vllm_triage.corpus.messages.place import TABLE, by_place
from vllm_triage.training.messages.__main__ import main
from vllm_triage.training.messages.catalogue import merged
from vllm_triage.training.messages.collect import Entry

BUCKETS = Path(TABLE).parent.parent / "buckets"
READ = Label("kv_cache_oom", "no_cache_blocks", "user", "start", True, "read")
ROW = Row("vllm", "No room for {} blocks here", "raise", "ValueError", "config/cache", "check", 1, "0.1.0", "", READ)


def _causes() -> dict[str, set[str]]:
    found = {}
    for file in sorted(BUCKETS.glob("*.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        found[data["id"]] = {"", *(cause["id"] for cause in data.get("cause", []))}
    return found


def test_every_row_speaks_the_words_of_the_buckets_and_of_the_catalogue() -> None:
    causes = _causes()
    rows = messages.catalogue()

    wrong = [
        row for row in rows
        if row.label.cause not in causes.get(row.label.bucket, set()) or row.label.owner not in messages.OWNERS
        or row.label.fatal not in messages.FATAL or row.label.by not in messages.BY or row.kind not in messages.KINDS
    ]  # fmt: skip

    assert [] == wrong
    assert len({(row.package, row.template) for row in rows}) == len(rows)


@pytest.mark.parametrize("package", messages.packages())
def test_every_file_stands_as_it_would_be_written(package: str) -> None:
    written = (Path(messages.FOLDER) / f"{package}.tsv").read_text(encoding="utf-8")

    assert written == messages.to_text(messages.read(package))


@pytest.mark.parametrize("line", ["no columns\n", "a\traise E\tf\t1\t\t\tonly a bucket\n"])
def test_a_line_that_is_no_row_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no row of the catalogue"):
        list(messages.from_text("vllm", ["# a\n", line]))
    with pytest.raises(ValueError, match="no row of the catalogue"):
        list(messages.from_text("vllm", ["a\traise E\tf\t1\t\t\n"]))


def test_the_longest_prefix_of_a_module_labels_it_and_a_warning_is_no_failure() -> None:
    assert "lora" == by_place("vllm", "config/lora", "raise", "ValueError").bucket
    assert "invalid_argument" == by_place("vllm", "config/loratory", "raise", "ValueError").bucket
    assert ("no_failure", "survived") == _told(by_place("vllm", "config/lora", "log", "WARNING"))
    assert ("lora", "any") == _told(by_place("vllm", "config/lora", "log", "ERROR"))
    assert "unknown" == by_place("another", "config", "raise", "ValueError").bucket


def _told(label: Label) -> tuple[str, str]:
    return label.bucket, label.fatal


def test_a_new_mining_keeps_what_was_read_and_native_texts() -> None:
    entry = Entry(ROW.template, "raise", "ValueError", "0.1.0", "0.2.0", [("vllm/config/cache.py", "check")])
    other = Entry("Quite another message", "raise", "KeyError", "0.1.0", "0.1.0", [("vllm/lora/a.py", "load")])
    native = replace(ROW, template="illegal memory access", kind="native", name="")

    rows = merged("vllm", [entry, other], [ROW, native], "0.2.0")

    assert [native, ROW, ("Quite another message", "lora", "place", "0.1.0")] == [
        rows[0], rows[1], (rows[2].template, rows[2].label.bucket, rows[2].label.by, rows[2].last),
    ]  # fmt: skip


def test_of_neighbours_only_the_catalogued_modules_and_no_warnings_or_assertions() -> None:
    entries = [
        Entry("Driver is missing", "raise", "RuntimeError", "1", "1", [("torch/cuda/__init__.py", "init")]),
        Entry("Driver was missing", "log", "WARNING", "1", "1", [("torch/cuda/__init__.py", "init")]),
        Entry("Driver must be there", "assert", "AssertionError", "1", "1", [("torch/cuda/__init__.py", "init")]),
        Entry("Nobody comes here", "raise", "RuntimeError", "1", "1", [("torch/onnx/__init__.py", "init")]),
    ]

    assert ["Driver is missing"] == [row.template for row in merged("torch", entries, [], "1")]


def test_the_command_mines_a_folder_into_a_catalogue_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "0.1.0" / "vllm" / "lora" / "a.py"
    source.parent.mkdir(parents=True)
    source.write_text("raise ValueError('No such adapter anywhere')\n", encoding="utf-8")
    target = tmp_path / "catalogue"
    target.mkdir()

    assert 0 == main(["mine", "vllm", str(tmp_path / "0.1.0"), "--folder", str(target)])

    assert "vllm: 1 messages, 1 of them labelled by their place alone\n" == capsys.readouterr().out
    assert "# lora/a\nNo such adapter anywhere\traise ValueError\t<module>\t1\t0.1.0\t\n" == (
        target / "vllm.tsv"
    ).read_text(encoding="utf-8")
