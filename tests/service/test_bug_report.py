"""The report to vLLM's tracker: complete, masked, of a length that is taken."""

from __future__ import annotations

import re

import pytest

from tests.classifier.masking.planted import SECRETS
from tests.service.samples import failure, unknown
from vllm_triage.classifier import triage
from vllm_triage.classifier.command.shell import FRONT, as_run
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.report.model import Evidence
from vllm_triage.corpus.options import lifetime
from vllm_triage.corpus.records import replace
from vllm_triage.service.bug_report import MOST, TITLE, bug_report
from vllm_triage.service.excerpt import excerpt

TRACEBACK = """\
(APIServer pid=1) INFO 11-02 09:15:00 [api_server.py:1] vLLM API server version 0.32.0
(EngineCore pid=7) INFO 11-02 09:15:00 [core.py:1] starting
(EngineCore pid=7) ERROR 11-02 09:15:01 [core.py:2] EngineCore failed to start.
(EngineCore pid=7) Traceback (most recent call last):
(APIServer pid=1) INFO 11-02 09:15:01 [x.py:1] meanwhile
(EngineCore pid=7)   File "/opt/vllm/v1/core.py", line 7, in run
(EngineCore pid=7) acme.FlangeError: flange b7 is not seated
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def lines(text: str, line: int) -> list[tuple[int, str]]:
    return excerpt(read_blocks(text), line)


def test_the_excerpt_is_the_traceback_of_one_process():
    """With its head; what other processes said meanwhile is left out."""
    assert [number for number, _ in lines(TRACEBACK, 7)] == [3, 4, 6, 7]


def test_without_a_traceback_it_is_what_stands_before():
    text = "".join(f"line {number}\n" for number in range(1, 41))

    assert [number for number, _ in lines(text, 20)] == list(range(8, 33))


def test_a_line_that_is_not_there_has_no_excerpt():
    assert lines("one\ntwo\n", 7) == []


@pytest.mark.parametrize("kind", SECRETS)
def test_no_report_holds_a_secret(kind):
    for text, secret in SECRETS[kind]:
        log = f"INFO: start\n{text}\nValueError: No available memory for the cache blocks. {text}\n{text}\n"
        report = triage(log)
        made = bug_report(report, lines(log, report.evidence[0].line))
        assert secret not in made.title + made.body


def test_it_holds_release_environment_command_and_lines():
    report = replace(
        failure().report,
        facts={
            "vllm_version": "0.19.1",
            "gpu_name": "NVIDIA H200",
            "arguments": {"model": "acme/harbor-8b", "port": 8000, "max_model_len": 131072},
        },
    )
    made = bug_report(report, [(36, "before"), (37, "ValueError: it"), (38, "after")])

    assert made.title == "[Bug]: The KV cache cannot hold one request of the full context"
    for part in (
        "| vllm_version | 0.19.1 |",
        "| gpu_name | NVIDIA H200 |",
        "`vllm collect-env`",
        "36: before\n37: ValueError: it\n38: after",
    ):
        assert part in made.body
    assert "vllm serve acme/harbor-8b --max-model-len 131072\n" in made.body
    assert "(left out: `--port`)" in made.body


def test_a_failure_that_nobody_knows_is_named_by_its_line():
    assert bug_report(unknown().report).title == "[Bug]: acme_platform.errors.FlangeError: `flange` b7 is not seated"


@pytest.mark.parametrize(
    ("release", "by"), [("0.8.4", "collect_env.py"), ("0.8.5", "vllm collect-env"), ("", "vllm collect-env")]
)
def test_the_environment_is_collected_as_the_release_can(release, by):
    """As the released packages hold it."""
    assert by in bug_report(replace(failure().report, facts={"vllm_version": release})).body


def test_what_matters_to_the_front_stays():
    facts: dict[str, object] = {"arguments": {"model": "acme/harbor", "port": 8000, "host": "0.0.0.0"}}

    assert as_run(facts) == ("vllm serve acme/harbor", ("--host", "--port"))
    assert as_run(facts, ["--port"])[0] == "vllm serve acme/harbor --port 8000"
    assert as_run({}) == ("", ())
    taken = replace(failure().report, bucket="port_in_use", facts=facts)  # type: ignore[arg-type]
    assert "--port 8000" in bug_report(taken).body


def test_options_that_are_left_out_exist():
    assert [name for name in FRONT if not lifetime(name)] == []


@pytest.mark.parametrize("width", [10, 2000])
def test_it_is_never_longer_than_what_is_taken(width):
    """Nor does a fence within a line end the block."""
    many = [(number, "x`````" + "y" * width) for number in range(1, 220)]
    report = replace(
        failure().report,
        title="t" * 500,
        chain=tuple(Evidence(line=number, text="z" * 2000) for number in range(300, 330)),
    )
    made = bug_report(report, many)

    assert (len(made.title), len(made.body) <= MOST) == (TITLE, True)
    assert re.findall(r"^`{6,}(?:text)?$", made.body, re.MULTILINE) == ["``````text", "``````"]
