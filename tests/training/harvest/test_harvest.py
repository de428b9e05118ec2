"""Starts that no rule names: which they are, which are alike, and what rule would name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.classifier.testing import RuleFile
from vllm_triage.corpus.store import load
from vllm_triage.training.harvest.clusters import Cluster, clusters
from vllm_triage.training.harvest.propose import propose
from vllm_triage.training.harvest.shapes import VALUE, common, shape_of, tokens
from vllm_triage.training.harvest.unnamed import Answer, telling, unnamed

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
PREFIX = "(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:708] "


def answer(number: int, line: str, **more: object) -> Answer:
    """Return a start whose deciding line nobody knows."""
    given = {
        "id": f"{number}-1", "log": str(number), "source": f"{number}.log", "day": f"2026-11-{1 + number % 20:02}",
        "release": "0.19.1", "bucket": "unknown", "cause": "unknown/unrecognised_failure", "confidence": 0.5,
        "decided_by": "none", "failed": True, "came_up": False, "followed": False, "evidence": (PREFIX + line,),
        "context": (), "ending": (), "alternatives": ("unknown", "kv_cache_oom"), **more,
    }  # fmt: skip
    return Answer(**given)  # type: ignore[arg-type]


def groups(*answers: Answer) -> list[Cluster]:
    """Return the clusters of some starts."""
    return clusters(unnamed(answers))


def harbor(number: int) -> Answer:
    """Return a start that fails with words of a plug-in that nobody knows."""
    return answer(
        number, f"RuntimeError: harbor plugin refused berth {number} at '/srv/dock-{number}': tide below {number}.5 m"
    )


def quay(number: int) -> Answer:
    """Return one that fails with others."""
    return answer(number, f"ValueError: crane schedule of quay {number} overlaps with the night shift of {number * 3}")


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, True),
        ({"bucket": "lora", "cause": "lora/rank_too_high", "decided_by": "rule", "confidence": 0.98}, False),
        ({"bucket": "lora", "cause": "lora/rank_too_high", "decided_by": "rule", "confidence": 0.5}, True),
        ({"bucket": "lora", "cause": "lora/unspecified", "decided_by": "model", "confidence": 0.9}, True),
        ({"bucket": "lora", "cause": "lora/x", "decided_by": "rule", "confidence": 0.9, "strength": "weak"}, True),
        ({"bucket": "lora", "cause": "lora/x", "decided_by": "rule", "confidence": 0.9, "strength": "strong"}, False),
        ({"bucket": "no_failure", "cause": "no_failure/came_up", "failed": False, "decided_by": "stage"}, False),
        (
            {
                "bucket": "no_failure",
                "cause": "no_failure/still_starting",
                "failed": False,
                "ending": ("boom: cannot go on",),
            },
            True,
        ),
    ],
)
def test_what_counts_as_not_named(more: dict[str, object], counts: bool) -> None:
    """Unknown, guessed, weakly told, or by a rule that catches what no other knows; and logs that end before the server came up, for no reason that anybody knows."""
    assert bool(list(unnamed([answer(1, "RuntimeError: harbor", **more)]))) is counts


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "RuntimeError: harbor"),
        ({"evidence": ("x", "KeyError: 'a'")}, "KeyError: 'a'"),
        ({"evidence": (), "ending": ("usage: serve", "serve: error: unrecognized arguments: --a", "INFO 11-02 10:00:00 [a.py:1] bye")},
         "serve: error: unrecognized arguments: --a"),
        ({"evidence": ("pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",),
          "context": ("  Value error, harbor is closed [type=value_error]",)}, "Value error, harbor is closed [type=value_error]"),
        ({"evidence": ("  Berth should be a number [type=int_type, input_value='x', input_type=str]",
                       "pydantic_core._pydantic_core.ValidationError: 1 validation error for DockConfig")},
         "Berth should be a number [type=int_type, input_value='x', input_type=str]"),
        ({"evidence": (PREFIX + "EngineCore failed to start.",), "unread": (PREFIX + "OSError: no berth left",)}, "OSError: no berth left"),
        ({"evidence": ("KeyError: 'a'",), "unread": ("OSError: no berth left",)}, "KeyError: 'a'"),
    ],
)  # fmt: skip
def test_the_line_that_tells_most(more: dict[str, object], line: str) -> None:
    """An exception, words of failure, what pydantic wraps, what no rule has read."""
    found = telling(answer(1, "RuntimeError: harbor", **more))
    assert found is not None
    assert found[1] == line


def test_news_of_a_healthy_server_tell_nothing() -> None:
    """Nothing can be named by them."""
    assert telling(answer(1, "", evidence=("INFO 11-02 10:00:00 [a.py:1] all is well",))) is None


def test_shapes_leave_values_out() -> None:
    """Numbers, paths, quotations and lists."""
    one = shape_of("RuntimeError: berth 7 at '/srv/a b': [1, 2] of 3.5 GiB, https://a/b")
    assert one == shape_of("RuntimeError: berth 88 at '/srv/c': [3] of 17 GiB, https://c/d?e=1")
    assert one == "runtimeerror berth # at # of # gib"


def test_a_list_that_is_cut_off_is_a_value() -> None:
    """Long lists end where lines are cut."""
    assert shape_of(f"ValueError: no such crane, there are ['a', {', '.join(map(repr, range(200)))}]") == shape_of(
        "ValueError: no such crane, there are ['b']"
    )


def test_common_tokens_keep_their_order() -> None:
    """What differs is a gap, the same values too."""
    assert common(["a 1 b c", "a 2 x c"]) == ["a", " ", VALUE, " ", VALUE, " ", "c"]
    assert common(["a b"]) == tokens("a b") == ["a", " ", "b"]


def test_starts_that_fail_alike_stand_together() -> None:
    """With their number, days, releases, examples and nearest bucket; a few are no group."""
    parts = [harbor(number) for number in range(1, 7)] + [quay(number) for number in range(10, 14)]
    first, second = groups(*parts, answer(99, "OSError: seldom seen"))
    assert (first.logs, second.logs) == (6, 4)
    assert (first.first, first.last, first.releases, first.nearest) == (
        "2026-11-02",
        "2026-11-07",
        ("0.19.1",),
        "kv_cache_oom",
    )
    assert len(first.examples()) == 3
    assert first.id == groups(*parts)[0].id


def test_wordings_of_one_failure_are_put_together() -> None:
    """Releases reword; figures and singulars change."""
    old = [
        answer(n, f"RuntimeError: harbor plugin refused berth {n}: the tide is {n} m below the mark of the dock")
        for n in range(3)
    ]
    new = [
        answer(n, f"RuntimeError: harbor plugin refused berths {n}: the tide is {n} m under the mark of the dock")
        for n in range(10, 13)
    ]
    (cluster,) = groups(*old, *new)
    assert (cluster.logs, len(cluster.shapes)) == (6, 2)


def test_what_a_release_supports_does_not_part_failures() -> None:
    """The values of a line weigh nothing: lists of names are longer than the words around them."""
    few = [answer(n, f"RuntimeError: crane kind{n} is none of 'gantry', 'jib', 'ship to shore'") for n in range(3)]
    many = [
        answer(n, f"RuntimeError: crane sort{n} is no kind of 'luffing', 'tower', 'mobile', 'deck', 'floating', 'rail'")
        for n in range(10, 13)
    ]
    assert [cluster.logs for cluster in groups(*few, *many)] == [6]


def test_a_crash_loop_is_one_log() -> None:
    """Starts of one log make no group."""
    assert groups(*(answer(1, "RuntimeError: harbor closed", id=f"1-{start}") for start in range(50))) == []


def test_nothing_and_one_shape_alone() -> None:
    """There is nothing to compare."""
    assert groups() == []
    assert len(groups(harbor(1), harbor(2), harbor(3))) == 1


def test_a_proposed_rule_names_its_cluster_and_passes_the_check(tmp_path: Path) -> None:
    """It stands on its own: pattern, examples, counter-examples; the engine answers with it."""
    found = groups(*(harbor(number) for number in range(1, 7)), *(quay(number) for number in range(10, 14)))
    made = propose(found[0], found, load())
    assert (made.problem, made.covers) == ("", 6)
    path = tmp_path / f"{made.bucket}.toml"
    path.write_text(made.entitled("The harbor is closed").text)
    rules = RuleFile(path)
    assert rules.complaints() == []
    report = rules.triage.report(
        PREFIX + "RuntimeError: harbor plugin refused berth 41 at '/elsewhere': tide below 9 m"
    )
    assert (report.bucket, report.title) == (made.bucket, "The harbor is closed")
    (rule,) = rules.bucket.rules
    assert len(rule.match) == 3
    assert "crane schedule" in rule.reject[0]


def test_what_says_too_little_gets_no_rule() -> None:
    """The class of an exception names nothing."""
    found = groups(*(answer(number, f"RuntimeError: {number}") for number in range(4)))
    assert "share too little" in propose(found[0], found, load()).problem


def test_the_class_of_an_exception_of_its_own_says_something() -> None:
    """Nothing but an import raises it."""
    found = groups(*(answer(number, f"ModuleNotFoundError: No module named 'crane{number}'") for number in range(4)))
    assert "ModuleNotFoundError: No module named" in propose(found[0], found, load()).text


def test_what_healthy_servers_print_too_gets_no_rule() -> None:
    """A rule for it would raise false alarms."""
    found = groups(*(harbor(number) for number in range(1, 5)))
    healthy = [harbor(77).evidence[0].removeprefix(PREFIX)]
    assert "harmless" in propose(found[0], found, load(), healthy).problem


def test_wrappers_get_no_rule() -> None:
    """They only say that something else failed."""
    line = "RuntimeError: Engine core initialization failed. See root cause above."
    found = groups(*(answer(number, line) for number in range(4)))
    assert "engine_dead/v1-core-init-failed" in propose(found[0], found, load()).problem
