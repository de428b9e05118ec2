"""The report to vLLM's tracker: complete, masked, of a length that is taken."""

from __future__ import annotations

import pytest

from tests.classifier.masking.planted import SECRETS
from tests.classifier.pack.logs import FAILURE, STACK, failing
from tests.everyday import sample
from tests.service.samples import failure, unknown
from vllm_triage.classifier import triage
from vllm_triage.classifier.command.shell import FRONT, as_run
from vllm_triage.corpus.options import lifetime
from vllm_triage.corpus.records import replace
from vllm_triage.service.bug_report import MOST, TITLE, bug_report

LOG = "\n".join(failing(before=60, after=20, ranks=2))


def test_the_lines_are_those_of_the_evidence():
    """The whole stack of the process that failed, numbered as in the log; what the other rank said is counted."""
    body = bug_report(triage(LOG)).body

    for text in STACK:
        assert f"| {text}" in body
    assert 1 == body.count(f"| {FAILURE}")


@pytest.mark.parametrize("kind", sample(SECRETS))
def test_no_report_holds_a_secret(kind):
    for text, secret in SECRETS[kind]:
        log = f"INFO: start\n{text}\nValueError: No available memory for the cache blocks. {text}\n{text}\n"
        made = bug_report(triage(log))
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
    made = bug_report(report)

    assert made.title == "[Bug]: The KV cache cannot hold one request of the full context"
    for part in (
        "| vllm_version | 0.19.1 |",
        "| gpu_name | NVIDIA H200 |",
        "`vllm collect-env`",
        "37 ×2 EngineCore 11-02 09:15:01 ERROR core.py:1108| ValueError: To serve at least one request",
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
    many = [f"ValueError: {number} x`````" + "y" * width for number in range(1, 220)]
    made = bug_report(replace(triage("\n".join(many)), title="t" * 500))

    assert (len(made.title), len(made.body) <= MOST) == (TITLE, True)
    assert "``````text" in made.body
