"""The model's name where a command needs it, and whose class its processor is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...corpus import model_types
from ...corpus.options import version_key
from ..patterns.lazy import LazyPattern
from .computed import Computed, piece, value

_REPOSITORY = LazyPattern(r"[\w][\w.\-]{0,95}/[\w][\w.\-]{0,95}")
_BASE = (
    (LazyPattern(r"(mistralai/Mi[sx]tral-(?:8x)?\d{1,2}B)-(v\d\.\d)"), r"\1-Instruct-\2"),
    (LazyPattern(r"(meta-llama/Llama-2-\d{1,2}b)-hf"), r"\1-chat-hf"),
    (LazyPattern(r"(meta-llama/(?:Meta-)?Llama-3(?:\.\d)?-\d{1,3}B(?:-Vision)?)"), r"\1-Instruct"),
    (LazyPattern(r"(google/gemma-(?:\d[\w.]?-)?E?\d{1,2}b)(?:-pt)?", re.IGNORECASE), r"\1-it"),
    (LazyPattern(r"(Qwen/Qwen1\.5-[\w.\-]*?\d(?:\.\d)?B)"), r"\1-Chat"),
    (LazyPattern(r"(Qwen/Qwen2(?:\.\d)?-(?:Coder-|Math-)?\d{1,2}(?:\.\d)?B)"), r"\1-Instruct"),
)
"""Names of base models, and of the repository that the same vendor trained on chat turns. Only families that keep to the rule."""
_PATH = LazyPattern(r"(?:~|\.{1,2})?/[\w./@+\-]{1,300}")


@value
def hub_repository(facts: Mapping[str, object]) -> Computed:
    """Return the served model where its name is one of a hub's (``ORG/NAME``), else the repository that the error names."""
    return _named(facts, _REPOSITORY, "repository's name")


@value
def model_folder(facts: Mapping[str, object]) -> Computed:
    """Return the served model where it is a folder, else the folder that the error names."""
    return _named(facts, _PATH, "folder")


@piece
def into_model_folder(facts: Mapping[str, object]) -> Computed:
    """Return ``--local-dir`` with the model's folder; nothing where the model is served from the hub's cache."""
    folder = model_folder(facts)
    return Computed(f" --local-dir {folder.value}", "") if folder else folder


@value
def instruct_variant(facts: Mapping[str, object]) -> Computed:
    """Return the repository that is trained on chat turns where the served model is a vendor's base model of a known family.

    Nothing where adapters are served: they are trained for the base model.
    """
    given = facts.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    name = str(facts.get("model") or "")
    if arguments.get("enable_lora") or arguments.get("lora_modules"):
        return Computed("", "adapters are made for the model that is served")
    for shape, variant in _BASE:
        if found := shape.fullmatch(name):
            return Computed(found.expand(variant), "")
    return Computed("", f"{name!r} is not a base model of a known family" if name else "the log names no model")


def _named(facts: Mapping[str, object], shape: LazyPattern[str], what: str) -> Computed:
    names = [str(facts[key]) for key in ("model", "repo") if facts.get(key)]
    if not names:
        return Computed("", "the log names no model")
    fitting = next((name for name in names if shape.fullmatch(name)), "")
    return Computed(fitting, "" if fitting else f"{names[0]!r} is no {what}")


OWN = {
    "0.7.0": "DeepseekVLV2", "0.9.0": "Ovis", "0.10.2": "Ovis2_5", "0.11.1": "DeepseekOCR", "0.13.0": "Bagel",
    "0.17.0": "FireRedASR2 FunASR", "0.18.0": "GLM4V KimiAudio",
    "0.19.0": "CohereASR H2OVL Isaac KimiK25 NanoNemotronVL LlamaNemotronNanoVL LlamaNemotronVLEmbed NVLM Step3VL",
    "0.21.0": "MiMoVL MiMoOmni Moondream3", "0.22.0": "OpenVLA", "0.23.0": "MiniCPMO MiniCPMV", "0.24.0": "MiniMaxVL",
    "0.25.0": "UnlimitedOCR", "0.27.0": "KimiK3", "0.33.0": "InternVLChat",
}  # fmt: skip
"""Families whose processor vLLM has in vllm/transformers_utils/processors, by the first release that has it."""
_CLASS = LazyPattern(r"(?P<family>[A-Z]\w{1,60}?)(?:Image|Video|Audio)?(?:Processor|FeatureExtractor)(?:Fast)?")
_NOBODYS = frozenset(
    {
        "auto",
        "base",
        "pretrained",
        "hf",
        "sequence",
        "multimodal",
        "logits",
        "input",
        "output",
        "encdecmultimodal",
        "dummy",
        "processing",
    }
)
"""Names of base classes and of vLLM's own machinery."""
_TELLING = 6
"""Letters from which on a model type that a longer name begins with tells the family."""
_SINCE = {family.lower(): release for release, families in OWN.items() for family in families.split()}


@value
def remote_processor(facts: Mapping[str, object]) -> Computed:
    """Return the processor that the error names where its class comes with the model's repository."""
    name = str(facts.get("processor") or "")
    found = _CLASS.fullmatch(name)
    if found is None:
        return Computed("", "the error names no processor")
    family = found["family"].replace("_", "").lower()
    if family in _NOBODYS or any(
        family == known or (len(known) >= _TELLING and family.startswith(known)) for known in _of_transformers()
    ):
        return Computed("", f"transformers has {name}")
    since, release = version_key(_since(found["family"])), version_key(str(facts.get("vllm_version") or ""))
    if since is not None and release is not None and release >= since:
        return Computed("", f"vLLM has {name}")
    return Computed(name, f"neither transformers nor this vLLM has {name}: it comes with the model's repository")


@value
def own_processor_since(facts: Mapping[str, object]) -> Computed:
    """Return the first release of vLLM with a class of its own for a processor that comes with the model's repository."""
    if not remote_processor(facts):
        return Computed("", "the processor does not come with a model's repository")
    found = _CLASS.fullmatch(str(facts.get("processor")))
    since = _since(found["family"]) if found is not None else ""
    return Computed(since, "") if since else Computed("", "no release of vLLM has a class of its own for it")


def _since(family: str) -> str:
    return _SINCE.get(family.lower(), "")


def _of_transformers() -> frozenset[str]:
    """Return the model types that transformers knows, as they stand in names of classes."""
    return frozenset(name.replace("_", "").replace("-", "") for name in model_types.of_transformers())
