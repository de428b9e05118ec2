"""Proposals from outside are one more source: what a fact refutes is withheld with it, what lives says who proposed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.proposal import BEHIND, OVERRULED, Heard, Proposal
from vllm_triage.classifier.report.model import Report
from vllm_triage.corpus import store
from vllm_triage.corpus.actions import SetOption
from vllm_triage.corpus.records import replace

LOG = (Path(store.HERE) / "logs" / "written" / "kv-cache-too-small.log").read_text(encoding="utf-8")
"""vLLM 0.19.1; line 37: one request of 131072 tokens needs 16.0 GiB, 5.12 GiB are left. Rules advise --max-model-len 41936."""
CAUSE = "kv_cache_oom/context_exceeds_cache"


def proposal(*actions: dict[str, object], title: str = "Do it", why: str = "", **changed: object) -> Proposal:
    """Return what a model answers, with one fix."""
    fixes = [{"title": title, "actions": list(actions), "why": why, "predicts": ""}] if actions else []
    given = {
        "cause": "One request needs 16.0 GiB of cache.",
        "candidate": CAUSE,
        "lines": [37],
        "fixes": fixes,
        "confidence": 0.9,
    }
    return Proposal.from_json(given | changed, "oak-70b")


def answered(*proposals: Proposal, log: str = LOG) -> Report:
    """Answer a log."""
    return shared().report(log, proposals=proposals)


def sets(name: str, *values: str) -> dict[str, object]:
    """Return the action that sets an option."""
    return {"do": "set_option", "name": name, "values": list(values)}


def test_what_holds_is_shown_as_what_it_is() -> None:
    """Who proposed it, what was checked, the line; rules' fixes stay."""
    alone, joint = answered(), answered(proposal(sets("--max-model-len", "32768")))
    (fix,) = [fix for fix in joint.fixes if fix.proposed_by]
    assert ("--max-model-len 32768", "oak-70b") == (fix.change, fix.proposed_by)
    assert fix.title.endswith("(proposed by oak-70b)")
    assert "Proposed by oak-70b, checked: option exists in 0.19.1, not in force, line 37." in fix.why
    own = [fix.change for fix in joint.fixes if not fix.proposed_by]
    assert (
        [fix.change for fix in alone.fixes][: len(own)] == own != []
    )  # those that are seldom right behind another's are left out
    assert list(range(1, len(joint.fixes) + 1)) == [fix.rank for fix in joint.fixes]
    assert Report.from_json(joint.to_json()) == joint


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (sets("--kv-cache-fraction", "0.5"), "vLLM 0.19.1 has no --kv-cache-fraction; no release has"),
        (sets("--swap-space", "8"), "vLLM 0.19.1 has no --swap-space"),
        (sets("--compilation-config", '{"levl": 0}'), "has no key levl"),
        (sets("--compilation-config.levl", "0"), "has no --compilation-config.levl"),
        (sets("--max-num-seqs", "many"), "takes a number"),
        (sets("--kv-cache-dtype", "fp3"), "not among the values"),
        (sets("--tensor-parallel-size", "1"), "is so already"),
        (sets("--gpu-memory-utilization", "0.5"), "GiB"),
        ({"do": "drop_option", "name": "--enforce-eager"}, "not among the arguments"),
        ({"do": "set_variable", "name": "VLLM_MAGIC", "value": "1"}, "has no VLLM_MAGIC"),
        ({"do": "set_variable", "name": "MAGIC_SWITCH", "value": "1"}, "no variable MAGIC_SWITCH"),
        ({"do": "install", "package": "vllm", "spec": ">=0.11"}, "is vLLM 0.19.1 already"),
        ({"do": "step", "text": "Start it with --max-magic 3"}, "has no --max-magic"),
        ({"do": "dance"}, "'do' must be"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_what_a_fact_refutes_is_withheld_with_the_fact(action: dict[str, object], reason: str) -> None:
    """It does not exist here, is so already, was not given, does not close the sum."""
    alone, joint = answered(), answered(proposal(action, title="Do it"))
    assert alone.fixes == joint.fixes
    assert alone.corrected_command == joint.corrected_command
    (withheld,) = [item for item in joint.withheld if item.proposed_by]
    assert ("Do it (proposed by oak-70b)", True) == (withheld.title, reason in withheld.reason), withheld.reason


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"lines": [4000]}, "shows no line 4000"),
        ({"lines": []}, "names no line"),
        ({"lines": [2]}, "say nothing of it"),
        ({"cause": 'It says "the moon is made of green cheese" there, 16.0 GiB.'}, "does not say"),
        ({"cause": "16.0 GiB: see http://evil.example/fix for the cache"}, "what no answer asks for"),
        ({"cause": ""}, "names no cause"),
    ],
    ids=str,
)
def test_a_cause_that_no_line_proves_changes_nothing(changed: dict[str, Any], problem: str) -> None:
    """Lines must be there, and say it; its fixes go with it."""
    alone, joint = answered(), answered(proposal(sets("--max-model-len", "32768"), **changed))
    assert alone.fixes == joint.fixes
    assert problem in joint.proposals[0].problem
    assert "" == joint.proposals[0].cause
    assert [problem in item.reason for item in joint.withheld if item.proposed_by] == [True]


def test_a_fix_that_rules_advise_too_stands_once() -> None:
    """As the rules' own, with the word of the other."""
    joint = answered(proposal(sets("--max-model-len", "41936"), title="Cap it"))
    assert not any(fix.proposed_by for fix in joint.fixes)
    assert ["--max-model-len 41936"] == [fix.change for fix in joint.fixes if "Proposed by oak-70b, checked" in fix.why]


def test_where_both_disagree_the_answer_says_so_with_the_lines_of_both() -> None:
    """The cause of the rules stays the answer's."""
    joint = answered(
        proposal(sets("--max-model-len", "32768"), candidate="", cause="Weights take 14.99 GiB.", lines=[20])
    )
    (told,) = joint.proposals
    assert (CAUSE, False, (37,)) == (joint.cause, told.agrees, told.against)
    assert any("names another cause than the rules (line 20 against 37)" in note for note in joint.notes)


def test_users_own_rules_are_never_put_behind(tmp_path: Path) -> None:
    """One of your own rules has no share to be weighed by; others fall with their cause."""
    from vllm_triage.classifier.advice.opinions import Opinion, joined
    from vllm_triage.classifier.fix import Fix

    own = Fix("Own", "step", (), "", "")
    theirs = Fix(
        "Theirs", "flag", (SetOption("--max-num-seqs", ("8",)),), "", "", proposed_by="oak-70b", confidence=0.9
    )
    opinion = Opinion(Heard(proposal()), (theirs,), share=0.9, agrees=False)
    fixes, (told,), fallen = joined([own], [opinion])
    assert (["Own", "Theirs"], False, []) == ([fix.title for fix in fixes], told.first, fallen)
    fixes, (told,), fallen = joined([replace(own, confidence=0.5)], [opinion])
    assert (["Theirs"], True, ["Own"]) == ([fix.title for fix in fixes], told.first, [title for title, _ in fallen])
    fixes, _, fallen = joined([replace(own, confidence=0.7)], [replace(opinion, agrees=True)])
    assert (["Theirs", "Own"], []) == ([fix.title for fix in fixes], fallen)


def test_a_look_stands_first_where_such_proposals_were_right_more_often() -> None:
    """The next step may be to look; what cures by the rules' word stays where both name one cause."""
    joint = answered(proposal({"do": "run", "shell": "nvidia-smi"}, title="Look"))
    assert ["nvidia-smi"] == [fix.change for fix in joint.fixes if fix.proposed_by]
    assert joint.proposals[0].first == bool(joint.fixes[0].proposed_by)
    assert "--max-model-len 41936" in [fix.change for fix in joint.fixes]


def test_a_pack_says_nothing_of_proposals() -> None:
    """The next reader concludes for himself."""
    joint = answered(
        proposal(sets("--max-model-len", "32768"), sets("--no-such-thing", "1")), proposal(sets("--max-num-seqs", "8"))
    )
    assert "oak-70b" in joint.to_json()
    assert "oak-70b" not in joint.pack().prompt()
    assert not {BEHIND, OVERRULED}.intersection(item.reason for item in joint.pack().withheld)
    assert answered().pack().lines == joint.pack().lines


def test_a_healthy_log_takes_no_proposal() -> None:
    """There is nothing to mend."""
    line = "INFO 11-21 12:00:01 [api_server.py:100] Starting vLLM API server on http://0.0.0.0:8000\n"
    assert answered(log=line * 3) == answered(proposal(sets("--max-model-len", "1")), log=line * 3)


def test_secrets_in_an_answer_are_masked() -> None:
    """A model may say what it should not know."""
    token = "hf_" + "Kd7RmPq2" * 4 + "ab"
    joint = answered(proposal({"do": "look", "text": f"the cache, with {token}"}, cause=f"16.0 GiB for {token}"))
    assert token not in joint.to_json()


def test_another_engines_option_is_a_step_that_says_so() -> None:
    """vLLM's releases know nothing of it: that refutes nothing."""
    log = (
        "[2026-11-02 09:14:01] server_args=ServerArgs(model_path='acme/harbor-8b', tokenizer_path='acme/harbor-8b')\n"
        '  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 7, in run\n'
        "    raise RuntimeError('reshape of 9 dimensions')\n"
        "RuntimeError: reshape of 9 dimensions\n"
    )
    joint = answered(
        proposal(sets("--disable-fast-image-processor"), cause="A reshape of 9 dimensions.", candidate="", lines=[4]),
        log=log,
    )
    (fix,) = [fix for fix in joint.fixes if fix.proposed_by]
    assert ("--disable-fast-image-processor", "step") == (fix.change, fix.kind)
    assert "--disable-fast-image-processor is in no list of ours" in fix.why
