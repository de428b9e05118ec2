"""Whose class a model's processor is: of transformers, of vLLM, or of the code in the model's repository."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...corpus import model_types
from ...corpus.options import version_key
from .worked import Worked

OWN = {
    "0.7.0": "DeepseekVLV2", "0.9.0": "Ovis", "0.10.2": "Ovis2_5", "0.11.1": "DeepseekOCR", "0.13.0": "Bagel",
    "0.17.0": "FireRedASR2 FunASR", "0.18.0": "GLM4V KimiAudio",
    "0.19.0": "CohereASR H2OVL Isaac KimiK25 NanoNemotronVL LlamaNemotronNanoVL LlamaNemotronVLEmbed NVLM Step3VL",
    "0.21.0": "MiMoVL MiMoOmni Moondream3", "0.22.0": "OpenVLA", "0.23.0": "MiniCPMO MiniCPMV", "0.24.0": "MiniMaxVL",
    "0.25.0": "UnlimitedOCR", "0.27.0": "KimiK3", "0.33.0": "InternVLChat",
}  # fmt: skip
"""Families whose processor vLLM has in vllm/transformers_utils/processors, by the first release that has it."""
_CLASS = re.compile(r"(?P<family>[A-Z]\w{1,60}?)(?:Image|Video|Audio)?(?:Processor|FeatureExtractor)(?:Fast)?")
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


def remote_processor(facts: Mapping[str, object]) -> Worked:
    """Return the processor that the error names where its class comes with the model's repository."""
    name = str(facts.get("processor") or "")
    found = _CLASS.fullmatch(name)
    if found is None:
        return Worked("", "the error names no processor")
    family = found["family"].replace("_", "").lower()
    if family in _NOBODYS or any(
        family == known or (len(known) >= _TELLING and family.startswith(known)) for known in _of_transformers()
    ):
        return Worked("", f"transformers has {name}")
    since, release = version_key(_since(found["family"])), version_key(str(facts.get("vllm_version") or ""))
    if since is not None and release is not None and release >= since:
        return Worked("", f"vLLM has {name}")
    return Worked(name, f"neither transformers nor this vLLM has {name}: it comes with the model's repository")


def own_processor_since(facts: Mapping[str, object]) -> Worked:
    """Return the first release of vLLM with a class of its own for a processor that comes with the model's repository."""
    if not remote_processor(facts):
        return Worked("", "the processor does not come with a model's repository")
    found = _CLASS.fullmatch(str(facts.get("processor")))
    since = _since(found["family"]) if found is not None else ""
    return Worked(since, "") if since else Worked("", "no release of vLLM has a class of its own for it")


def _since(family: str) -> str:
    return _SINCE.get(family.lower(), "")


def _of_transformers() -> frozenset[str]:
    """Return the model types that transformers knows, as they stand in names of classes."""
    return frozenset(name.replace("_", "").replace("-", "") for name in model_types.of_transformers())
