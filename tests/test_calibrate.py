"""How sure each way of deciding is: counted by ``benchmarks/calibrate.py``, and what it wrote is what answers say."""

from __future__ import annotations

import pytest

from benchmarks.calibrate import Seen, answers, error, fitted, group, held_out, module, moved
from tests.classifier.verdict.logs import ANSWERED, DEAD, OOM, READY, START
from tests.damaged import Log
from tests.hidden import Hider
from vllm_triage.classifier.verdict import measured, policy

HALF = [Seen("process_died", 0.8, number < 10, None, f"a{number}") for number in range(20)]


def test_a_way_says_from_then_on_how_often_it_was_right() -> None:
    numbers = fitted(HALF)

    assert moved(HALF[0], numbers) == pytest.approx(0.5)


def test_what_is_hidden_counts_less() -> None:
    wrong = [Seen("process_died", 0.8, False, "message", f"b{number}") for number in range(20)]
    seen = [Seen("process_died", 0.8, True, None, f"a{number}") for number in range(20)]

    assert 0.5 < moved(seen[0], fitted(seen + wrong)) < 0.8


def test_ways_of_few_answers_and_rules_that_know_their_words_keep_their_numbers() -> None:
    few = HALF[:5]
    certain = [Seen("certain", 0.985, False, None, f"a{number}") for number in range(20)]

    assert {} == fitted(few + certain)


def test_the_trust_in_the_model_is_what_is_left_above_an_even_chance() -> None:
    seen = [Seen("model", 0.8, number < 13, None, f"a{number}") for number in range(20)]

    assert moved(seen[0], fitted(seen)) == pytest.approx(14 / 22)


def test_held_out_answers_are_scored_by_the_numbers_of_other_threads() -> None:
    """All of one thread are in one fifth: what they would teach of themselves is not used."""
    one = [Seen("process_died", 0.8, False, None, "the same") for _ in range(20)]

    assert [0.8] * 20 == [confidence for _, confidence in held_out(one)]
    assert error((item, item.confidence) for item in one) == pytest.approx(0.8)


@pytest.mark.parametrize("name", ["vllm#5198-1", "vllm#5198-w"])
def test_excerpts_of_one_thread_are_one_group(name: str) -> None:
    assert "vllm#5198" == group(name)


def test_what_is_written_holds_the_new_numbers_and_nothing_else() -> None:
    text = module({"process_died": -0.1, "model": 0.5})

    assert f'"process_died": {round(measured.SURE["process_died"] - 0.1, 2)},' in text
    assert f'"model": {round(measured.TRUST["model"] / 2, 2)},' in text
    assert f'"message": {measured.SURE["message"]},' in text


def test_each_answer_tells_its_way() -> None:
    """A cause, a dead engine, a server that came up; and the rule's own message hidden."""
    logs = [
        Log("oom", START + OOM, frozenset({"kv_cache_oom", "runtime_oom", "model_load_oom"})),
        Log("dead", START + READY + DEAD, frozenset({"engine_dead"})),
        Log("up", START + READY + ANSWERED, frozenset({"no_failure"})),
    ]
    seen = list(answers(logs, Hider()))

    assert ["engine_dead", "came_up"] == [item.way for item in seen[1:3]]
    assert seen[0].way in policy.CONFIDENCE
    assert measured.SURE["engine_dead"] == seen[1].confidence
    assert {"message"} <= {item.hidden for item in seen[3:]}


def test_a_wrapper_that_names_its_cause_is_surer_than_one_that_tells_of_a_death() -> None:
    assert policy.WRAPPER["wrapper"] > policy.WRAPPER["engine_dead"]
    assert policy.WRAPPER["wrapper"] > policy.WRAPPER["process_died"]
    assert max(measured.SURE.values()) < policy.CONFIDENCE["certain"]
