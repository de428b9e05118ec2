"""Options that a fix takes out of the start command: those that were not given cannot be, and some nothing works without."""

from __future__ import annotations

import json

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .situation import Situation

_OUT = LazyPattern(r"(?i:\bleave (?:out )?)(?P<options>--[a-z][\w-]*(?: (?:and )?--[a-z][\w-]*)*)")
_OPTION = LazyPattern(r"(?<![\w-])--[a-z][a-z0-9-]+")
_ONLY = LazyPattern(r"leave out (?P<options>--[a-z][\w.-]*(?: --[a-z][\w.-]*)*)")
"""A fix that does nothing else, of long names and keys of options that take JSON."""
_RANKS = ("--tensor-parallel-size", "--pipeline-parallel-size")
_VARIABLES = {"--attention-backend": "VLLM_ATTENTION_BACKEND"}
"""Variables that say what an option says, and came before it."""
_PARTS = {"--speculative-config": ("--spec-method", "--spec-model", "--spec-tokens")}
"""Options that others take the place of, one value each."""


def as_given(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return a fix with those of the options it leaves out that were given, or None with the reason.

    Args:
        fix: As it holds otherwise; all but those that leave options out hold.
        situation: Of the failed start; where its log does not list the arguments, any may have been given.
    """
    found = _OUT.search(fix.change)
    if found is None or fix.source.startswith("the error's"):
        return fix, ""
    only = _ONLY.fullmatch(fix.change)
    names = only["options"].split() if only else _OPTION.findall(found["options"])
    given = situation.case.arguments
    command = str(situation.facts.get("command") or "")
    missing = (
        next((name for name in names if situation.bound.having(name.partition(".")[0]) is None), "")
        if only and not given
        else ""
    )
    if missing:
        return None, f"vLLM {situation.bound} has no {missing}"
    left = [each for name in names for each in _given(name, given, command)] if given else names
    variable = next((_VARIABLES[name] for name in names if _VARIABLES.get(name) in situation.case.variables), "")
    if variable and (not given or not left):
        unset = replace(fix, kind="env", change=f"unset {variable}", option=variable, value="")
        return (unset if only else fix), ""
    if names and not left:
        return None, f"{names[0]} is not among the arguments that the log lists"
    if reason := _no_room(left, situation):
        return None, reason
    return (fix if not only or left == names else replace(fix, change=f"leave out {' '.join(left)}")), ""


def _given(name: str, arguments: Mapping[str, object], command: str) -> list[str]:
    """Return the option if it was given, what was given in its place, or nothing."""
    if name in command or _has(name, arguments):
        return [name]
    return [part for part in _PARTS.get(name, ()) if part in command or _has(part, arguments)]


def _has(name: str, arguments: Mapping[str, object]) -> bool:
    base, _, path = name.lstrip("-").partition(".")
    value = arguments.get(base.replace("-", "_"))
    if value is None or not path:
        return base.replace("-", "_") in arguments
    for key in path.split("."):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return True
        if not isinstance(value, dict):
            return True
        if key not in value:
            return False
        value = value[key]
    return True


def _no_room(names: list[str], situation: Situation) -> str:
    """Tell that the weights do not fit without the ranks that a fix takes away; "" where they do, or nobody knows."""
    ranks = [name for name in names if name in _RANKS]
    if not ranks:
        return ""
    from ..command.parts import read
    from ..command.words import split
    from .balance import below_weights

    return below_weights(read(split(" ".join(f"{name} 1" for name in ranks))), situation.facts)
