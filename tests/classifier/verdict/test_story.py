"""What happened is told apart from what is wrong: which start, what died first, what was overcome, how much was hit."""

from __future__ import annotations

import re

from tests.classifier.serving.made import cache_full, log
from tests.classifier.verdict.logs import ANSWERED, DEAD, OOM, READY, START, STOPPED, STRANGE, TRIAGE
from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Story

PORT = "ERROR 11-02 10:00:30 [api_server.py:1] OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use\n"
TOO_LONG = "ERROR 11-02 10:05:00 [serving_chat.py:200] ValueError: This model's maximum context length is 8192 tokens. However, you requested 9{:03} tokens (8488 in the messages, 512 in the completion). Please reduce the length of the messages or completion.\n"


def story(text: str) -> Story:
    told = TRIAGE.report(text).story
    assert told is not None
    return told


def test_the_start_that_is_answered_for_is_counted_among_those_that_did_not_come_up() -> None:
    told = story((START + OOM) * 3)

    assert ("start", 3, 3, 3) == (told.scope, told.start, told.starts, told.starts_failed)
    assert (13, 15) == (told.first, told.last) or told.first > 10
    assert told.told[0].startswith("The log holds 3 starts; 3 did not come up; this is about start 3")


def test_a_restart_that_has_got_nowhere_yet_is_not_what_it_is_about() -> None:
    told = story(START + OOM + "INFO 11-02 10:06:00 [api_server.py:1090] vLLM API server version 0.11.0\n")

    assert (1, 2, 1) == (told.start, told.starts, told.starts_failed)


def test_what_another_program_says_of_a_restart_tells_less_than_the_start_before() -> None:
    restart = "INFO 11-02 10:06:00 [api_server.py:1090] vLLM API server version 0.11.0\n"
    report = TRIAGE.report(START + OOM + restart + "CogStatusException: the container did not pass its health check.\n")

    assert "model_load_oom" == report.bucket


def test_a_start_that_goes_on_has_not_failed() -> None:
    assert 0 == story(START).starts_failed


def test_what_a_server_got_over_is_history() -> None:
    """It failed before the server came up all the same."""
    told = story(START + PORT + READY + ANSWERED + STOPPED)

    assert [5] == [item.line for item in told.overcome]
    assert any("line 5" in sentence for sentence in told.told)


def test_what_failed_after_it_came_up_is_not_overcome() -> None:
    told = story(START + READY + ANSWERED + OOM + DEAD)

    assert ("server", ()) == (told.scope, told.overcome)


def test_the_first_error_is_the_cause_and_the_rest_follows_from_it() -> None:
    told = story(START + READY + OOM + DEAD)

    assert told.died_first is not None
    assert 7 == told.died_first.line
    assert "The first error is on line 7 in EngineCore_DP0; line 8 follows from it." in told.told


def test_what_failed_before_the_deciding_line_is_told() -> None:
    """An exception that no rule knows stands before the one that decides."""
    told = story(START + READY + STRANGE + OOM + DEAD)

    assert told.died_first is not None
    assert 10 == told.died_first.line
    assert any("CogError" in sentence for sentence in told.told)


def test_requests_that_failed_are_counted() -> None:
    told = story(START + READY + ANSWERED + "".join(map(TOO_LONG.format, range(7))))

    assert ("requests", 7) == (told.scope, told.requests_failed)
    assert "It concerns single requests (7 were logged); the server itself went on." in told.told


def test_of_a_healthy_server_its_capacity_is_told() -> None:
    told = story(START + READY + ANSWERED)

    assert ("The KV cache holds 41,936 tokens.",) == told.told
    assert told.died_first is None


def test_a_request_of_the_full_context_that_does_not_fit_is_latent() -> None:
    cache = "(EngineCore_DP0 pid=77) INFO 11-02 10:00:31 [kv_cache_utils.py:1095] Maximum concurrency for 131,072 tokens per request: 0.32x\n"

    assert ["one request of the full context does not fit into the KV cache (0.32 of it does)"] == list(
        story(START + cache + READY + ANSWERED).latent
    )


def test_a_cache_that_was_full_is_latent_and_no_failure() -> None:
    """It was over before the end."""
    full = log(cache_full, 3, "0.32.0")
    last = full.rstrip().split("\n")[-1]
    calm = re.sub(
        r"Running: \d+ reqs, Waiting: \d+ reqs, (.*?usage: )[\d.]+%",
        r"Running: 1 reqs, Waiting: 0 reqs, \g<1>2.0%",
        last,
    )
    minutes = (re.sub(r"\d\d:\d\d:\d\d", f"10:{minute:02}:00", calm, count=1) for minute in range(20))
    report = shared().report(full + "\n".join(minutes))

    assert "no_failure" == report.bucket
    assert report.story is not None
    assert any("KV cache was full" in words for words in report.story.latent)


def test_line_numbers_are_those_of_the_input_where_it_was_mended() -> None:
    """Quoted twice over, and with a head."""
    text = "> " + (START + PORT + READY + ANSWERED + STOPPED).strip("\n").replace("\n", "\n> ")
    once = story("\n".join([text[:300].split("\n")[0], *text.split("\n")[1:]]))

    assert [5] == [item.line for item in once.overcome]


def test_there_are_at_most_three_sentences() -> None:
    told = story((START + OOM) + (START + PORT + READY + ANSWERED + STRANGE + OOM + DEAD))

    assert 3 >= len(told.told) >= 2


def test_what_nobody_has_read_is_told_besides_the_answer() -> None:
    """The answer may rest on another line than what failed first; its own exception is no other one."""
    beside = TRIAGE.report(START + OOM + STRANGE)
    alone = TRIAGE.report(START + STRANGE)

    assert beside.rule
    assert ["the seventh cog is gone"] == [item.text[-23:] for item in beside.unread]
    assert () == alone.unread
    assert () == TRIAGE.report(START + OOM).unread


def test_the_rule_that_decided_is_known_by_its_strength() -> None:
    """For who counts answers: how surely it speaks. No output format shows it."""
    told = TRIAGE.report(START + OOM)

    assert (told.rule.partition("/")[0], told.strength) == (told.bucket, "strong")
    assert not {"rule", "strength", "unread"} & set(told.to_dict())
    assert ("", "") == (TRIAGE.report(START + STRANGE).rule, TRIAGE.report(START + STRANGE).strength)
