"""What is counted, what is new, and what an upgrade changed."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.service.fleet.rows import row, rows
from vllm_triage.classifier.errors import InputError
from vllm_triage.service.fleet.counts import NOT_TOLD, count, several, week_of
from vllm_triage.service.fleet.summary import Summary, summarise

CACHE, PORT = "kv_cache_oom/context_exceeds_cache", "port_in_use/http_port_taken"


def told(*parts: object, since: str = "") -> Summary:
    """Return the summary of some rows."""
    return summarise(count(chain.from_iterable(parts)), since)  # type: ignore[arg-type]


def test_starts_and_logs_are_counted_apart() -> None:
    """A crash loop is many starts and one log."""
    loop = [row(1, CACHE, id=f"1-{start}", start=start) for start in range(1, 51)]
    summary = told(loop, rows(9, 10))
    assert (summary.all.starts, summary.all.failed, summary.all.logs, summary.all.failed_logs) == (59, 50, 10, 1)
    (cause,) = summary.causes
    assert (cause.id, cause.starts, cause.logs, cause.example) == (CACHE, 50, 1, "logs/1.log")


def test_counts_are_the_same_where_only_logs_with_several_starts_are_remembered() -> None:
    """A fleet's logs are many; what is remembered of them is bounded by the crash loops."""
    loop = [row(1, CACHE if start % 2 else PORT, id=f"1-{start}", start=start) for start in range(1, 6)]
    all_rows = [*loop, *rows(30, 10), *rows(12, 50, cause=CACHE, release="0.20.0")]
    again = several(all_rows)
    assert again == {"1"}
    counted = count(all_rows, again)
    assert summarise(counted) == summarise(count(all_rows))
    assert counted.all.logs.again == {"1"}
    assert len(counted.all.logs) == 43


def test_what_is_counted_by() -> None:
    """Values that a log does not tell have a name of their own."""
    summary = told([row(1, CACHE, node="gpu-7"), row(2, node="gpu-8"), row(3)])
    assert [(share.name, share.starts, share.failed) for share in summary.by["node"]] == [
        ("gpu-7", 1, 1),
        ("gpu-8", 1, 0),
        (NOT_TOLD, 1, 0),
    ]
    assert [share.name for share in summary.by["week"]] == ["2026-W45"]
    assert summary.weeks == {"2026-W45": {"kv_cache_oom": 1}}


def test_logs_that_could_not_be_read_are_no_starts() -> None:
    """They are counted by themselves."""
    summary = told([row(1), row(2, bucket="not_read", cause="", failed=False)])
    assert (summary.all.starts, summary.not_read) == (1, 1)


def test_what_is_new() -> None:
    """A cause is new that was never seen before, where there was a before."""
    old = [row(1, CACHE, "2026-11-01"), row(2, CACHE, "2026-11-12")]
    summary = told(old, [row(3, PORT, "2026-11-12")])
    assert summary.since == "2026-11-06"
    assert [cause.id for cause in summary.new] == [PORT]
    assert [cause.id for cause in told(old, [row(3, PORT, "2026-11-12")], since="2026-11-13").new] == []
    assert told([row(1, CACHE)]).new == ()


def test_new_lines_of_a_known_cause_are_counted() -> None:
    """The same cause in words that were never seen."""
    first, second = row(1, CACHE, "2026-11-01"), row(2, CACHE, "2026-11-12", signature="other words")
    (cause,) = told([first, second, row(3, CACHE, "2026-11-12")]).causes
    assert cause.new_signatures == 1


def test_a_day_that_is_none_is_told() -> None:
    """Before a page says nonsense."""
    with pytest.raises(InputError, match="is not a day"):
        told([row(1)], since="last week")


@pytest.mark.parametrize(("day", "week"), [("2026-11-02", "2026-W45"), ("2027-01-01", "2026-W53"), ("", ""), ("x", "")])
def test_weeks_are_those_of_iso(day: str, week: str) -> None:
    """New Year's week is of the year that has most of it."""
    assert week_of(day) == week


def test_an_upgrade_that_made_it_worse_is_told() -> None:
    """With the cause that did it."""
    before = rows(40, release="0.9.2")
    after = chain(rows(25, 100, release="0.10.0"), rows(15, 200, cause=CACHE, release="0.10.0"))
    (upgrade,) = told(before, after).upgrades
    assert (upgrade.before, upgrade.after, upgrade.all.verdict) == ("0.9.2", "0.10.0", "worse")
    assert [(change.what, change.verdict) for change in upgrade.causes] == [(CACHE, "worse")]
    assert upgrade.all.low > 0.1
    assert upgrade.all.grown == pytest.approx(0.375)


def test_an_upgrade_that_helped_is_told() -> None:
    """The other way round."""
    before = chain(rows(25, release="0.9.2"), rows(15, 200, cause=CACHE, release="0.9.2"))
    (upgrade,) = told(before, rows(40, 300, release="0.10.0")).upgrades
    assert (upgrade.all.verdict, upgrade.causes[0].verdict) == ("better", "better")


def test_a_small_difference_is_not_called_one() -> None:
    """Three of forty against two of forty says nothing."""
    before = chain(rows(38, release="0.9.2"), rows(2, 100, cause=CACHE, release="0.9.2"))
    after = chain(rows(37, 200, release="0.10.0"), rows(3, 300, cause=CACHE, release="0.10.0"))
    (upgrade,) = told(before, after).upgrades
    assert (upgrade.all.verdict, upgrade.causes) == ("no difference shown", ())


def test_a_crash_loop_does_not_condemn_a_release() -> None:
    """A hundred starts of one log are one failure."""
    loop = [row(999, CACHE, release="0.10.0", id=f"999-{start}") for start in range(100)]
    (upgrade,) = told(rows(20, release="0.9.2"), rows(19, 100, release="0.10.0"), loop).upgrades
    assert upgrade.all.verdict == "no difference shown"


def test_few_logs_and_no_release_are_not_compared() -> None:
    """Below eight logs nothing can be said."""
    parts = [
        rows(20, release="0.9.2"),
        rows(7, 100, release="0.10.0"),
        rows(20, 200, release=""),
        rows(9, 300, release="dev"),
    ]
    assert told(*parts).upgrades == ()


def test_releases_are_ordered_as_numbers() -> None:
    """0.9 comes before 0.10."""
    parts = [rows(8, index * 100, release=name) for index, name in enumerate(("0.10.0", "0.9.2", "0.11.0"))]
    assert [(upgrade.before, upgrade.after) for upgrade in told(*parts).upgrades] == [
        ("0.9.2", "0.10.0"),
        ("0.10.0", "0.11.0"),
    ]
