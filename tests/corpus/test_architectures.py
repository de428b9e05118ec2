"""The table of architectures against facts read by hand in the registries and model classes of three releases."""

from __future__ import annotations

import pytest

from vllm_triage.corpus import architectures, options


@pytest.mark.parametrize(
    ("name", "version", "module", "cls"),
    [
        ("MistralForCausalLM", "0.5.2", "llama", "LlamaForCausalLM"),
        ("Phi3ForCausalLM", "0.5.2", "llama", "LlamaForCausalLM"),
        ("Qwen3NextForCausalLM", "0.10.2", "qwen3_next", "Qwen3NextForCausalLM"),
        ("GraniteSWAForCausalLM", "0.33.0", "granite", "GraniteForCausalLM"),
        ("DeepseekV32ForCausalLM", "0.33.0", "vllm.models.deepseek_v32", "DeepseekV32ForCausalLM"),
        ("Starcoder2ForCausalLM", "0.33.0", "transformers", "TransformersForCausalLM"),
    ],
)
def test_class_of_a_release(name: str, version: str, module: str, cls: str) -> None:
    """Module and class are those that the registry of that release names."""
    found = architectures.model_class(name, version)
    assert found is not None
    assert (module, cls) == (found.module, found.name)


@pytest.mark.parametrize(
    ("name", "version", "has", "lacks"),
    [
        ("LlamaForCausalLM", "0.5.2", {"SupportsLoRA", "SupportsPP"}, {"SupportsEagle3"}),
        ("LlamaForCausalLM", "0.10.2", {"SupportsLoRA", "SupportsPP", "SupportsEagle3"}, {"SupportsQuant"}),
        ("LlamaForCausalLM", "0.33.0", {"SupportsEagle", "SupportsEagle3", "SupportsQuant"}, {"SupportsMultiModal"}),
        ("WhisperForConditionalGeneration", "0.10.2", {"SupportsTranscription", "SupportsMultiModal"}, {"SupportsLoRA"}),
        ("WhisperForConditionalGeneration", "0.33.0", {"SupportsTranscription", "SupportsLoRA"}, {"SupportsPP"}),
        ("MllamaForConditionalGeneration", "0.10.2", {"SupportsV0Only"}, {"SupportsPP", "SupportsLoRA"}),
        ("ModernBertModel", "0.33.0", {"SupportsLoRA"}, {"SupportsPP"}),
        ("GraniteMoeHybridForCausalLM", "0.33.0", {"SupportsPP", "IsHybrid"}, {"SupportsEagle3"}),
        ("Qwen2VLForConditionalGeneration", "0.33.0", {"SupportsMRoPE", "SupportsEncoderCudaGraph"}, set()),
        ("Qwen2VLForConditionalGeneration", "0.10.2", {"SupportsPP"}, {"SupportsMRoPE"}),
    ],
)  # fmt: skip
def test_interfaces_of_a_class(name: str, version: str, has: set[str], lacks: set[str]) -> None:
    """The bases of the class in that release, by itself or through others of vLLM's."""
    found = architectures.model_class(name, version)
    assert found is not None
    assert has <= set(found.interfaces)
    assert not lacks & set(found.interfaces)


def test_first_release_that_serves_an_architecture() -> None:
    """Of all, of those after one, and of those whose class has an interface."""
    assert architectures.first_serving("Qwen3NextForCausalLM") == "0.10.2"
    assert architectures.first_serving("Qwen3NextForCausalLM", "0.10.2") == "0.11.0"
    assert architectures.first_serving("GraniteMoeHybridForCausalLM", interface="SupportsEagle3") == ""
    assert architectures.first_serving("AcmeForCausalLM") == ""


def test_versions_count_as_the_newest_release_at_or_below() -> None:
    """Development versions, local versions; what is older than the table is not known."""
    assert architectures.serves("Qwen3NextForCausalLM", "0.10.2+cu128") is True
    assert architectures.serves("Qwen3NextForCausalLM", "0.10.1.1") is False
    assert architectures.serves("Qwen3NextForCausalLM", "99.0") is True
    assert architectures.serves("Qwen3NextForCausalLM", "0.4.0") is None
    assert architectures.serves("Qwen3NextForCausalLM", "nightly") is None


def test_architectures_that_were_given_up() -> None:
    """By the registries themselves (vLLM's own words say 0.22.0 of JAIS), and with the plug-in that vLLM names."""
    assert architectures.served_until("Phi3SmallForCausalLM") == "0.9.2"
    assert architectures.served_until("JAISLMHeadModel") == "0.22.1"
    assert architectures.served_until("LlamaForCausalLM") == ""
    assert architectures.plugin("BartForConditionalGeneration") == "https://github.com/vllm-project/bart-plugin"
    assert architectures.plugin("LlamaForCausalLM") == ""


def test_architectures_of_a_class_and_of_a_module() -> None:
    """A class serves several; the one of its own name stands first."""
    assert architectures.of_class("LlamaForCausalLM")[0] == "LlamaForCausalLM"
    assert "InternLM3ForCausalLM" in architectures.of_class("LlamaForCausalLM")
    assert architectures.of_class("AcmeForCausalLM") == ()
    assert architectures.of_module("qwen3_next", "0.10.2") == ("Qwen3NextForCausalLM",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("LlamaForCasualLM", "LlamaForCausalLM"),
        ("Qwen3ForCausaLM", "Qwen3ForCausalLM"),
        ("MistrallForCausalLM", "MistralForCausalLM"),
        ("Qwen9ForCausalLM", ""),
        ("LlamaForCausalLM", ""),
        ("AcmeForCausalLM", ""),
    ],
)
def test_misspelt_names(name: str, meant: str) -> None:
    """A slip of a letter or two; another number is another family, and a name that is served is none."""
    assert architectures.nearest(name, "0.33.0") == meant


def test_the_table_covers_the_releases_of_the_options() -> None:
    """Both are mined from the same packages."""
    assert architectures.releases() == options.releases()
    assert len(architectures.names()) > 400


def test_every_entry_is_whole() -> None:
    """At each release of each run there is a class."""
    for name in architectures.names():
        for first, last in architectures.spans(name):
            for version in (first, last):
                found = architectures.model_class(name, version)
                assert found is not None
                assert found.module, name
                assert found.kinds, name


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("Qwen2_5_VLModel", "Qwen2_5_VLForConditionalGeneration"),
        ("Olmo2Model", "Olmo2ForCausalLM"),
        ("LlamaModel", ""),
        ("KestrelModel", ""),
        ("Model", ""),
        ("Qwen3VLForConditionalGeneration", ""),
    ],
)
def test_an_unknown_backbone_belongs_to_the_class_with_its_head(name: str, full: str) -> None:
    """What vLLM serves by itself (an embedding model) is complete, and what no release knows has no class."""
    assert architectures.complete(name) == full
