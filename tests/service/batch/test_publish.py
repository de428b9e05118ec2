"""Rows at rest: none is lost or doubled, wherever a kill falls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.service.batch.logs import CHANGED, no_cache, port_taken
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.log import Chunk, Log
from vllm_triage.service.batch.store import publish as publishing
from vllm_triage.service.batch.store.folder import Local
from vllm_triage.service.batch.store.formats import Format, JsonLines, Parquet
from vllm_triage.service.batch.store.layout import MARKER, PENDING, partition, parts_of
from vllm_triage.service.batch.store.pending import keep
from vllm_triage.service.batch.store.publish import publish, resume
from vllm_triage.service.batch.store.reader import done_in, read_rows
from vllm_triage.service.batch.work import rows_of

FORM = JsonLines()


class KilledError(Exception):
    """Stands for a kill."""


class Mortal(Local):
    """A folder whose process is killed before its n-th change."""

    def __init__(self, place: str, life: int) -> None:
        super().__init__(place)
        self.life = life

    def _live(self) -> None:
        self.life -= 1
        if self.life < 0:
            raise KilledError

    def write(self, name: str, data: bytes) -> None:
        """Write, or be killed."""
        self._live()
        super().write(name, data)

    def delete(self, name: str) -> None:
        """Delete, or be killed."""
        self._live()
        super().delete(name)


def log(name: str, version: str = "1", text: str = "") -> Log:
    """Return a log with two starts."""
    data = (text or no_cache() + port_taken(2)).encode()
    return Log(name, len(data), version, CHANGED, data)


def finish(folder: Local, chunk: Chunk, form: Format = FORM) -> None:
    """Write the rows of a chunk down."""
    keep(folder, form, chunk, [row for one in chunk for row in rows_of(one, Asking())])


def ids(place: Path) -> list[str]:
    """Return the ids of all rows, as who reads sees them."""
    return sorted(row["id"] for row in read_rows(str(place), ("id",)))


def prepared(place: Path) -> tuple[list[str], set[str]]:
    """Publish some rows, and have others wait, among them a newer version of one; return what is to come of it."""
    folder = Local(str(place))
    finish(folder, (log("a"), log("b")))
    publish(folder, FORM)
    old = log("b")
    finish(folder, (log("b", "2", port_taken()), log("c")))
    finish(folder, (log("d"),))
    wanted = [f"{one.id}-{start}" for one in (log("a"), log("c"), log("d")) for start in (1, 2)]
    return sorted([*wanted, f"{log('b', '2', port_taken()).id}-1"]), {old.id}


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Whoever comes next goes on, and who reads meanwhile sees each row once."""
    life, kills = 0, 0
    while True:
        place = tmp_path / str(life)
        wanted, outdated = prepared(place)
        try:
            publish(Mortal(str(place), life), FORM, outdated)
            break
        except KilledError:
            kills += 1
            seen = Counter(ids(place))
            assert max(seen.values()) == 1
            assert set(wanted) <= set(seen)
            resume(Local(str(place)), FORM)
            publish(Local(str(place)), FORM, outdated)
        assert ids(place) == wanted
        assert not Local(str(place)).names(PENDING)
        life += 1
    assert kills > 8
    assert ids(tmp_path / str(life)) == wanted


def test_a_chunk_that_two_workers_finished_counts_once(tmp_path: Path) -> None:
    """A worker that was given up for lost may come late: before, with, and after the other."""
    folder = Local(str(tmp_path))
    finish(folder, (log("a"), log("b")))
    finish(folder, (log("a"),))
    assert len(ids(tmp_path)) == 4
    publish(folder, FORM)
    finish(folder, (log("b"),))
    assert len(ids(tmp_path)) == 4
    publish(folder, FORM)
    assert len(ids(tmp_path)) == 4


def test_full_files_stay_and_what_comes_late_is_not_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file is not written again for each new row."""
    monkeypatch.setattr(publishing, "FULL", 10)
    folder = Local(str(tmp_path))
    finish(folder, (log("a"),))
    publish(folder, FORM)
    before = {name: folder.read(name) for name in folder.names("rows")}
    finish(folder, (log("b"), log("a")))
    publish(folder, FORM)
    assert all(folder.read(name) == data for name, data in before.items())
    assert len(ids(tmp_path)) == 4


def test_small_files_of_a_day_and_bucket_become_one(tmp_path: Path) -> None:
    """However many runs there were."""
    folder = Local(str(tmp_path))
    for name in "abcdef":
        finish(folder, (log(name, text=no_cache()),))
        publish(folder, FORM)
    assert len(folder.names("rows")) == 1
    assert len(ids(tmp_path)) == 6
    assert MARKER not in folder.names()


@pytest.mark.parametrize("form", [JsonLines(), Parquet()], ids=["jsonl", "parquet"])
def test_both_forms_publish_the_same(tmp_path: Path, form: Format) -> None:
    """New rows go before old ones of the same id, those of older logs go, each stands once, sorted; by several writers, too."""
    pytest.importorskip("pyarrow")
    folder = Local(str(tmp_path))
    finish(folder, (log("b"), log("a"), log("gone")), form)
    publish(folder, form)
    changed = [replace(row, title="anew") for row in rows_of(log("a"), Asking())]
    keep(folder, form, (log("a"),), changed)
    finish(folder, (log("c"), log("b")), form)
    publish(folder, form, {log("gone").id}, writers=3)
    files = [form.decode(folder.read(name)) for name in folder.names("rows")]
    assert all([row["id"] for row in rows] == sorted(row["id"] for row in rows) for rows in files)
    rows = {row["id"]: row for rows in files for row in rows}
    assert sorted(rows) == sorted(f"{log(name).id}-{start}" for name in "abc" for start in (1, 2))
    assert {row["source"] for row in rows.values() if row["title"] == "anew"} == {"a"}
    assert sum(map(len, files)) == 6


def test_rows_of_an_earlier_release_are_published_beside_new_ones(tmp_path: Path) -> None:
    """Columns that it did not write are empty."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    from vllm_triage.service.batch.store.formats import arrow_schema

    form, folder = Parquet(), Local(str(tmp_path))
    finish(folder, (log("a", text=no_cache()),), form)
    publish(folder, form)
    (name,) = folder.names("rows")
    old = pa.BufferOutputStream()
    kept = [own for own in arrow_schema().names if own != "template"]
    write_table(pa.parquet.read_table(pa.BufferReader(folder.read(name))).select(kept), old)
    folder.write(name, old.getvalue().to_pybytes())
    finish(folder, (log("b", text=no_cache()),), form)
    publish(folder, form)
    rows = {row["source"]: row["template"] for row in read_rows(str(tmp_path))}
    assert rows["a"] is None
    assert rows["b"]
    assert len(folder.names("rows")) == 1


def test_what_is_done_is_known_before_and_after_publishing(tmp_path: Path) -> None:
    """A run that was killed has not worked for nothing."""
    folder = Local(str(tmp_path))
    finish(folder, (log("a"), Log("gone", problem="is gone")))
    before = done_in(folder, FORM)
    publish(folder, FORM)
    assert before == done_in(folder, FORM)
    assert before.versions["a"] == log("a").id
    assert before.failed == {Log("gone").id}


def test_a_half_written_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is there as a whole or not at all."""
    folder = Local(str(tmp_path))

    def killed(_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", killed)
        with pytest.raises(KilledError):
            folder.write("rows/a.jsonl", b"{}")
    assert folder.names() == []
    (tmp_path / ".a.jsonl.1234").write_bytes(b"{")
    assert folder.names() == []


@pytest.mark.parametrize(("day", "bucket"), [("2026-11-02", "kv_cache_oom"), ("", "own/bucket"), ("a=b", "c")])
def test_partitions_tell_day_and_bucket(day: str, bucket: str) -> None:
    """Whatever people call a bucket of theirs."""
    assert parts_of(f"{partition(day, bucket)}/part-1.jsonl") == (day, bucket)
