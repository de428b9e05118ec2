"""A module of vLLM's own that cannot be imported: which releases have it, for what imports it from outside vLLM."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...corpus import modules
from .worked import Worked

_BUILT = re.compile(
    r"vllm\.(?:.*\.)?(?:_\w*|\w+_C|cumem_allocator|spinloop)(?:\..*)?|vllm\.(?:vllm_flash_attn|third_party|grpc|_version)\b.*"
)
"""What is compiled, generated or copied when vLLM is built: no release's sources tell of it."""


def module_last(facts: Mapping[str, object]) -> Worked:
    """Return the last release with the missing module of vLLM, where later ones do without it."""
    return _named(facts, last=True)


def module_first(facts: Mapping[str, object]) -> Worked:
    """Return the first release with the missing module of vLLM, where the installed one may be older."""
    return _named(facts, last=False)


def module_unknown(facts: Mapping[str, object]) -> Worked:
    """Return the missing module where no release has it, and none of vLLM's builds makes it."""
    module = _asked(facts)
    if not module or modules.span(module) is not None:
        return Worked("", "releases of vLLM have the module, or none is missing")
    return Worked(module, f"no release of vLLM from {modules.oldest()} on has it")


def _named(facts: Mapping[str, object], last: bool) -> Worked:
    module = _asked(facts)
    span = modules.span(module) if module and facts.get("owner") != "vllm" else None
    if span is None:
        return Worked("", "the module is none of vLLM's, or vLLM's own code asks for it")
    until = span[1] if span[1] != modules.newest() else ""
    if until or last:
        return Worked(
            until if last else "", f"vLLM has {module} up to {until}" if until else "the newest release has it"
        )
    return Worked(span[0] if span[0] != modules.oldest() else "", f"vLLM has {module} from {span[0]} on")


def _asked(facts: Mapping[str, object]) -> str:
    module = str(facts.get("package") or "").strip("'\"`., ")
    return module if module.startswith("vllm.") and not _BUILT.fullmatch(module) else ""
