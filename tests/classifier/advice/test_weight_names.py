"""Upgrades for a weight that vLLM's class of a model does not know."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

HEAD = "INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version {}\n"
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/model_loader/default_loader.py", line 262, in load_weights\n'
    "    loaded_weights = model.load_weights(self.get_all_weights(model_config, model))\n"
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/{file}.py", line 991, in load_weights\n'
    "    param = params_dict[name]\n"
    "KeyError: '{weight}'\n"
)


def changes(log: str) -> list[str]:
    """Return what the fixes of an answer change."""
    return [fix.change for fix in triage(log.encode()).fixes]


@pytest.mark.parametrize(
    ("told", "file", "weight", "change"),
    [
        ("0.10.2", "deepseek_v2", "model.layers.3.self_attn.indexer.k_norm.weight", "pip install -U 'vllm>=0.11.0'"),
        ("0.5.5", "qwen", "transformer.visual.conv1.weight", "pip install -U 'vllm>=0.6.1,<=0.23.0'"),
        # nothing that came later: the upgrade stays what it was
        ("0.10.2", "llama", "model.layers.3.self_attn.odd.weight", "pip install -U vllm"),
    ],
)
def test_upgrade_goes_to_the_release_that_names_the_weight(told: str, file: str, weight: str, change: str) -> None:
    """First of the fixes, and no farther than the last release that serves the model."""
    found = changes(HEAD.format(told) + TRACE.format(file=file, weight=weight))
    assert found[0] == change
    assert ("vllm>=" in change) != any(each.startswith("compare architectures") for each in found)


def test_model_that_ran_by_the_code_of_transformers() -> None:
    """The module's class tells the family, and the registry the first release that has it."""
    log = (
        "ValueError: There is no module or parameter named 'model.tower.blocks.0.q_max' in TransformersMultiModalForCausalLM. "
        "The available parameters belonging to model.tower.blocks.0 (Gemma4ClippedLinear) are: {'linear.weight'}"
    )
    assert changes(HEAD.format("0.18.1") + log)[0] == "pip install -U 'vllm>=0.19.0'"
    assert changes(HEAD.format("0.20.0") + log)[0] == "pip install -U vllm"


def test_weight_that_another_loader_misses() -> None:
    """A name asked of the checkpoint is missing there: neither config.json nor an upgrade of vLLM is advised."""
    log = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.12/site-packages/neuronx_distributed_inference/modules/acme.py", line 51, in get_weight\n'
        '    weight = model_state_dict[f"{prefix}.weight"]\n'
        "KeyError: 'layers.7.self_attn.qkv_proj.v_proj.weight'\n"
    )
    answer = triage(log.encode())
    assert answer.cause == "weights_mismatch/missing_weights"
    assert not any("config.json belongs" in fix.title for fix in answer.fixes)
