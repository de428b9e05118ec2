"""Follows the names that a test reads back to what sets them: options, keys of config.json, variables, fields of a request, the machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

Sets = Mapping[str, list[ast.expr]]
"""Names → what they are set to: ``size``, ``self.size``."""
_DEEP = 4
_MODEL = re.compile(r"hf_(?:text_)?config|text_config|vision_config|audio_config|pretrained_config")
_REQUEST = re.compile(r"^(?:self\.)?(?:request|sampling_params|pooling_params)$")
_BODY = re.compile(r"^(?:data|body|request|values)\.get$")
_RANKS = {
    "get_tensor_model_parallel_world_size": "--tensor-parallel-size",
    "get_pp_group": "--pipeline-parallel-size",
    "get_dp_group": "--data-parallel-size",
}
_SETTINGS = re.compile(r"config|args|^self$|^cls$|options|settings")
_MACHINE = re.compile(
    r"^(?:current_platform|torch\.cuda|torch\.xpu|torch\.version|platform|psutil|sys)\b|capability|device_count|is_cuda|is_rocm"
)
_CONFIGS = re.compile(r"^vllm/(?:config|engine/arg_utils|v1/config)")
_MODELS = re.compile(r"^vllm/model_executor/models/|^vllm/transformers_utils/")


class Flow:
    """What flows into the names of one function.

    Args:
        path: Of its file.
        local: Returns what it sets.
        own: Returns what its class sets.
        arguments: That it takes.
        is_option: Tells whether a name is an option of the release.
    """

    def __init__(
        self,
        path: str,
        local: Callable[[], Sets],
        own: Callable[[], Sets],
        arguments: frozenset[str],
        is_option: Callable[[str], bool],
    ) -> None:
        self._path = path
        self._read_local = local
        self._read_own = own
        self._arguments = arguments
        self._is_option = is_option

    @cached_property
    def _local(self) -> Sets:
        return self._read_local()

    @cached_property
    def _own(self) -> Sets:
        return self._read_own()

    def into(self, test: ast.expr) -> tuple[str, ...]:
        """Return what flows into a test, the nearest first: ``--option``, ``VARIABLE``, ``config.json key``, ``request field``, ``machine``."""
        return tuple(dict.fromkeys(self._sources(test, 0, set())))

    def _sources(self, node: ast.expr, depth: int, seen: set[str]) -> Iterator[str]:
        if depth > _DEEP:
            return
        for part in _parts(node):
            text = ast.unparse(part)
            if text in seen:
                continue
            seen.add(text)
            found = self._source(part, text)
            if found:
                yield found
            elif not isinstance(part, ast.Constant):
                for value in (*self._local.get(text, ()), *self._own.get(text, ()))[:3]:
                    yield from self._sources(value, depth + 1, seen)

    def _source(self, part: ast.expr, text: str) -> str:  # noqa: PLR0911 - one for each kind of source
        match part:
            case ast.Attribute(value=ast.Name(id="envs"), attr=name):
                return name
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if "environ" in text or "getenv" in text:
                return name
            case ast.Call(func=func, args=[ast.Constant(value=str() as name), *_]) if _BODY.search(ast.unparse(func)):
                return f"request {name}"
            case ast.Name(id=name) if name in _RANKS:
                return _RANKS[name]
        if _MACHINE.search(text):
            return "machine"
        if isinstance(part, ast.Attribute):
            owner = ast.unparse(part.value)
            if _MODEL.search(owner) or (
                _MODELS.search(self._path) and owner.endswith("config") and not self._option(part.attr)
            ):
                return f"config.json {part.attr}"
            if _REQUEST.search(owner):
                return f"request {part.attr}"
            if _SETTINGS.search(owner) and (owner not in ("self", "cls") or _CONFIGS.search(self._path)):
                return self._option(part.attr)
        if isinstance(part, ast.Name) and part.id in self._arguments and part.id not in self._local:
            return self._option(part.id)
        return ""

    def _option(self, name: str) -> str:
        option = f"--{name.replace('_', '-')}"
        return option if len(name) > 3 and name != "config" and self._is_option(option) else ""


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the names and attributes of an expression, whole chains before their owners."""
    match node:
        case ast.Attribute(value=value):
            yield node
            if not isinstance(value, ast.Name | ast.Attribute):
                yield from _parts(value)
        case ast.Name():
            yield node
        case ast.Call(func=func):
            if (text := ast.unparse(func)) in _RANKS or "environ" in text or "getenv" in text or _BODY.search(text):
                yield func if text in _RANKS else node
                return
            if isinstance(func, ast.Attribute):
                yield from _parts(func.value) if not isinstance(func.value, ast.Name) else (func,)
            if (
                isinstance(func, ast.Name)
                and func.id == "getattr"
                and len(node.args) > 1
                and isinstance(node.args[1], ast.Constant)
            ):
                yield ast.Attribute(value=node.args[0], attr=str(node.args[1].value), ctx=ast.Load())
            for each in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from _parts(each)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _parts(child)
                elif isinstance(child, ast.comprehension):
                    yield from _parts(child.iter)
