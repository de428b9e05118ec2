"""Everything that one release knows, as plain data: sections of names, each with its attributes."""

from __future__ import annotations

from typing import Any

from .fields import fields_of
from .metrics import metrics_of
from .names import Class
from .parser import ARGUMENTS, Flag, FlagMiner
from .resolve import UNKNOWN, Resolver
from .source import Tree
from .variables import Variable, variables_of

Attributes = dict[str, Any]
Release = dict[str, dict[str, Attributes]]
"""Section → name → attributes, only those that are not the default."""
SECTIONS = ("flags", "variables", "arguments", "metrics")
MOST_CHOICES = 40
"""Longer lists name every model or parser there is: no help to anybody, and most of the table."""


class MiningError(Exception):
    """A release was not understood whole; the message names the place in its sources."""


def mine(tree: Tree) -> Release:
    """Return what the release in ``tree`` knows.

    Raises:
        MiningError: A part of it is written in a way that the miner does not know.
    """
    miner = FlagMiner(tree)
    try:
        flags = miner.mine()
        variables = variables_of(miner)
    except LookupError as error:
        raise MiningError(str(error)) from error
    if miner.unclear:
        raise MiningError("options whose name is worked out at run time: " + "; ".join(miner.unclear))
    engine = miner.find(ARGUMENTS, "AsyncEngineArgs")
    if not isinstance(engine, Class):
        raise MiningError(f"{ARGUMENTS}: no AsyncEngineArgs")
    backends = attention_backends(miner)
    for flag in flags:
        if flag.names[0] == "--attention-backend":
            flag.option.choices = backends
    if "VLLM_ATTENTION_BACKEND" in variables:
        variables["VLLM_ATTENTION_BACKEND"].choices = backends
    return {
        "flags": dict(sorted(_flag(flag) for flag in flags)),
        "variables": {name: _variable(found) for name, found in sorted(variables.items())},
        "arguments": {name: {} for name in sorted(fields_of(miner, engine)) if not name.startswith("_")},
        "metrics": {name: {"kind": kind} if kind else {} for name, kind in sorted(metrics_of(miner).items())},
    }


def attention_backends(resolver: Resolver) -> list[str]:
    """Return the attention backends that may be asked for; they are an enumeration, which argparse is not told of."""
    for path in resolver.tree.containing(b"class AttentionBackendEnum", b"class _Backend"):
        for name in ("AttentionBackendEnum", "_Backend"):
            found = resolver.find(path, name)
            if isinstance(found, Class):
                names = [member.name for member in resolver.members(found)]
                return [name for name in names if name.isupper() and name not in ("NO_ATTENTION", "CUSTOM")]
    raise MiningError("no enumeration of attention backends")


def _flag(flag: Flag) -> tuple[str, Attributes]:
    option = flag.option
    attributes: Attributes = {
        "aliases": flag.names[1:], "kind": option.kind, "many": option.many, "negated": option.negated,
        "deprecated": option.deprecated, "keys": sorted(option.keys),
    }  # fmt: skip
    attributes = {name: value for name, value in attributes.items() if value and value != "str"}
    if option.choices is not UNKNOWN and option.choices and len(option.choices) <= MOST_CHOICES:
        attributes["choices"] = option.choices
    if option.default is not UNKNOWN:
        attributes["default"] = option.default
    return flag.names[0], attributes


def _variable(found: Variable) -> Attributes:
    attributes: Attributes = {} if found.declared else {"undeclared": True}
    if found.choices is not UNKNOWN and found.choices:
        attributes["choices"] = found.choices
    if found.default is not UNKNOWN:
        attributes["default"] = found.default
    return attributes
