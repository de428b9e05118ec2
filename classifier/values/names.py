"""The model's name where a command needs it: a repository on the hub, or a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .worked import Worked

_REPOSITORY = re.compile(r"[\w][\w.\-]{0,95}/[\w][\w.\-]{0,95}")
_BASE = (
    (re.compile(r"(mistralai/Mi[sx]tral-(?:8x)?\d{1,2}B)-(v\d\.\d)"), r"\1-Instruct-\2"),
    (re.compile(r"(meta-llama/Llama-2-\d{1,2}b)-hf"), r"\1-chat-hf"),
    (re.compile(r"(meta-llama/(?:Meta-)?Llama-3(?:\.\d)?-\d{1,3}B(?:-Vision)?)"), r"\1-Instruct"),
    (re.compile(r"(google/gemma-(?:\d[\w.]?-)?E?\d{1,2}b)(?:-pt)?", re.IGNORECASE), r"\1-it"),
    (re.compile(r"(Qwen/Qwen1\.5-[\w.\-]*?\d(?:\.\d)?B)"), r"\1-Chat"),
    (re.compile(r"(Qwen/Qwen2(?:\.\d)?-(?:Coder-|Math-)?\d{1,2}(?:\.\d)?B)"), r"\1-Instruct"),
)
"""Names of base models, and of the repository that the same vendor trained on chat turns. Only families that keep to the rule."""
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./@+\-]{1,300}")


def hub_repository(facts: Mapping[str, object]) -> Worked:
    """Return the served model where its name is one of a hub's (``ORG/NAME``), else the repository that the error names."""
    return _named(facts, _REPOSITORY, "repository's name")


def model_folder(facts: Mapping[str, object]) -> Worked:
    """Return the served model where it is a folder, else the folder that the error names."""
    return _named(facts, _PATH, "folder")


def into_model_folder(facts: Mapping[str, object]) -> Worked:
    """Return ``--local-dir`` with the model's folder; nothing where the model is served from the hub's cache."""
    folder = model_folder(facts)
    return Worked(f" --local-dir {folder.value}", "") if folder else folder


def instruct_variant(facts: Mapping[str, object]) -> Worked:
    """Return the repository that is trained on chat turns where the served model is a vendor's base model of a known family.

    Nothing where adapters are served: they are trained for the base model.
    """
    given = facts.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    name = str(facts.get("model") or "")
    if arguments.get("enable_lora") or arguments.get("lora_modules"):
        return Worked("", "adapters are made for the model that is served")
    for shape, variant in _BASE:
        if found := shape.fullmatch(name):
            return Worked(found.expand(variant), "")
    return Worked("", f"{name!r} is no base model of a known family" if name else "the log names no model")


def _named(facts: Mapping[str, object], shape: re.Pattern[str], what: str) -> Worked:
    names = [str(facts[key]) for key in ("model", "repo") if facts.get(key)]
    if not names:
        return Worked("", "the log names no model")
    fitting = next((name for name in names if shape.fullmatch(name)), "")
    return Worked(fitting, "" if fitting else f"{names[0]!r} is no {what}")
