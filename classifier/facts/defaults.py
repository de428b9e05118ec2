"""Which arguments of a printed ``Namespace`` were given: those that differ from the defaults of the release that printed it."""

from __future__ import annotations

import re

from ..patterns.lazy import LazyPattern
from .arguments import TABLE, literal, split_items
from .types import Facts, FactValue

SAMPLE = ("0.8.5", "0.7.3", "0.6.6", "0.5.5")
"""Releases that print all arguments, newest first, for logs that do not tell theirs: a default of one of them is none given."""

_PAIR = LazyPattern(r"\s*([a-z_]\w*)=(.*)", re.DOTALL)
_ENUM = LazyPattern(r"<\w+\.\w+: (.*)>")
_NO_FLAGS = frozenset({"model", "model_tag", "subparser", "dispatch_function", "config", "command"})
_OF_THE_CODE: dict[str, FactValue] = {
    "ssl_cert_reqs": 0,
    "uvicorn_log_level": "info",
    "worker_cls": "auto",
    "scheduler_cls": "vllm.core.scheduler.Scheduler",
    "distributed_executor_backend": "mp",
}
"""Defaults that vLLM's parser works out by running code, so that the table of options does not hold them."""


def namespace(text: str) -> Facts:
    """Return all arguments of ``Namespace(…)``, as far as it was printed; those cut short are left out.

    Args:
        text: What stands behind the opening bracket.
    """
    found: Facts = {}
    for item, ended in split_items(text[:TABLE]):
        pair = _PAIR.fullmatch(item)
        if pair and ended:
            value = pair[2].strip()
            enum = _ENUM.fullmatch(value)
            found[pair[1]] = literal(enum[1] if enum else value)
    return found


def given(arguments: Facts, version: str) -> Facts:
    """Return the arguments that differ from the defaults of a release, the model first.

    Args:
        arguments: All of them, defaults included.
        version: Of the server; "" where the log does not have it.
    """
    from ...corpus import options

    releases = (version,) if options.exists("--model", version) else SAMPLE
    found: Facts = {}
    if model := arguments.get("model_tag") or arguments.get("model"):
        found["model"] = model
    for name, value in arguments.items():
        if name in _NO_FLAGS or value is None or value in ({}, [], ""):
            continue
        known = [option for release in releases if (option := options.describe("--" + name.replace("_", "-"), release))]
        if known and not any(_is_usual(name, value, option.default) for option in known):
            found[name] = value
    return found


def _is_usual(name: str, value: FactValue, default: object) -> bool:
    """Return whether a value is a default; one that only running vLLM's code would tell is known by its looks."""
    if default is None:
        default = _OF_THE_CODE.get(name, False if isinstance(value, bool) else "auto")
    return value == default or str(value) == str(default)
