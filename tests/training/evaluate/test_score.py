"""The arithmetic of an evaluation, against values worked out by hand."""

from __future__ import annotations

import json

import pytest

from vllm_triage.training.evaluate import report_text as tables
from vllm_triage.training.evaluate.comparison import compare
from vllm_triage.training.evaluate.score import Answer, Score, right, score
from vllm_triage.training.evaluate.statistics import bins, calibration_error, interval
from vllm_triage.training.examples.labelled import Case


def case(number: int, bucket: str, *also: str, evidence: str = "") -> Case:
    """A labelled log without a text."""
    return Case(str(number), bucket, f"cases.jsonl:{number}", also=also, evidence=(evidence,) if evidence else ())


# Six failures and three quiet logs, each with its answer.
PAIRS = [
    (
        case(1, "lora", evidence="\x1b[1;31mrank\x1b[0m 64 is too high"),
        Answer("lora", 0.95, evidence=("E: rank 64  is too high",)),
    ),
    (case(2, "lora"), Answer("no_gpu", 0.85, decided_by="model")),
    (case(3, "lora"), Answer("unknown", 0.4, first="lora")),
    (case(4, "no_gpu", "gpu_fault"), Answer("gpu_fault", 0.75, decided_by="model")),
    (case(5, "no_gpu"), Answer("no_failure", 0.9)),
    (case(6, "no_gpu", evidence="no such line"), Answer("no_gpu", 0.95, evidence=("another line",))),
    (case(7, "no_failure"), Answer("no_failure", 0.9)),
    (case(8, "no_failure"), Answer("unknown", 0.5)),
    (case(9, "unknown"), Answer("no_failure", 0.7)),
]


@pytest.fixture
def result() -> Score:
    """The score of all nine."""
    return Score("x", PAIRS)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0), (0, 0, 0.0, 1.0)],
)
def test_intervals_are_wilsons(count: int, total: int, low: float, high: float) -> None:
    """As tables of them have it."""
    assert interval(count, total) == pytest.approx((low, high), abs=5e-5)


def test_failures_are_counted_once_each(result: Score) -> None:
    """Accepted, wrong, unknown and silent are all failures there are."""
    assert (result.accepted, result.wrong, result.unknown, result.silent) == (3, 1, 1, 1)
    assert len(result.failures) == result.accepted + result.wrong + result.unknown + result.silent
    assert result.firsts == 4


def test_alarms_are_answers_on_quiet_logs(result: Score) -> None:
    """A healthy log that is answered `unknown` alarms somebody; other software answered `no_failure` does not."""
    assert (len(result.quiet), result.alarms) == (3, 1)
    assert result.right == 5


def test_what_is_as_fair_counts_as_the_label(result: Score) -> None:
    """The answer that was fair is the truth of its case."""
    found = result.buckets()
    assert (found["lora"].right, found["lora"].answered, found["lora"].labelled) == (1, 1, 3)
    assert (found["lora"].precision, found["lora"].recall, found["lora"].f1) == pytest.approx((1.0, 1 / 3, 0.5))
    assert (found["no_gpu"].right, found["no_gpu"].answered, found["no_gpu"].labelled) == (1, 2, 2)
    assert (found["gpu_fault"].right, found["gpu_fault"].answered, found["gpu_fault"].labelled) == (1, 1, 1)


def test_the_calibration_error_is_worked_out_by_bins(result: Score) -> None:
    """Bins: 0.95 twice, both right; 0.85, wrong; 0.75, right: (2 × 0.05 + 0.85 + 0.25) / 4."""
    assert result.named == [(0.95, True), (0.85, False), (0.75, True), (0.95, True)]
    assert result.error == pytest.approx(0.30)
    assert bins(result.named) == [(0.75, 1.0, 1), (0.85, 0.0, 1), (0.95, 1.0, 2)]
    assert calibration_error([]) == 0.0
    assert calibration_error([(1.0, True)]) == 0.0


def test_model_decided_answers_are_counted_apart(result: Score) -> None:
    """One of two is right."""
    assert result.decided_by("model") == (1, 2)


def test_evidence_counts_where_the_label_names_a_line(result: Score) -> None:
    """Blanks and colours do not matter; one of the two is shown."""
    assert result.proved() == (1, 2)


def test_causes_count_where_the_bucket_is_right() -> None:
    """Of three with a cause in the label, two are named, one of them rightly."""
    labelled = [Case(str(n), "lora", "x:1", cause="lora/rank_too_high") for n in range(4)]
    told = ("lora/rank_too_high", "lora/lora_settings", "lora/unspecified")
    pairs = [(case, Answer("lora", 0.9, cause=cause)) for case, cause in zip(labelled, told, strict=False)]
    pairs.append((labelled[3], Answer("no_gpu", 0.9, cause="no_gpu/cpu_only_torch")))
    assert Score("x", pairs).causes() == (1, 2, 3)


def test_two_ways_are_compared_case_by_case(result: Score) -> None:
    """The other way has four more right and one less: McNemar's exact test by hand, 2 × (1 + 5) / 2⁵."""
    other = Score("y", [(item, Answer(item.bucket, 0.9)) for item, _ in PAIRS])
    other.pairs[0] = (other.pairs[0][0], Answer("no_gpu", 0.9))
    found = compare(result, other)
    assert (found.both, found.first_alone, found.second_alone, found.neither) == (4, 1, 4, 0)
    assert (found.first_wrong, found.second_wrong) == (1, 1)
    assert found.chance == pytest.approx(0.375)
    told = tables.versus(result, other, found)
    assert "x has 3 more misses, as many wrong answers" in told


def test_other_cases_cannot_be_compared(result: Score) -> None:
    """Nothing would be paired."""
    with pytest.raises(ValueError, match="same cases"):
        compare(result, Score("y", PAIRS[:3]))


def test_all_cases_are_answered_in_order() -> None:
    """By the way given."""
    made = score("z", [item for item, _ in PAIRS], lambda item: Answer(item.bucket, 1.0))
    assert [item.id for item, _ in made.pairs] == [item.id for item, _ in PAIRS]
    assert all(right(*pair) for pair in made.pairs)


def test_the_matrix_shows_labels_down_and_answers_across(result: Score) -> None:
    """Rows are numbered; columns bear the numbers."""
    rows = tables.confusion(result).splitlines()
    names = [row[4:14].split()[0] for row in rows[2:]]
    assert names == ["lora", "no_failure", "no_gpu", "unknown"]
    assert rows[2].split() == ["1", "lora", "1", "·", "1", "1"]
    assert rows[4].split() == ["3", "no_gpu", "·", "1", "2", "·"]


def test_a_big_matrix_shows_what_is_confused() -> None:
    """Thirty buckets without a miss are left out."""
    pairs = [(case(number, f"bucket_{number}"), Answer(f"bucket_{number}", 1.0)) for number in range(30)]
    pairs.append((case(99, "lora"), Answer("no_gpu", 0.9)))
    told = tables.confusion(Score("x", pairs))
    assert "the 2 most confused of 32 buckets" in told
    assert " lora" in told
    assert " no_gpu" in told


def test_misses_say_where_they_are(result: Score) -> None:
    """File and line, to be opened at once."""
    told = tables.misses(result, 10)
    assert "cases.jsonl:3  lora -> unknown (nearest: lora)  0.40  3" in told
    assert "cases.jsonl:1 " not in told


def test_data_holds_every_share_with_its_interval(result: Score) -> None:
    """Ready for JSON, without a value that JSON does not know."""
    data = json.loads(json.dumps(tables.as_data(result), allow_nan=False))
    assert data["accepted"] == {"count": 3, "of": 6, "share": 0.5, "interval": [0.1876, 0.8124]}
    assert [item["where"] for item in data["misses"]] == [f"cases.jsonl:{number}" for number in (2, 3, 8, 5)]


def test_nothing_to_divide_by_is_no_error() -> None:
    """No failures, no answers."""
    empty = Score("x", PAIRS[6:7])
    assert "answered as they should be" in tables.summary(empty)
    assert tables.as_data(empty)["accepted"]["share"] is None
    assert tables.beside([empty]).count("\n") == 2


@pytest.mark.slow
def test_pictures_are_drawn_and_are_the_same_each_time(result: Score, tmp_path) -> None:
    """As PNG; with every answer right, and with none that names a failure."""
    pytest.importorskip("matplotlib")
    from vllm_triage.training.evaluate import plots

    for name, item in (("a", result), ("b", result), ("c", Score("c", PAIRS[6:]))):
        plots.confusion(item, tmp_path / f"{name}.png")
        plots.reliability(item, tmp_path / f"{name}-r.png")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a-r.png").read_bytes() == (tmp_path / "b-r.png").read_bytes()
