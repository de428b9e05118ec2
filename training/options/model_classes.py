"""The model architectures of one release, and the interfaces of the classes that serve them, read from its sources."""

from __future__ import annotations

import ast
from typing import Any

from .names import Class, Names, Value
from .source import Tree

REGISTRIES = ("vllm/model_executor/models/registry.py", "vllm/model_executor/models/__init__.py")
MODELS = "vllm.model_executor.models"
_INTERFACES = tuple(f"vllm/model_executor/models/{name}.py" for name in ("interfaces", "interfaces_base"))
_NOT_ASKED = frozenset({"VllmModel", "VllmModelForTextGeneration"})
"""Bases that nothing is refused for."""
_NO_CLASSES = ("_PREVIOUSLY", "_OOT", "_ROCM", "_VLLM_MODELS", "_MODELS")
"""Dictionaries of the registry that hold something else, or only what the others hold."""
_KINDS = {
    "_GENERATION_MODELS": "text", "_TEXT_GENERATION_MODELS": "text", "_EMBEDDING_MODELS": "pooling", "_CROSS_ENCODER_MODELS": "pooling",
    "_LATE_INTERACTION_MODELS": "pooling", "_REWARD_MODELS": "pooling", "_TOKEN_CLASSIFICATION_MODELS": "pooling",
    "_SEQUENCE_CLASSIFICATION_MODELS": "pooling", "_MULTIMODAL_MODELS": "multimodal", "_CONDITIONAL_GENERATION_MODELS": "encoder_decoder",
    "_SPECULATIVE_DECODING_MODELS": "draft", "_TRANSFORMERS_SUPPORTED_MODELS": "transformers", "_TRANSFORMERS_BACKEND_MODELS": "transformers",
    "_TRANSFORMERS_MODELS": "transformers",
}  # fmt: skip
"""What a dictionary's models are for."""
_PIPELINE_LISTS = ("_PP_SUPPORTED_MODELS",)
"""Lists of architectures from before the interface SupportsPP."""

Found = dict[str, Any]
"""``at`` (module and class), ``kinds`` and ``can`` (the interfaces), by the names that the table has."""


class RegistryError(Exception):
    """A release's registry was not understood whole; the message names the place."""


def architectures_of(tree: Tree) -> dict[str, Found]:
    """Return the architectures that a release serves, by name.

    Raises:
        RegistryError: There is no registry, or it is written in a way that the miner does not know.
    """
    names = Names(tree)
    path = _registry(names)
    piped = _piped(tree)
    found: dict[str, Found] = {}
    for dictionary, value in _dictionaries(names, path):
        kind = _KINDS.get(dictionary)
        if kind is None:
            raise RegistryError(f"{path}: {dictionary} is not known")
        for name, (module, cls) in _entries(value, f"{path}: {dictionary}").items():
            entry = found.setdefault(name, {})
            entry["kinds"] = sorted({*entry.get("kinds", ()), kind})
            # Where two dictionaries have a name, the later one is what vLLM merges last.
            entry["at"] = f"{module.removeprefix(MODELS + '.')}:{cls}"
    for name, entry in found.items():
        entry["can"] = sorted({*interfaces_of(names, entry["at"]), *(["SupportsPP"] if name in piped else [])})
    return found


def dropped_by(tree: Tree) -> tuple[dict[str, str], dict[str, str]]:
    """Return the architectures of which a release says that an earlier one served them, and those that a plug-in serves.

    Returns:
        The last release by architecture, and the plug-in's address by architecture.
    """
    names = Names(tree)
    scope = names.scope(_registry(names))
    told: list[dict[str, str]] = []
    for dictionary in ("_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS"):
        value = scope.get(dictionary)
        texts = ast.literal_eval(value) if isinstance(value, ast.Dict) else {}
        told.append({str(name): str(text) for name, text in texts.items()})
    return told[0], told[1]


def interfaces_of(names: Names, at: str) -> set[str]:
    """Return the interfaces that a class has by itself, or through its bases in this release.

    Args:
        names: The names of the release.
        at: Module, as the registry names it, and class: ``llama:LlamaForCausalLM``.

    Raises:
        RegistryError: The release has no such class.
    """
    module, _, cls = at.partition(":")
    path = names.tree.path_of(module if module.startswith("vllm.") else f"{MODELS}.{module}")
    found = names.find(path, cls) if path is not None else None
    adapted = False
    if isinstance(found, Value):
        # `as_seq_cls_model(Qwen2ForCausalLM)`: the class made a pooling model. Or another name of a class.
        inner = found.node
        if isinstance(inner, ast.Call) and inner.args:
            adapted, inner = True, inner.args[0]
        none = isinstance(inner, ast.Constant)  # on platforms that lack it; others import it
        found = _imported(names, found.path, cls) if none else names.find_class(found.path, inner)
    if not isinstance(found, Class):
        raise RegistryError(f"{at}: no such class in {path}")
    line = names.lineage(found)
    has = {each.node.name for each in line if each.path in _INTERFACES and not each.node.name.startswith("_")}
    flags = _flags([each for each in line if each.path not in _INTERFACES])
    off = {name for name in has if flags.get(name.lower()) is False}
    on = {"IsPooling"} if adapted or flags.get("ispoolingmodel") else set()
    return (has | on) - off - _NOT_ASKED


def _imported(names: Names, path: str, cls: str) -> Class | None:
    """Return a class that a package takes from one of its own modules, on whatever platform."""
    module = names.tree.module(path)
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.ImportFrom) and node.level == 1 and any(alias.name == cls for alias in node.names):
            source = names.tree.path_of(f"{path.rpartition('/')[0]}/{node.module}".replace("/", "."))
            found = names.find(source, cls) if source is not None else None
            if isinstance(found, Class):
                return found
    return None


def _flags(line: list[Class]) -> dict[str, bool]:
    """Return what classes set flags to (``supports_pp = False``), by name without underscores; the nearest class counts."""
    flags: dict[str, bool] = {}
    for each in line:
        for node in each.node.body:
            if isinstance(node, ast.Assign):
                targets: list[ast.expr] = node.targets
            elif isinstance(node, ast.AnnAssign):
                targets = [node.target]
            else:
                continue
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
                for target in targets:
                    if isinstance(target, ast.Name):
                        flags.setdefault(target.id.replace("_", ""), node.value.value)
    return flags


def _registry(names: Names) -> str:
    for path in REGISTRIES:
        if any(True for _ in _dictionaries(names, path)):
            return path
    raise RegistryError("no registry of models in " + " or ".join(REGISTRIES))


def _dictionaries(names: Names, path: str) -> list[tuple[str, ast.Dict]]:
    return [
        (name, value)
        for name, value in names.scope(path).items()
        if name.endswith("_MODELS")
        and isinstance(value, ast.Dict)
        and not name.startswith(_NO_CLASSES[:3])
        and name not in _NO_CLASSES
    ]


def _entries(value: ast.Dict, place: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for key, item in zip(value.keys, value.values, strict=True):
        if key is None:
            continue  # ** of entries that another dictionary has
        try:
            name, (module, cls) = ast.literal_eval(key), ast.literal_eval(item)
        except (ValueError, TypeError) as error:
            raise RegistryError(f"{place}: {ast.unparse(key)} is written in an unknown way") from error
        found[str(name)] = (str(module), str(cls))
    return found


def _piped(tree: Tree) -> frozenset[str]:
    for path in tree.containing(*(name.encode() for name in _PIPELINE_LISTS)):
        module = tree.module(path)
        for node in module.body if module is not None else []:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in _PIPELINE_LISTS:
                return frozenset(ast.literal_eval(node.value))
    return frozenset()
