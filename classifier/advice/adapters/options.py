"""Options and variables as this release and this start have them.

What is not there, is set already, was refused, or would move a value the wrong way is left out, or replaced by what does.
"""

from __future__ import annotations

import json
import re

from ....corpus.actions import Action, DropOption, DropVariable, Sentence, SetOption, SetVariable, Step
from ....corpus.records import replace
from ...facts.versions import in_range
from ...fix import CORRECTION, Fix, because, with_action
from ...patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...command.parts import Part
    from ...fix import Withheld
    from ..context import Context

_MEMBER = LazyPattern(r"[A-Z]\w+\.([A-Z][A-Z_]*)")
_OF_MEMORY = (
    "--gpu-memory-utilization", "--device-memory-utilization", "--kv-cache-dtype", "--tensor-parallel-size", "--max-model-len",
)  # fmt: skip
"""Options that the memory ledger can be held against."""
_RANKS = ("--tensor-parallel-size", "--pipeline-parallel-size")
_VARIABLES = {"--attention-backend": "VLLM_ATTENTION_BACKEND"}
"""Variables that say what an option says, and came before it."""
_PARTS = {"--speculative-config": ("--spec-method", "--spec-model", "--spec-tokens")}
"""Options that others take the place of, one value each."""
_OWN_FORMATS = ("npu", "hpu", "tpu", "neuron")
"""Platforms whose plug-ins load weights in formats of their own."""
_THEIR_FORMAT = "Use a checkpoint of the same model in a quantised format that this platform's plug-in supports (its documentation lists them)"
_JSON = ("compilation_config",)
"""Arguments of which some keys have options of their own."""


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a fix with the options that this start can be given, or that it was given, or None with the reason.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
    """
    if "formats" in fix.tags and context.platform in _OWN_FORMATS:
        fix = replace(fix, actions=(Step(_THEIR_FORMAT),), whole=False)
    if any(isinstance(each, Sentence) and each.names for each in fix.actions) and context.told:
        return _mentioned(fix, context)
    fix = _only_given(fix, context)
    if fix.dropped and fix.tier != CORRECTION:
        return _given(fix, context)
    return fix, ""


def _only_given(fix: Fix, context: Context) -> Fix:
    """Return a fix that leaves out what these releases can only be given or not: `--no-…` came later for many switches."""
    actions = tuple(
        DropOption(each.name)
        if isinstance(each, SetOption) and each.negative and context.bound.having(f"--no-{each.name[2:]}") is None
        else each
        for each in fix.actions
    )
    return fix if actions == fix.actions else replace(fix, actions=actions)


def _mentioned(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a step without the clauses that name options which the release lacks."""
    missing = {
        name for each in fix.actions if isinstance(each, Sentence) for name in each.names if _lacks(name, context)
    }
    left = tuple(each for each in fix.actions if not (isinstance(each, Sentence) and missing.intersection(each.names)))
    if not left:
        first = next(
            name for each in fix.actions if isinstance(each, Sentence) for name in each.names if name in missing
        )
        return None, f"vLLM {context.bound} has no {first}"
    return (fix if len(left) == len(fix.actions) else replace(fix, actions=left)), ""


def _lacks(name: str, context: Context) -> bool:
    return context.bound.having(name.partition(".")[0]) is None


# What is left out


def _given(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return a fix with those of the options it leaves out that were given; where the log lists no arguments, any may have been."""
    only = fix.only_drops
    names = [each.name for each in fix.dropped]
    given, command = context.arguments, str(context.facts.get("command") or "")
    missing = next((name for name in names if _lacks(name, context)), "") if only and not given else ""
    if missing:
        return None, f"vLLM {context.bound} has no {missing}"
    left = [each for name in names for each in _given_as(name, given, command)] if given else names
    variable = next((_VARIABLES[name] for name in names if _VARIABLES.get(name) in context.case.variables), "")
    if variable and (not given or not left):
        unset = replace(fix, kind="env", actions=(DropVariable(variable),), option=variable, value="")
        return (unset if only else fix), ""
    if names and not left:
        return None, f"{names[0]} is not among the arguments that the log lists"
    if reason := _no_room(left, context):
        return None, reason
    return (fix if not only or left == names else replace(fix, actions=tuple(map(DropOption, left)))), ""


def _given_as(name: str, arguments: Mapping[str, object], command: str) -> list[str]:
    """Return the option if it was given, what was given in its place, or nothing."""
    positive = f"--{name[5:]}" if name.startswith("--no-") else name
    if name in command or _has(name, arguments) or (positive != name and _has(positive, arguments)):
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


def _no_room(names: list[str], context: Context) -> str:
    """Return that the weights do not fit without the ranks that a fix takes away; "" where they do, or nobody knows."""
    ranks = [SetOption(name, ("1",)) for name in names if name in _RANKS]
    if not ranks:
        return ""
    from .memory import below_weights

    return below_weights(ranks, context.facts)


# What is set


def settle(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Try what a fix sets against what the release has and what is in force."""
    if not fix.versions and not context.told and (fix.sets or fix.unset) and "settled" not in fix.tags:
        # Where the log does not tell its release, the fix says for which of those that can have written it there is such an option.
        unset = [name for name in fix.unset if name not in _shown(context)]
        here = _of_vllm([*(each.name for each in fix.options), *(each.name for each in fix.variables), *unset])
        fix = replace(fix, versions=next(filter(None, map(context.bound.having, here)), ""))
    if fix.unset:
        return _there(fix, [name for name in fix.unset if name not in _shown(context)], [], context)
    if fix.kind not in ("flag", "env") or not fix.sets or "settled" in fix.tags:
        return fix, ""
    variables, given = fix.variables, fix.options
    if any(each.open for each in variables) or any(each.open for each in given):
        return _there(fix, [each.name for each in variables], given, context)
    if reason := _excluded([each.name for each in variables], given, context):
        return None, reason
    if len(given) == 1 and not variables:
        fitting, reason = _weighed(fix, given[0], context)
        if fitting is None or fix.moves:
            return fitting, reason
        fix = fitting
    for option in given if fix.moves and len(given) > 1 else ():
        fix = _moved(fix, option, context)[0] or fix
    so = all(_is_so(option, context) for option in given) and _have_values(variables, context)
    return (None, "it is set so already") if so else (fix, "")


def _there(fix: Fix, variables: list[str], given: list[SetOption], context: Context) -> tuple[Fix | None, str]:
    """Keep a fix that sets, or unsets, what a release has that can have written the log."""
    missing = _missing(variables, given, context)
    return (None, f"vLLM {context.bound} has no {missing}") if missing else (fix, "")


def _shown(context: Context) -> set[object]:
    """Return the variables that the log shows set: they are there, whatever the table of options has."""
    return {*context.case.variables, context.facts.get("kernel_variable")}


def _weighed(fix: Fix, option: SetOption, context: Context) -> tuple[Fix | None, str]:
    """Keep a value that moves the right way and, of those that memory hangs on, gives what the log says is missing."""
    fitting, reason = _moved(fix, option, context) if fix.moves else (fix, "")
    if fitting is None or option.name not in _OF_MEMORY:
        return fitting, reason
    from .memory import balanced

    return balanced(fitting, fitting.options[0], context.facts)


def _excluded(variables: list[str], given: list[SetOption], context: Context) -> str:
    """Return why a fix cannot be applied here at all; "" where it can."""
    if missing := _missing(variables, given, context):
        return f"vLLM {context.bound} has no {missing}"
    if any(each.name in (*_OF_MEMORY[:2], *_RANKS) for each in given):
        from .memory import below_weights, beyond_free

        if reason := beyond_free(given, context.facts) or below_weights(given, context.facts):
            return reason
    return _refused(given, context)


def _missing(variables: Iterable[str], given: Iterable[SetOption], context: Context) -> str:
    """Return what a fix sets that no release has which can have written the log; "" where there is none."""
    names = [*(each.name for each in given), *variables]
    return next((name for name in _of_vllm(names) if context.bound.having(name) is None), "")


def _of_vllm(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(("--", "VLLM_"))]


def without_older(fixes: list[Fix], context: Context) -> tuple[list[Fix], Withheld]:
    """Return fixes with those behind that newer releases no longer have; without them where nothing says that it is an old one."""
    older = [fix for fix in fixes if fix.versions and in_range(context.release, fix.versions) is False]
    others = [fix for fix in fixes if fix not in older]
    if context.bound.bounded:
        return [*others, *older], []
    why = "only vLLM {} has it, and nothing says that the server is so old"
    return others, [(fix.title, why.format(fix.versions)) for fix in older]


def _refused(given: Sequence[SetOption], context: Context) -> str:
    """Return why the error's own words exclude what a fix sets; "" where they do not."""
    for complaint in context.case.complaints:
        for option in given:
            if option.name != complaint.name or len(option.values) != 1:
                continue
            value = option.value
            if value == complaint.given:
                return f"the error refuses {option.name} {value}"
            if complaint.allowed and value not in complaint.allowed:
                return f"{value} is not among the values that the error lists"
    return ""


def _is_so(option: SetOption, context: Context) -> bool:
    name = option.name.lstrip("-").replace("-", "_")
    given = context.arguments.get(name)
    if given is None:
        resolved = context.facts.get(name)
        given = _plain(resolved) if isinstance(resolved, (bool, int, float, str)) else None
    if given is None or "." in option.name:
        return False
    if not option.values:
        return given is (not option.negative)
    if isinstance(given, dict):
        try:
            return bool(given == json.loads(option.values[0]))
        except (ValueError, RecursionError):
            return False
    texts = list(option.values)
    if isinstance(given, (list, tuple)):
        return texts == [str(item) for item in given]
    return len(texts) == 1 and (texts[0] == str(given) or number(texts[0]) == number(given) is not None)


def _plain(value: bool | float | str) -> bool | float | str:
    """Return a value as it is given, where Python prints it as a member of an enumeration: ``LoadFormat.AUTO``."""
    found = _MEMBER.fullmatch(value) if isinstance(value, str) else None
    return found[1].lower() if found else value


def _have_values(variables: list[SetVariable], context: Context) -> bool:
    command = f" {context.facts.get('command') or ''} "
    return all(
        re.search(rf"[\s\"']{re.escape(each.name)}=[\"']?{re.escape(each.value)}[\s\"']", command) for each in variables
    )


def _moved(fix: Fix, option: SetOption, context: Context) -> tuple[Fix | None, str]:
    """Keep a value that moves the way the fix says, or put one in its place that does."""
    now, new = number(context.in_force(option.name)), number(option.value)
    if now is None or new is None or (new > now if fix.moves == "up" else new < now):
        return fix, ""
    if option.name == "--tensor-parallel-size" and fix.moves == "up" and not context.facts.get("gpu_count"):
        return None, f"the log shows no more GPUs than its {now:g} ranks use"
    other = _further(option.name, now, fix.moves)
    if not other:
        way = "as high" if fix.moves == "up" else "as low"
        return None, f"{option.name} is {now:g} already: {way} as it goes, or further than the fix would set it"
    why = because(fix, f"Now it is {now:g}.")
    moved = with_action(fix, option, replace(option, values=(other,)))
    return replace(moved, value=other if fix.value else "", why=why), ""


def _further(name: str, now: float, way: str) -> str:
    """Return the next sensible value on the way from the one in force; "" where there is none."""
    if name in ("--gpu-memory-utilization", "--device-memory-utilization"):
        value = round(now + 0.03 if way == "up" else now - 0.05, 2)
        return f"{value:.2f}" if 0.1 <= value <= 0.97 else ""
    if now != int(now) or now < 1:
        return ""
    value = int(now) * 2 if way == "up" else int(now) // 2
    return str(value) if value >= 1 else ""


def number(value: object) -> float | None:
    """Return a number, or a text that is one; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


# Keys of options that take JSON: a dotted key beside a JSON value would replace all of it, so it is put into that value


def within_json(fix: Fix, arguments: Mapping[str, object]) -> Fix:
    """Return a fix that sets keys with the whole value of their option, or with a word on how they are given.

    Args:
        fix: As it holds otherwise; all but flags with dotted keys are returned as they are.
        arguments: As given, by name with underscores; empty where the log does not tell them.
    """
    if fix.kind != "flag" or not fix.options or not fix.sets or fix.variables:
        return fix
    given = [_as_given(option, arguments) for option in fix.options]
    if not any("." in option.name for option in given) or any(option.open for option in given):
        return fix
    from ...command.change import option_of, part_of
    from ...command.parts import put

    made: list[Part] = []
    for option in given:
        if option.name != option.base and not any(part.name == option.base for part in made):
            value = arguments.get(option.base[2:].replace("-", "_"))
            table = _table(value)
            if table is None:
                return _told(fix, given) if value is not None or not arguments else fix
            made.append(part_of(SetOption(option.base, (json.dumps(table, ensure_ascii=False),))))
        made = put(made, part_of(option))
    actions: tuple[Action, ...] = tuple(option_of(part) for part in made)
    return replace(fix, actions=actions)


def _as_given(option: SetOption, arguments: Mapping[str, object]) -> SetOption:
    """Return an option as the key of the JSON in which it was given: vLLM refuses both side by side."""
    key = option.name[2:].replace("-", "_")
    given = next((name for name in _JSON if key in (_table(arguments.get(name)) or {})), "")
    if "." in option.name or not given or len(option.values) != 1:
        return option
    return replace(option, name=f"--{given.replace('_', '-')}.{key}")


def _table(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) and value else None


def _told(fix: Fix, given: Sequence[SetOption]) -> Fix:
    """Return a fix with what its keys are within the JSON, for who gives it so."""
    keys = [option for option in given if "." in option.name and len(option.values) == 1]
    if fix.remark or any(option.name.count(".") > 1 for option in keys):
        return fix
    from ...command.parts import json_value

    told = [
        (option.name.partition(".")[2], json.dumps(json_value(option.value), ensure_ascii=False)) for option in keys
    ]
    inner = ", ".join(f'"{name}": {value}' for name, value in told)
    return replace(fix, remark=f"   # or within the JSON of {keys[0].base}: {inner}")
