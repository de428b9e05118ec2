"""A run does what is missing, once, by whichever engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.classifier.pack.logs import FAILURE, failing
from tests.service.batch.logs import fleet, no_cache, port_taken
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.question import Question
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.chunks import chunked
from vllm_triage.service.batch.engines.interface import Engine, Result, Work
from vllm_triage.service.batch.engines.local import Here, Processes
from vllm_triage.service.batch.log import Chunk, Log
from vllm_triage.service.batch.run import Tally, run
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.batch.work import Write
from vllm_triage.service.cli.main import main


class Dying(Here):
    """An engine that is stopped after its first chunk."""

    def run(self, work: Work[Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield one result."""
        yield next(super().run(work, chunks))
        raise KeyboardInterrupt


def _by_two(left: Iterable[Log], **_: int) -> Iterator[Chunk]:
    return chunked(left, 2)


def done(folder: Path, out: Path, form: str = "jsonl", **more: object) -> Tally:
    """Run over a folder in this process."""
    return run([str(folder)], Write(Asking(), str(out), form), Here(), **more)  # type: ignore[arg-type]


def rows(out: Path) -> list[str]:
    """Return all rows, in an order that depends on them alone."""
    return sorted(json.dumps(row, sort_keys=True) for row in read_rows(str(out)))


def test_a_second_run_reads_only_what_is_new(tmp_path: Path) -> None:
    """And what has grown, whose old rows go."""
    logs, out = fleet(tmp_path / "logs", 3), tmp_path / "out"
    first = done(logs, out)
    assert (first.logs, first.starts, first.skipped) == (3, 4, 0)
    (logs / "new.log").write_text(port_taken())
    (logs / "node-1" / "server-1.log").write_text(no_cache() + no_cache(9))
    second = done(logs, out)
    assert (second.logs, second.skipped) == (2, 2)
    found = list(read_rows(str(out)))
    assert len(found) == len({row["id"] for row in found}) == 6
    assert sum(row["source"].endswith("server-1.log") for row in found) == 2


def test_rules_of_ones_own_that_are_slow_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the end, with the starts in which they may have missed something."""
    slow = r"(?:[a ]{1,400}){8}\d refused"
    rule = f"""[[cause.rule]]\nid = "seat"\nrole = "cause"\npattern = '''{slow}'''\nmatch = ["{"a" * 20}1 refused"]\n"""
    head = 'id = "acme_slow"\ntitle = "Acme is slow"\nmeaning = "A seat is refused."\n'
    cause = '[[cause]]\nid = "seat"\ntitle = "A seat was refused"\nsummary = "A seat was refused."\n'
    (tmp_path / "acme_slow.toml").write_text(head + cause + rule)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(no_cache() + "a" * 700 + "! refused\n")
    words = ["batch", str(tmp_path / "logs"), "--out", str(tmp_path / "out"), "-j", "1", "--format", "jsonl"]
    assert 0 == main([*words, "--rules", str(tmp_path / "acme_slow.toml")])
    assert "missed something in 1 start: rule acme_slow/seat" in capsys.readouterr().err


def test_what_could_not_be_read_is_tried_again_where_asked(tmp_path: Path) -> None:
    """A log that was locked may be open by now."""
    logs, out = fleet(tmp_path / "logs", 1), tmp_path / "out"
    (logs / "empty.log").write_text("")
    assert done(logs, out).unread == 1
    assert done(logs, out).skipped == 2
    again = done(logs, out, again="failed")
    assert (again.logs, again.unread, again.skipped) == (1, 1, 1)
    assert sum(row["bucket"] == "not_read" for row in read_rows(str(out))) == 1


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_all_may_be_read_again(tmp_path: Path, form: str) -> None:
    """After new rules: the rows that were there go, also where they are all that a file holds."""
    logs, out = fleet(tmp_path / "logs", 3), tmp_path / "out"
    done(logs, out, form)
    before = rows(out)
    work = Write(Asking(Question(engine="rules"), without=("kv_cache_oom",)), str(out), form)
    assert run([str(logs)], work, Here(), again="all").logs == 3
    found = list(read_rows(str(out)))
    assert len(found) == len(before)
    assert not any(row["bucket"] == "kv_cache_oom" for row in found)


def test_a_run_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its workers had finished counts."""
    logs, out = fleet(tmp_path / "logs", 6), tmp_path / "out"

    monkeypatch.setattr("vllm_triage.service.batch.run.chunked", _by_two)
    work = Write(Asking(), str(out), "jsonl")
    with pytest.raises(KeyboardInterrupt):
        run([str(logs)], work, Dying())
    assert len({row["log"] for row in read_rows(str(out))}) == 2
    assert done(logs, out).logs == 4
    whole = tmp_path / "whole"
    done(logs, whole)
    assert rows(out) == rows(whole)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_processes_write_what_one_process_writes(tmp_path: Path, form: str) -> None:
    """Row for row."""
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    logs = fleet(tmp_path / "logs", 5)
    engine: Engine = Processes(2)
    run([str(logs)], Write(Asking(), str(tmp_path / "two"), form), engine)
    done(logs, tmp_path / "one", form)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


def test_reports_keep_their_form(tmp_path: Path) -> None:
    """Half of them in another form would be read by nobody."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    logs = fleet(tmp_path / "logs", 1)
    done(logs, tmp_path / "out")
    with pytest.raises(InputError, match="jsonl"):
        done(logs, tmp_path / "out", "parquet")


def test_no_reports_are_told(tmp_path: Path) -> None:
    """With the command that makes them."""
    with pytest.raises(InputError, match="vllm-triage batch"):
        list(read_rows(str(tmp_path)))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_names_that_are_no_text_are_read_like_others(tmp_path: Path, form: str) -> None:
    """A file system knows bytes: such a name is written with its bytes as escapes, each another one."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in (b"a-\xff.log", b"a-\xfe.log", b"b.log"):
        (folder / os.fsdecode(name)).write_text(port_taken(8000))
    assert done(folder, tmp_path / "out", form).starts == 3
    sources = {str(row["source"]).rpartition("/")[2] for row in read_rows(str(tmp_path / "out"))}
    assert sources == {r"a-\udcff.log", r"a-\udcfe.log", "b.log"}
    assert done(folder, tmp_path / "out", form).skipped == 3


def test_what_an_earlier_run_could_not_read_is_told_again(tmp_path: Path) -> None:
    """A run that has nothing left to do ends as the one before it did."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_bytes(b"\x7fELF\0\0\0" * 100)
    assert done(folder, tmp_path / "out").unread == 1
    again = done(folder, tmp_path / "out")
    assert (again.unread, again.skipped, again.skipped_unread) == (0, 1, 1)


def test_the_evidence_of_each_failure_is_a_file(tmp_path):
    """One for each that differs, with the question; starts that went well have none."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_text("\n".join(failing()) + "\n")
    (tmp_path / "logs/b.log").write_text("\n".join(failing()) + "\n")
    (tmp_path / "logs/c.log").write_text("INFO:     Application startup complete.\n")
    code = main(
        [
            "batch",
            str(tmp_path / "logs"),
            "--out",
            str(tmp_path / "out"),
            "--format",
            "jsonl",
            "-j",
            "1",
            "--packs",
            str(tmp_path / "packs"),
        ]
    )
    (file,) = (tmp_path / "packs").iterdir()

    assert 0 == code
    assert FAILURE in file.read_text()
    assert "Answer in this form" in file.read_text()
