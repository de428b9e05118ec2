"""Upgrades for a model: to the release that has its class, and none where no release has."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage

ARCHITECTURES = (
    "ValueError: Model architectures {} are not supported for now. Supported architectures: dict_keys(['AquilaModel'])"
)
HEAD = "INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version {}\n"
# Eleven architectures that came with 0.20 to 0.33, an older release, and the first that serves them, by its registry.
NEWER = [
    ("DeepseekV4ForCausalLM", "0.19.1", "0.20.0"),
    ("Cohere2MoeForCausalLM", "0.20.2", "0.21.0"),
    ("Step3p7ForConditionalGeneration", "0.15.1", "0.23.0"),
    ("HrmTextForCausalLM", "0.12.0", "0.24.0"),
    ("InklingForCausalLM", "0.24.0", "0.26.0"),
    ("KimiK3ForConditionalGeneration", "0.26.0", "0.27.0"),
    ("BailingMoeV3ForCausalLM", "0.20.0", "0.28.0"),
    ("GraniteSWAForCausalLM", "0.10.2", "0.29.0"),
    ("DeepseekV41ForCausalLM", "0.23.0", "0.30.0"),
    ("MiniCPMV4_7ForConditionalGeneration", "0.31.0", "0.32.0"),
    ("BeamForCausalLM", "0.32.0", "0.33.0"),
]
NONE = (
    "AcmeForCausalLM",
    "Kestrel5ForCausalLM",
    "NotAModel",
    "Orbit2VLForConditionalGeneration",
    "Lumen9MoeForCausalLM",
)


def changes(log: str) -> list[str]:
    """Return what the fixes of an answer change."""
    return [fix.change for fix in triage(log.encode()).fixes]


def reasons(log: str) -> str:
    """Return why fixes were left out."""
    return "\n".join(left.reason for left in triage(log.encode()).withheld)


@pytest.mark.parametrize(("name", "told", "first"), NEWER)
def test_upgrade_goes_to_the_first_release_that_serves_the_model(name: str, told: str, first: str) -> None:
    """The release stands in title, command, image and `fixed_in`."""
    report = triage((HEAD.format(told) + ARCHITECTURES.format(f"['{name}']")).encode())
    fix = next(fix for fix in report.fixes if "vllm>=" in fix.change)
    assert fix.change == f"pip install -U 'vllm>={first}'   # or the image vllm/vllm-openai:v{first}"
    assert fix.fixed_in == first
    assert first in fix.title


@pytest.mark.parametrize("name", NONE)
@pytest.mark.parametrize("told", ["0.10.2", "0.33.0", ""])
def test_no_upgrade_where_no_release_serves_the_model(name: str, told: str) -> None:
    """It is left out with the reason; the Transformers backend was tried by vLLM itself."""
    log = (HEAD.format(told) if told else "") + ARCHITECTURES.format(f"['{name}']")
    assert not [change for change in changes(log) if "install -U" in change or "model-impl" in change]
    assert f"no release of vLLM up to 0.33.0 serves {name}" in reasons(log)
    assert any("model card" in change for change in changes(log))


def test_the_release_is_named_where_the_log_does_not_tell_its_own() -> None:
    """The first that serves the model: the log is of an older one."""
    assert "pip install -U 'vllm>=0.10.2'" in "\n".join(changes(ARCHITECTURES.format("['Qwen3NextForCausalLM']")))


def test_of_several_architectures_the_one_that_is_served_first_counts() -> None:
    """Any of them would do."""
    log = HEAD.format("0.10.1") + ARCHITECTURES.format("['AcmeForCausalLM', 'Qwen3NextForCausalLM']")
    assert "pip install -U 'vllm>=0.10.2'" in "\n".join(changes(log))


def test_the_last_release_of_a_model_that_was_given_up() -> None:
    """A release that came before the one that says it itself."""
    log = HEAD.format("0.33.0") + ARCHITECTURES.format("['Phi3SmallForCausalLM']")
    assert "pip install vllm==0.9.2" in changes(log)


def test_a_misspelt_architecture_is_corrected() -> None:
    """Before anything else, and nothing is upgraded."""
    report = triage((HEAD.format("0.10.2") + ARCHITECTURES.format("['LlamaForCasualLM']")).encode())
    assert report.fixes[0].change == """--hf-overrides '{"architectures": ["LlamaForCausalLM"]}\'"""
    assert not [fix for fix in report.fixes if "install -U" in fix.change]


def test_a_release_that_serves_the_model_keeps_its_advice() -> None:
    """Then the words are those of a platform or a patched build."""
    log = HEAD.format("0.20.0") + "ValueError: Model architecture LlamaForCausalLM is not supported by ROCm for now."
    assert "no release" not in reasons(log)
    assert changes(log)[0].startswith("Install a newer build for rocm")
    assert "--model-impl transformers" in changes(log)


def test_builds_of_ones_own_are_not_replaced() -> None:
    """They are told the release whose change they need."""
    report = triage((HEAD.format("0.10.1.dev12+g1234567") + ARCHITECTURES.format("['Qwen3NextForCausalLM']")).encode())
    assert not [fix for fix in report.fixes if "pip install" in fix.change]
    assert "from 0.10.2 on" in "\n".join(fix.why for fix in report.fixes)


def test_a_script_is_told_the_package_without_the_servers_image() -> None:
    """An ``LLM`` of a person's own program takes a newer vLLM as a server does."""
    frame = """Traceback (most recent call last):\n  File "/opt/app/run.py", line 5, in <module>\n    llm = LLM(model="acme/x")\n"""
    log = f"{frame}{ARCHITECTURES.format(['Qwen3NextForCausalLM'])}"
    assert "pip install -U 'vllm>=0.10.2'" in changes(log)


@pytest.mark.parametrize(
    ("told", "said", "release"),
    [
        ("0.10.2", "ValueError: WhisperForConditionalGeneration does not support LoRA yet.", "0.18.0"),
        ("0.10.2", "ValueError: Model <class 'vllm.model_executor.models.modernbert.ModernBertModel'> is not supported for LoRA.", "0.31.0"),
        ("0.6.2", "NotImplementedError: Pipeline parallelism is only supported for the following  architectures: ['AquilaModel'].\nModel architectures ['ArcticForCausalLM'] loaded", "0.6.3"),
        ("0.20.0", "INFO 11-02 10:00:00 [model.py:547] Resolved architecture: Qwen3NextForCausalLM\nRuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs was requested", "0.24.0"),
    ],
)  # fmt: skip
def test_upgrade_goes_to_the_first_release_whose_class_has_the_interface(told: str, said: str, release: str) -> None:
    """The class is the one that the message names, or the one that the log says was loaded."""
    assert f"pip install -U 'vllm>={release}'   # or the image vllm/vllm-openai:v{release}" in changes(
        HEAD.format(told) + said
    )


@pytest.mark.parametrize(
    ("said", "interface"),
    [
        ("Resolved architecture: ModernBertModel\nNotImplementedError: Pipeline parallelism is not supported for this model. Supported models implement the `SupportsPP` interface.", "SupportsPP"),
        ("Resolved architecture: GraniteMoeHybridForCausalLM\nRuntimeError: Model does not support EAGLE3 interface but aux_hidden_state_outputs was requested", "SupportsEagle3"),
        ("x\nValueError: KestrelForCausalLM does not support LoRA yet.", "SupportsLoRA"),
    ],
)  # fmt: skip
def test_no_upgrade_where_no_release_has_the_interface(said: str, interface: str) -> None:
    """It is left out with the interface as the reason."""
    log = f"{HEAD.format('0.20.0')}INFO 11-02 10:00:00 [model.py:547] {said}"
    assert not [fix for fix in triage(log.encode()).fixes if fix.title.startswith(("Upgrade", "Update"))]
    assert f"no release of vLLM up to 0.33.0 has {interface}" in reasons(log)


def test_kernels_that_refuse_lora_are_no_models() -> None:
    """Nothing is known of their classes, and nothing is left out."""
    assert "no release" not in reasons(HEAD.format("0.20.0") + "ValueError: TritonExperts does not support LoRA yet.")


UNKNOWN = "ValueError: The checkpoint you are trying to load has model type `{}` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date."


def test_transformers_alone_where_vllm_serves_the_model_and_allows_it() -> None:
    """Within vLLM's own bound."""
    log = HEAD.format("0.12.0") + UNKNOWN.format("qwen3_vl")
    assert "pip install -U 'transformers>=4.57.6,<5'" in changes(log)
    assert "serves the model and allows a transformers that knows it" in reasons(log)


def test_vllm_where_its_bound_keeps_the_type_out() -> None:
    """0.12 asks for transformers below 5."""
    log = HEAD.format("0.12.0") + UNKNOWN.format("gemma4")
    assert any(change.startswith("pip install -U 'vllm>=0.19.1'") for change in changes(log))
    assert not [change for change in changes(log) if change.startswith("pip install -U 'transformers")]


def test_a_type_that_no_release_knows() -> None:
    """What is newer than transformers is in its repository, if anywhere."""
    log = HEAD.format("0.12.0") + UNKNOWN.format("acme9")
    assert changes(log)[0] == "pip install git+https://github.com/huggingface/transformers"
    assert "no release of vLLM up to 0.33.0 brings what the model type acme9 takes" in reasons(log)


@pytest.mark.parametrize(
    ("config", "release", "expected"),
    [
        ("Gemma3Config", "0.7.3", "pip install -U 'vllm>=0.8.0'"),
        ("Gemma3TextConfig", "0.7.3", "pip install -U 'vllm>=0.8.0'"),
        ("Qwen2_5OmniConfig", "0.8.2", "pip install -U 'vllm>=0.8.5'"),
        ("Gemma3Config", "0.11.0", "pip install -U vllm"),
        ("AcmeConfig", "0.11.0", "pip install -U vllm"),
    ],
)
def test_a_configuration_whose_model_the_release_does_not_know(config: str, release: str, expected: str) -> None:
    """The first release that serves one of its architectures; where this one does, or none, the words stay."""
    log = f"INFO 03-12 16:53:00 [api_server.py:9] vLLM API server version {release}\nAttributeError: '{config}' object has no attribute 'vocab_size'"
    changes = [fix.change for fix in triage(log).fixes]
    assert changes[0].startswith(expected)
    assert any(change.startswith("pip install transformers==") for change in changes) == (
        expected == "pip install -U vllm"
    )


FALLEN = """INFO 11-02 10:00:00 [api_server.py:1805] vLLM API server version {told}
WARNING 11-02 10:00:05 [registry.py:90] {name} has no vLLM implementation, falling back to Transformers implementation. Some features may not be supported and performance may not be optimal.
ERROR 11-02 10:00:09 [core.py:708] Traceback (most recent call last):
ERROR 11-02 10:00:09 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/model_loader/utils.py", line 60, in initialize_model
ERROR 11-02 10:00:09 [core.py:708]     return model_class(vllm_config=vllm_config, prefix=prefix)
ERROR 11-02 10:00:09 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/{file}.py", line 401, in __init__
ERROR 11-02 10:00:09 [core.py:708]     self.embed = config.hidden_size
ERROR 11-02 10:00:09 [core.py:708] AttributeError: 'AcmeConfig' object has no attribute 'hidden_size'
"""


@pytest.mark.parametrize(
    ("name", "told", "first"),
    [("DeepseekV4ForCausalLM", "0.19.1", "0.20.0"), ("Step3p7ForConditionalGeneration", "0.15.1", "0.23.0")],
)
def test_where_the_transformers_backend_fails_the_release_with_a_class_of_its_own_leads(
    name: str, told: str, first: str
) -> None:
    """What edits config.json is left out: the configuration is the one that the later release reads."""
    report = triage(FALLEN.format(name=name, told=told, file="transformers").encode())
    assert report.fixes[0].change.startswith(f"pip install -U 'vllm>={first}'")
    assert not any("hf-overrides" in fix.change or "config.json" in fix.change for fix in report.fixes)
    assert "has no class of its own" in "\n".join(left.reason for left in report.withheld)


@pytest.mark.parametrize(("name", "file"), [("AcmeForCausalLM", "transformers"), ("DeepseekV4ForCausalLM", "siglip")])
def test_no_such_release_where_there_is_none_or_another_part_failed(name: str, file: str) -> None:
    """An architecture that no release has; an encoder's file, which is vLLM's own."""
    assert not any("vllm>=" in change for change in changes(FALLEN.format(name=name, told="0.19.1", file=file)))
