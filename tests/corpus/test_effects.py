"""What settings change is data: each row is checked, needs are guards, and what an action is tells the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fixes import context, guarded, made
from vllm_triage.classifier.api import triage
from vllm_triage.corpus import effects, load
from vllm_triage.corpus.actions import ChangeRequest, DropOption, Install, SetOption, SetVariable, Wait
from vllm_triage.corpus.effects import read_effects
from vllm_triage.corpus.places import CorpusError

FOLDER = Path(effects.__file__).parent
ROW = '[[effect]]\nid = "x"\nabout = {{ option = ["--dtype"] }}\n{}\n'


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ('changes = "colour"', "is not one of"),
        ('changes = "model"\ncolour = 1', "unknown key 'colour'"),
        ('changes = "model"\ncosts = ["money"]', "costs knows no 'money'"),
        ('changes = "model"\npredicts = ["often"]', "is no condition"),
        ('changes = "model"\nneeds = ["one_gpu == False"]', "needs without why"),
        (
            'changes = "model"\n[[effect]]\nid = "y"\nabout = { option = ["--nobodys"] }\nchanges = "model"',
            "no release of vLLM has",
        ),
    ],
)
def test_a_row_that_breaks_the_format_is_refused(tmp_path, rest, says):
    """With the row and what is wrong."""
    path = tmp_path / "effects.toml"
    path.write_text(ROW.format(rest), encoding="utf-8")
    with pytest.raises(CorpusError, match=re.escape(says)):
        read_effects(path)


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        (SetOption("--max-model-len", ("4096",)), "memory.kv_cache_needed"),
        (DropOption("--attention-backend"), "kernel.attention"),
        (SetOption("--compilation-config.mode", ("0",)), "compilation"),
        (SetVariable("HTTPS_PROXY", "x"), "transport.hub"),
        (SetVariable("NCCL_DEBUG", "INFO"), "logging"),
        (SetVariable("NOBODYS", "x"), "variable"),
        (Install("transformers[torch]", ">=5"), "package.transformers"),
        (ChangeRequest("Send less"), "request"),
        (Wait("Wait"), "nothing"),
    ],
)
def test_what_an_action_changes(action, changes):
    """By its row, else by its kind."""
    assert changes == load().effects().changed_by(action)


def test_most_settings_that_fixes_change_have_a_row():
    """Nine of ten: a new lever says what it changes."""
    corpus = load()
    known = corpus.effects()
    causes = [cause for name in corpus.buckets() for cause in corpus.bucket(name).causes]
    actions = [action for cause in causes for fix in cause.fixes for action in fix.actions]
    told = [known.changed_by(action) for action in actions if hasattr(action, "name")]
    assert len([each for each in told if each in ("option", "variable")]) < len(told) / 10


def test_a_need_that_does_not_hold_withholds_the_fix():
    """A limit of one step below the longest prompt, without chunks; a setting between GPUs where there is one."""
    facts: Any = {"engine": "V0", "max_model_len": 8192}
    fix = made("--max-num-batched-tokens 4096")
    assert guarded(fix, context(**facts))[0] is None
    assert (fix, "") == guarded(fix, context(engine="V0", max_model_len=2048))
    alone: Any = {"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "data_parallel_size": 1}
    assert guarded(made("NCCL_P2P_DISABLE=1", "env"), context(**alone))[0] is None
    assert guarded(made("NCCL_P2P_DISABLE=1", "env"), context(tensor_parallel_size=2))[0] is not None


def test_a_report_says_what_its_fixes_do_as_data():
    """The context that fits, with the cache that it needs then, and how long a start takes."""
    log = (FOLDER / "logs" / "written" / "kv-cache-too-small.log").read_text(encoding="utf-8")
    fix: Any = json.loads(triage(log).to_json())["fixes"][0]
    assert [{"do": "set_option", "name": "--max-model-len", "values": ["41936"]}] == fix["actions"]
    effect = fix["effect"]
    assert ["memory.kv_cache_needed"] == effect["changes"]
    assert (5.12, 5.12) == (effect["kv_cache_gib"], effect["kv_cache_needed_gib"])
    assert [{"condition": "kv_cache_needed_gib present", "seen": True}] == effect["predicts"]
    assert effect["restart_seconds"] > 40
