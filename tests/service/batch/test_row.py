"""What a start comes to as a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.service.batch.logs import CHANGED, no_cache, port_taken
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.log import Log
from vllm_triage.service.batch.row import COLUMNS, NOT_READ, Row
from vllm_triage.service.batch.store.formats import Data, JsonLines, Parquet, arrow_schema
from vllm_triage.service.batch.store.pending import plain
from vllm_triage.service.batch.work import rows_of


def rows(text: str, name: str = "gpu-7/server.log", pattern: str = "", **more: object) -> list[Row]:
    """Return the rows of a log."""
    log = Log(name, len(text), "1", CHANGED, text.encode(), **more)  # type: ignore[arg-type]
    return rows_of(log, Asking(), re.compile(pattern) if pattern else None)


def test_a_row_for_each_start() -> None:
    """Numbered in their order, with ids that no other start has."""
    first, second = rows(no_cache() + port_taken(2))
    assert (first.bucket, second.bucket) == ("kv_cache_oom", "port_in_use")
    assert (first.start, second.start, first.followed, second.followed) == (1, 2, True, False)
    assert first.log == second.log
    assert (first.id, second.id) == (f"{first.log}-1", f"{first.log}-2")
    assert (first.day, first.begun, first.ended) == ("2026-11-02", "2026-11-02T10:01:00", "2026-11-02T10:01:30")
    assert (first.release, first.failed, first.came_up) == ("0.19.1", True, False)
    assert first.evidence[0].text.endswith("No available memory for the cache blocks.")
    assert first.fixes
    assert first.template == "ValueError no available memory for the cache blocks"


def test_the_rule_that_decided_and_what_it_left_unread() -> None:
    """What a start ended with is kept where no rule, or a weak one, speaks: nobody has read what failed."""
    (sure,) = rows(no_cache())
    assert (sure.rule, sure.strength, sure.ending, sure.unread) == (
        "kv_cache_oom/no-available-memory",
        "certain",
        (),
        (),
    )
    (weak,) = rows("""Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/vllm/lora/worker_manager.py", line 90, in load
    self.berth()
RuntimeError: the seventh berth is gone
""")
    assert (weak.strength, weak.ending[-1].text) == ("weak", "RuntimeError: the seventh berth is gone")


def test_what_the_path_tells_fills_what_the_log_does_not() -> None:
    """The log goes before its path, but for node and day."""
    pattern = r"(?P<node>gpu-\d+)/v(?P<release>[\d.]+)/(?P<day>\d{4}-\d\d-\d\d)/(?P<model>[^/]+)"
    (row,) = rows(no_cache(), "gpu-7/v0.1.0/2026-01-02/tiny/server.log", pattern)
    assert (row.node, row.release, row.day, row.model) == ("gpu-7", "0.19.1", "2026-01-02", "tiny")
    (row,) = rows(no_cache(), "elsewhere.log", pattern)
    assert (row.node, row.day) == ("", "2026-11-02")


def test_a_log_without_times_is_of_the_day_it_was_changed() -> None:
    """Better than no day at all."""
    (row,) = rows("OSError: [Errno 98] Address already in use\n")
    assert (row.day, row.begun) == ("2026-11-03", "")


def test_a_log_that_cannot_be_read_has_a_row() -> None:
    """Nothing is left out in silence."""
    (row,) = rows("", problem="is encrypted")
    assert (row.bucket, row.start, row.failed, row.problem) == (NOT_READ, 0, False, "is encrypted")
    (row,) = rows("\0" * 50)
    assert "empty" in row.problem


def test_one_log_never_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of our own is one log's."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("vllm_triage.service.batch.work.row_of", fail)
    (row,) = rows(no_cache())
    assert row.problem == "internal error, please report it: ZeroDivisionError: oh"


def test_secrets_in_names_are_masked() -> None:
    """Signed URLs open what they name."""
    (row,) = rows(no_cache(), "https://logs.example/a.log?X-Amz-Signature=" + "0123456789abcdef" * 4)
    assert "0123456789abcdef" not in row.source


@pytest.mark.parametrize("form", [Parquet(), JsonLines()], ids=["parquet", "jsonl"])
def test_rows_come_back_as_they_were_written(form: Parquet | JsonLines) -> None:
    """Both forms hold the same."""
    if isinstance(form, Parquet):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    wanted = [as_read(plain(row)) for row in rows(no_cache() + port_taken(2)) + rows("")]
    data = form.encode(wanted)
    assert form.decode(data) == wanted
    assert form.decode(data, ("id",)) == [{"id": row["id"]} for row in wanted]
    assert form.decode(data, ("id", "of_a_later_release"))[0]["of_a_later_release"] is None


def test_the_columns_have_types_whatever_stands_in_them() -> None:
    """An empty list has a type as well: files of different rows fit together."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    schema = arrow_schema()
    assert tuple(schema.names) == COLUMNS
    assert not any(pyarrow.types.is_null(kind) for kind in schema.types)


def test_the_page_has_every_column() -> None:
    """docs/scale.md lists what a row holds."""
    page = (Path(__file__).parents[3] / "docs" / "scale.md").read_text()
    listed = re.findall(r"(?m)^\| ((?:`\w+`(?:, )?)+) \|", page)
    told = [name for group in listed for name in re.findall(r"`(\w+)`", group)]
    assert sorted(name for name in told if name in COLUMNS) == sorted(COLUMNS)


def as_read(row: Data) -> Data:
    """Return a row with lists where it had tuples."""
    return {name: [dict(item) for item in value] if isinstance(value, tuple) else value for name, value in row.items()}
