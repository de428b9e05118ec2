"""What answers claim is tested without labels; over the corpus' own logs nothing is refuted."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier.advice import Advice
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.fix import Fix, option
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.verdict.types import Verdict
from vllm_triage.corpus.actions import Action, Install, SetVariable
from vllm_triage.training.claims.__main__ import audited, logs_in, main
from vllm_triage.training.claims.claims import claims_of

LOGS = Path(__file__).parents[3] / "corpus" / "logs"
TRIAGE = Triage()
SAMPLE = 120


def verdict(text: bytes = b"", **facts: Any) -> Verdict:
    incident = Incident(1, last=text.count(b"\n"), facts={"vllm_version": "0.19.1", **facts}, ends=(text, text))
    return Verdict(incident, "kv_cache_oom", "kv_cache_oom/x", 0.9, "rule", "t", "s")


def faults(actions: tuple[Action, ...], kind: str = "flag", **facts: Any) -> list[str]:
    """Return why claims of a fix are refuted."""
    fix = Fix(rank=1, title="t", kind=kind, actions=actions, why="", cost="")
    return [claim.fault for claim in claims_of(verdict(**facts), Advice((fix,))) if claim.fault]


@pytest.mark.parametrize(
    ("actions", "facts", "fault"),
    [
        (option("--max-model-len", "4096"), {}, ""),
        (option("--cog-size", "4"), {}, "has no --cog-size"),
        (option("--swap-space", "4"), {}, "has no --swap-space"),
        (option("--swap-space", "4"), {"vllm_version": "0.8.5"}, ""),
        (option("--max-num-seqs", "many"), {}, "takes a number"),
        (option("--kv-cache-dtype", "fp3"), {}, "takes"),
        (option("--compilation-config", '{"mode": 0'), {}, "takes JSON"),
        (option("--max-model-len", "8192"), {"max_len_that_fits": 4096, "max_model_len": 8192}, "more than the 4096"),
        (
            option("--gpu-memory-utilization", "0.9"),
            {"gpu_memory_total_gib": 80.0, "gpu_memory_free_gib": 70.0},
            "that are free",
        ),
        (
            option("--gpu-memory-utilization", "0.5"),
            {"gpu_memory_total_gib": 80.0, "weights_gib": 60.0},
            "do not hold the weights",
        ),
        (option("--tensor-parallel-size", "8"), {"gpu_count": 4}, "8 ranks on 4 GPUs"),
        (option("--max-num-seqs", "64"), {"arguments": {"max_num_seqs": 64}}, "set so already"),
        (option("--max-num-seqs", "32"), {"arguments": {"max_num_seqs": 64}}, ""),
        ((SetVariable("VLLM_COG", "1"),), {}, "has no VLLM_COG"),
    ],
)
def test_a_claim_is_held_against_the_release_and_the_log(
    actions: tuple[Action, ...], facts: dict[str, Any], fault: str
) -> None:
    found = faults(actions, "env" if isinstance(actions[0], SetVariable) else "flag", **facts)

    assert [fault in said for said in found] == ([True] if fault else [])


@pytest.mark.parametrize(("spec", "right"), [("==0.19.1", True), ("==0.19.99", False), ("==", False)])
def test_a_release_that_is_pinned_is_one(spec: str, right: bool) -> None:
    assert right is (not faults((Install("vllm", spec, False),), "command"))


def test_a_denial_is_held_against_what_is_left_over() -> None:
    """The verdict itself would not say it: a hand-made one does."""
    text = b"INFO 11-02 10:00:00 [a.py:1] cog\nERR00471 the seventh cog failed\n"
    denied = Verdict(verdict(text).incident, "no_failure", "no_failure/healthy", 0.9, "stage", "The server works", "")

    assert ["line 2 is not accounted for: ERR00471 the seventh cog failed"] == [
        claim.fault for claim in claims_of(denied, Advice())
    ]


def test_no_answer_to_a_log_of_the_corpus_claims_what_is_refuted() -> None:
    """A sample, another each month of the year would bring nothing: the seed is fixed; all are audited by the command."""
    logs = sorted(LOGS.rglob("*.log"), key=lambda path: path.stat().st_size)[:-40]
    chosen = random.Random(29).sample(logs, SAMPLE)
    claims = [(name, claim) for name, data in logs_in(chosen) for claim in audited(data, TRIAGE)]

    assert [] == [item for item in claims if item[1].fault]
    assert len(claims) > SAMPLE


def test_the_command_prints_what_is_refuted_and_how_much_was_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "logs.jsonl"
    file.write_text(json.dumps({"id": "a", "text": "INFO:     Application startup complete.\n"}) + "\n")

    assert 0 == main([str(file)])
    assert "1 logs, 1 claims (1.0 an answer: 1 denial), 0 refuted" == capsys.readouterr().out.strip()
