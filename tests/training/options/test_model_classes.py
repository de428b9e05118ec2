"""The registry of models and its classes, in small releases written for these tests."""

from __future__ import annotations

import textwrap

import pytest

from vllm_triage.training.options.architectures import pack, text
from vllm_triage.training.options.index import Files
from vllm_triage.training.options.model_classes import RegistryError, architectures_of, dropped_by
from vllm_triage.training.options.model_types import asked_range, last_of_minors, types_in
from vllm_triage.training.options.source import Tree

MODELS = "vllm/model_executor/models"
INTERFACES = """
    class SupportsLoRA: supports_lora = True
    class SupportsPP: supports_pp = True
    class SupportsMultiModal: ...
    class VllmModel: ...
"""
ACME = """
    from .interfaces import SupportsLoRA, SupportsPP, VllmModel
    from .adapters import as_seq_cls_model
    class AcmeModel(VllmModel, SupportsPP): ...
    class AcmeForCausalLM(AcmeModel, SupportsLoRA): ...
    class AcmeMiniForCausalLM(AcmeForCausalLM):
        supports_pp = False
    class AcmeEmbedding(SupportsLoRA):
        is_pooling_model: bool = True
    AcmeForSequenceClassification = as_seq_cls_model(AcmeForCausalLM)
"""
REGISTRY = """
    _TEXT_GENERATION_MODELS = {
        "AcmeForCausalLM": ("acme", "AcmeForCausalLM"),
        "AcmeMiniForCausalLM": ("acme", "AcmeMiniForCausalLM"),
        "BeamForCausalLM": ("vllm.models.beam", "BeamForCausalLM"),
    }
    _EMBEDDING_MODELS = {
        "AcmeEmbedding": ("acme", "AcmeEmbedding"),
        **{k: v for k, v in _TEXT_GENERATION_MODELS.items()},
        "AcmeForSequenceClassification": ("acme", "AcmeForSequenceClassification"),
        "AcmeForCausalLM": ("acme", "AcmeForCausalLM"),
    }
    _VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_EMBEDDING_MODELS}
    _PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9.2"}
    _OOT_SUPPORTED_MODELS = {"BartModel": "https://example.com/bart"}
"""
BEAM = """
    if current_platform.is_rocm():
        BeamForCausalLM = None
    else:
        from .nvidia.model import BeamForCausalLM
"""
BEAM_MODEL = """
    from vllm.model_executor.models.interfaces import SupportsMultiModal
    class BeamForCausalLM(SupportsMultiModal): ...
"""


def tree(**changed: str) -> Tree:
    """Return a release, with some of its files written otherwise."""
    files = {
        f"{MODELS}/interfaces.py": INTERFACES, f"{MODELS}/acme.py": ACME, f"{MODELS}/registry.py": changed.get("registry", REGISTRY),
        "vllm/models/beam/__init__.py": BEAM, "vllm/models/beam/nvidia/model.py": BEAM_MODEL, "vllm/config.py": changed.get("config", ""),
    }  # fmt: skip
    return Tree({name: textwrap.dedent(source).encode() for name, source in files.items()})


def test_interfaces_come_through_bases_and_are_switched_off_by_flags() -> None:
    """Of the class itself, of its bases, not where the class says no; adapters make pooling models."""
    found = architectures_of(tree())
    assert found["AcmeForCausalLM"] == {
        "kinds": ["pooling", "text"],
        "at": "acme:AcmeForCausalLM",
        "can": ["SupportsLoRA", "SupportsPP"],
    }
    assert found["AcmeMiniForCausalLM"]["can"] == ["SupportsLoRA"]
    assert found["AcmeEmbedding"]["can"] == ["IsPooling", "SupportsLoRA"]
    assert found["AcmeForSequenceClassification"]["can"] == ["IsPooling", "SupportsLoRA", "SupportsPP"]


def test_models_that_lie_elsewhere_and_on_one_platform_only() -> None:
    """A class that is None on one platform is imported on another."""
    assert architectures_of(tree())["BeamForCausalLM"] == {
        "kinds": ["text"],
        "at": "vllm.models.beam:BeamForCausalLM",
        "can": ["SupportsMultiModal"],
    }


def test_lists_from_before_the_interface() -> None:
    """Early releases list the architectures that pipeline parallelism works with."""
    found = architectures_of(tree(config='_PP_SUPPORTED_MODELS = ["BeamForCausalLM"]'))
    assert found["BeamForCausalLM"]["can"] == ["SupportsMultiModal", "SupportsPP"]


def test_what_a_release_gave_up() -> None:
    """The last release, and the plug-in."""
    assert dropped_by(tree()) == ({"OldForCausalLM": "0.9.2"}, {"BartModel": "https://example.com/bart"})


@pytest.mark.parametrize(
    ("registry", "said"),
    [
        ("_NEW_MODELS = {'A': ('acme', 'AcmeForCausalLM')}", "_NEW_MODELS is not known"),
        ("_EMBEDDING_MODELS = {'A': make('acme')}", "'A' is written in an unknown way"),
        ("_EMBEDDING_MODELS = {'A': ('acme', 'Nobody')}", "acme:Nobody: no such class"),
        ("MODELS = []", "no registry"),
    ],
)
def test_what_is_not_understood_is_refused(registry: str, said: str) -> None:
    """A hole in the table would call an architecture unknown that is there."""
    with pytest.raises(RegistryError, match=said):
        architectures_of(tree(registry=registry))


def test_the_table_has_runs_and_changes() -> None:
    """One architecture a line: the releases that serve it, and from which on what is so."""
    one = {"at": "a:A", "kinds": ["text"], "can": ["SupportsPP"]}
    table = pack({"0.1": {"A": one}, "0.2": {}, "0.3": {"A": {**one, "can": ["SupportsLoRA"]}}}, {"B": "0.0"}, {})
    assert table["architectures"] == {
        "A": {"on": [[0, 0], [2, 2]], "at": [[0, "a:A"]], "kinds": [[0, ["text"]]], "can": [[0, [1]], [2, [0]]]}
    }
    assert table["interfaces"] == ["SupportsLoRA", "SupportsPP"]
    assert '"A":{"at"' in text(table)


def test_model_types_in_all_ways_of_writing() -> None:
    """Pairs, dictionaries, updates, keywords, and other tables left alone."""
    source = """
CONFIG_MAPPING_NAMES = OrderedDict([("acme", "AcmeConfig"), ("beam", "BeamConfig")])
CONFIG_MAPPING_NAMES.update({"acme_vl": "AcmeVlConfig"})
CONFIG_MAPPING_NAMES = OrderedDict(**{"gpt-sw3": "GPT2Config"}, **CONFIG_MAPPING_NAMES)
OTHER = OrderedDict([("no", "No")])
"""
    assert types_in(source) == {"acme", "beam", "acme_vl", "gpt-sw3"}


def test_the_range_of_transformers_in_a_wheels_metadata() -> None:
    """Extras do not count."""
    metadata = "Requires-Dist: transformers<5; extra == 'x'\nRequires-Dist: transformers[torch] (<5, >=4.56.0)\nRequires-Dist: torch\n"
    assert asked_range(metadata) == "<5,>=4.56.0"
    assert asked_range("Requires-Dist: torch") == ""


def test_the_last_release_of_each_minor_version() -> None:
    """Those without a wheel are left out."""
    offered = [Files(version, wheels=["w"]) for version in ("4.40.0", "4.40.2", "4.41.0")] + [Files("4.41.1")]
    assert [files.version for files in last_of_minors(offered)] == ["4.40.2", "4.41.0"]
