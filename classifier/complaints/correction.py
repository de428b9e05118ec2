"""Writes the fix for what an error names: one change for all complaints, exact, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ...corpus import options
from ...corpus.actions import Action, DropOption, DropVariable, SetOption, SetVariable
from ..fix import CORRECTION, OF_ERROR, Fix, leave_out, option
from ..patterns.lazy import LazyPattern
from . import values
from .case import Case, Change, Complaint
from .unrecognised import of_unrecognised

_GIB = frozenset(
    {"--swap-space", "--cpu-offload-gb", "--mm-processor-cache-gb", "--kv-offloading-size", "VLLM_CPU_KVCACHE_SPACE"}
)
_SHARE = frozenset({"--gpu-memory-utilization", "--device-memory-utilization"})
_SECONDS = LazyPattern(r"_S(?:ECONDS)?$|^VLLM_(?:HTTP_TIMEOUT_KEEP_ALIVE|LOG_STATS_INTERVAL)$")
"""Variables that hold seconds; others of the kind hold milliseconds."""
_NEVER = frozenset({"--trust-remote-code", "--allow-deprecated-quantization", "--api-key", "--hf-token"})
"""What is not changed on an error's word: it decides who may run code, or ask."""
_WHOLE = frozenset({"--speculative-config", "--kv-transfer-config"})
"""Configurations of one thing: nothing is left of them without a key that they need."""
_JSON, _JSON_CALLS = "hermes", LazyPattern(r"(?:qwen25|qwen3|qwq)(?!\w*(?:coder|vl|omni|next))")
"""The parser for models that write their calls as JSON between tags (vllm/tool_parsers/__init__.py of 0.33 says so of these)."""
_TOGETHER = {"--tool-call-parser": ("--enable-auto-tool-choice",)}
"""What is refused without the other."""
_VERIFY = "The server's next start gets past this message."


def corrected(case: Case) -> list[Fix]:
    """Return the correction of what the error names as fix 1; nothing where it does not settle what was meant.

    Args:
        case: The error.
    """
    changes = of_unrecognised(case)
    if not changes:
        found = [_change(complaint, case) for complaint in case.complaints]
        if any(change is None for change in found):
            return []
        changes = [change for change in found if change is not None]
    changes = list(dict.fromkeys(changes))
    return [_written(changes)] if changes else []


def _written(changes: list[Change]) -> Fix:
    """Write several changes as one fix."""
    env = all(change.env for change in changes)
    put = _joined([action for change in changes for action in change.put])
    dropped = [action for change in changes for action in change.dropped]
    if env and not put:
        put, dropped = [DropVariable(change.option) for change in changes], []
    title = (
        changes[0].title
        if len(changes) == 1
        else "; ".join([changes[0].title, *(c.title[:1].lower() + c.title[1:] for c in changes[1:])])
    )
    why = " ".join(dict.fromkeys(change.why for change in changes if change.why))
    return Fix(
        title=title, kind="env" if env else "flag", actions=(*put, *dropped), why=why, cost="none", verify=_VERIFY,
        option=changes[0].option, value=changes[0].value if len(changes) == 1 else "", restart=True, source=OF_ERROR, whole=True,
        tier=CORRECTION,
    )  # fmt: skip


def _joined(put: list[Action]) -> list[Action]:
    """Return what is set, each once; keys of one JSON option are given as one object."""
    made: list[Action] = []
    for action in put:
        table = _table(action)
        other = _same_json(action, made) if table else None
        if other is not None:
            whole = json.dumps({**(_table(other) or {}), **(table or {})})
            made[made.index(other)] = SetOption(other.name, (whole,))
        elif action not in made:
            made.append(action)
    return made


def _same_json(action: Action, made: list[Action]) -> SetOption | None:
    """Return what sets the same JSON option; None where nothing does."""
    name = action.name if isinstance(action, SetOption) else ""
    return next((each for each in made if isinstance(each, SetOption) and each.name == name and _table(each)), None)


def _table(action: Action) -> dict[str, object] | None:
    value = action.value if isinstance(action, SetOption) else ""
    return json.loads(value) if value.startswith("{") and value.endswith("}") and '"' in value else None


def _change(complaint: Complaint, case: Case) -> Change | None:
    """Return the change that answers one complaint; None where nothing tells what was meant."""
    name = complaint.name
    base = name.partition(".")[0]
    if base in _NEVER or not (complaint.variable or _is_there(base, case)):
        return None
    if complaint.kind == "switch":
        return _switch(complaint)
    if complaint.kind in _OTHERS:
        return _OTHERS[complaint.kind](complaint, case)
    value, why = _value(complaint, case)
    if value:
        return _set(complaint, value, why, case)
    begun = any(item.startswith(complaint.given) for item in complaint.allowed)
    if name.endswith("-parser") and re.search(r"\d", complaint.given) and not begun:
        return None  # parsers come with their models: one with a number is a later release's sooner than misspelt
    return _left_out(complaint, case)


def _is_there(option: str, case: Case) -> bool:
    """Return whether the release has an option: one that its parser read is there, whichever release is assumed."""
    if f"error: argument {option}" in case.text:
        return any(options.exists(option, release) for release in options.releases())
    return options.exists(option, case.release) is not False


def _value(complaint: Complaint, case: Case) -> tuple[str, str]:
    """Return the value that was meant and why it is that; "" where nothing tells."""
    name, given = complaint.name, complaint.given
    if complaint.low is not None or complaint.high is not None:
        return _in_range(complaint, case)
    if complaint.kind in ("int", "float"):
        unit = "share" if name in _SHARE else "gib" if name in _GIB else "seconds" if _SECONDS.search(name) else ""
        return values.number(given, complaint.kind == "int", unit), f"{name} takes a plain number."
    if complaint.kind == "bool":
        return values.boolean(given), f"{name} takes true or false."
    if complaint.kind == "json":
        fixed = values.mended(given)
        return (fixed if _fits(name, fixed, case) else ""), f"{name} takes JSON: names and texts in double quotes."
    accepted = complaint.allowed or _choices(complaint, case)
    value = values.choice(given, accepted) or _family(complaint, case)
    said = f"Accepted: {', '.join(accepted)}." if accepted else ""
    return value, f"{said} {_behind_colon(name, given)}".strip() if value == given.partition(":")[0] else said


def _behind_colon(name: str, given: str) -> str:
    """Tell where to set what a value asked for behind a colon, which is lost without it: later releases have options for that."""
    suffix = given.partition(":")[2]
    if not suffix:
        return ""
    option = f"{name.rpartition('-')[0]}-{suffix}"
    having = [release for release in options.releases() if options.exists(option, release)]
    lost = f"':{suffix}' is lost by it"
    return f"{lost}; vLLM {having[0]} to {having[-1]} have {option} for that." if having else f"{lost}."


def _choices(complaint: Complaint, case: Case) -> tuple[str, ...]:
    about = options.describe(complaint.name, case.release) if "." not in complaint.name else None
    return tuple(map(str, about.choices)) if about else ()


def _family(complaint: Complaint, case: Case) -> str:
    """Return the parser that the model's name asks for, where exactly one does."""
    if not complaint.name.endswith("-parser"):
        return ""
    model = re.sub(r"[^a-z0-9]", "", str(case.facts.get("model") or "").lower().rpartition("/")[2])
    if complaint.name == "--tool-call-parser" and _JSON in complaint.allowed and _JSON_CALLS.match(model):
        return _JSON
    named = [(item, re.sub(r"[^a-z0-9]", "", item.lower())) for item in complaint.allowed if len(item) > 3]
    # A number that goes on is another model's: V3.2 writes its calls in another way than V3.
    found = [item for item, plain in named if re.search(rf"{plain}(?!(?<=\d)\d)", model)]
    return found[0] if len(found) == 1 else ""


def _in_range(complaint: Complaint, case: Case) -> tuple[str, str]:
    """Return a value within the bounds: one that was given in per cent, the release's default, the upper bound itself."""
    try:
        given = float(complaint.given)
    except ValueError:
        return "", ""
    bounds = (complaint.low, complaint.high, complaint.open_low, complaint.open_high)
    why = _bounds(complaint)
    about = options.describe(complaint.name, case.release) if "." not in complaint.name else None
    default = about.default if about is not None else None
    if values.within(given, *bounds):
        return "", ""
    if complaint.name in _SHARE and 0.3 <= given / 100 <= 1 and values.within(given / 100, *bounds):
        return f"{given / 100:.4g}", f"{why} {complaint.given} read as per cent."
    if isinstance(default, (int, float)) and not isinstance(default, bool) and values.within(default, *bounds):
        return f"{default:g}" if isinstance(default, float) else str(default), f"{why} This is vLLM's default."
    whole = (about is not None and about.kind == "int") or complaint.given.lstrip("-").isdigit()
    if complaint.high is not None and given >= complaint.high and (whole or not complaint.open_high):
        return f"{complaint.high - (1 if complaint.open_high else 0):g}", why
    return "", why  # below the range nothing near makes sense: vLLM's own value does


def _bounds(complaint: Complaint) -> str:
    low = "" if complaint.low is None else f"{'above' if complaint.open_low else 'at least'} {complaint.low:g}"
    high = "" if complaint.high is None else f"{'below' if complaint.open_high else 'at most'} {complaint.high:g}"
    return f"{complaint.name} must be {' and '.join(filter(None, (low, high)))}."


def _fits(name: str, text: str, case: Case) -> bool:
    """Return whether all keys of a mended JSON value are ones that the option has, where the release's list is known."""
    if not text:
        return False
    table = json.loads(text)
    if name == "--limit-mm-per-prompt" and not all(isinstance(item, (int, dict)) for item in table.values()):
        return False
    about = options.describe(name, case.release)
    return about is None or not about.keys or set(table) <= set(about.keys)


def _set(complaint: Complaint, value: str, why: str, case: Case) -> Change | None:
    name = complaint.name
    # Quotation marks that people paste are mended before a log is read: JSON may look right that was refused.
    if value == complaint.given and complaint.kind != "json":
        return None
    shown = f": {complaint.given!r} is not accepted" if complaint.given and len(complaint.given) < 60 else ""
    if complaint.variable:
        return Change(f"Set {name} to {value}{shown}", (SetVariable(name, value),), (), why, name, value, env=True)
    base, _, path = name.partition(".")
    if path:
        given = case.arguments.get(base[2:].replace("-", "_"))
        table = given if isinstance(given, dict) else {}
        if not table:
            return Change(
                f"Give {name} {value}{shown}", (SetOption(name, (value,), joined=True),), (), why, base, value
            )
        whole = json.dumps(values.with_key(table, path.split("."), value), ensure_ascii=False)
        return Change(f"Give {path} of {base} {value}{shown}", option(base, whole), (), why, base, whole)
    written = (SetOption(name, (value,), joined=value.startswith("-")),)
    return Change(
        f"Give {name} {value}{shown}" if len(value) < 40 else f"Give {name} valid JSON", written, (), why, name, value
    )


def _switch(complaint: Complaint) -> Change | None:
    said = values.boolean(complaint.given)
    why = f"{complaint.name} is a switch: it takes no value."
    if said == "false":
        return Change(
            f"Leave {complaint.name} out",
            (),
            (DropOption(complaint.name, (f"{complaint.name}={complaint.given}",)),),
            why,
            complaint.name,
        )
    if said == "true":
        return Change(
            f"Write {complaint.name} alone, without {complaint.given}", option(complaint.name), (), why, complaint.name
        )
    return None


def _conflict(complaint: Complaint, case: Case) -> Change:
    del case
    why = "The message says that it is not supported here." if complaint.given else "The two exclude each other."
    return Change(f"Leave {complaint.name} out", (), leave_out([complaint.name]), why, complaint.name)


def _told(complaint: Complaint, case: Case) -> Change | None:
    """Set the variable that the message tells to set."""
    del case
    if complaint.name.startswith("VLLM_ALLOW_"):
        return None  # it takes a check away
    return Change(
        f"Set {complaint.name} to {complaint.given}",
        (SetVariable(complaint.name, complaint.given),),
        (),
        "The message asks for it.",
        complaint.name,
        complaint.given,
        env=True,
    )


def _needed(complaint: Complaint, case: Case) -> Change | None:
    """Give the option that another one needs, where its value is settled; else leave out the one that needs it."""
    name, other = complaint.name, complaint.given
    about = options.describe(other, case.release)
    why = f"{name} needs {other} beside it."
    if about is None or other in _NEVER:
        return None
    if about.kind == "switch":
        return Change(f"Give {other} as well", option(other), (), why, other)
    parser = _family(Complaint(other, "", tuple(map(str, about.choices))), case)
    if parser:
        return Change(
            f"Give {other} {parser} as well",
            option(other, parser),
            (),
            f"{why} By its name the model goes with it.",
            other,
            parser,
        )
    if case.arguments and name[2:].replace("-", "_") not in case.arguments:
        return None
    accepted = f" It takes: {', '.join(map(str, about.choices))}." if about.choices else ""
    return Change(f"Leave {name} out, or give {other} as well", (), leave_out([name]), f"{why}{accepted}", name)


def _key(complaint: Complaint, case: Case) -> Change | None:
    """Correct the name of a key in a JSON value, or take a key out that no release has."""
    from difflib import get_close_matches

    base, _, path = complaint.name.partition(".")
    about = options.describe(base, case.release)
    given = case.arguments.get(base[2:].replace("-", "_"))
    if about is None or not about.keys or not path or not isinstance(given, dict) or path not in given:
        return None
    rest = {key: value for key, value in given.items() if key != path}
    near = get_close_matches(path, about.keys, n=1, cutoff=0.75)
    if near and near[0] not in rest:
        rest[near[0]] = given[path]
        title = f"Write the key {near[0]} in {base}: {path!r} is none"
    else:
        title = f"Leave the key {path} out of {base}"
    knows = f"{base} knows: {', '.join(about.keys[:20])}."
    if not rest:
        return Change(f"Leave {base} out: it has no key {path}", (), _now(base, given), knows, base)
    whole = json.dumps(rest, ensure_ascii=False)
    return Change(title, option(base, whole), _now(base, given), knows, base, whole)


def _now(base: str, table: Mapping[str, object]) -> tuple[Action, ...]:
    """Return an option as it stands now: a new JSON value takes its place, their keys are not mixed."""
    return (DropOption(base, (base, json.dumps(table, ensure_ascii=False))),)


def _value_now(argument: str, path: str, case: Case) -> str:
    """Return what an option, or a key of its JSON value, was given; "" where nothing tells."""
    value = case.arguments.get(argument)
    for key in path.split(".") if path else ():
        value = value.get(key) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _left_out(complaint: Complaint, case: Case) -> Change | None:
    """Return the change that leaves out what cannot be corrected, where vLLM then takes a value of its own."""
    base, _, path = complaint.name.partition(".")
    ranged = complaint.low is not None or complaint.high is not None
    accepted = complaint.allowed or (() if complaint.variable else _choices(complaint, case))
    argument = base[2:].replace("-", "_")
    quoted_it = bool(complaint.given) and complaint.given == _value_now(argument, path, case)
    if base == "--model" or not (accepted or complaint.kind or ranged or quoted_it):
        return None
    why = _bounds(complaint) if ranged else f"Accepted: {', '.join(accepted)}." if accepted else ""
    if complaint.variable:
        if not base.startswith("VLLM_"):
            return None
        return Change(f"Unset {base}: {complaint.given!r} is not accepted", (), (), why, base, env=True)
    given = argument in case.arguments or "error: argument " in case.text
    if case.arguments and not given:
        return None  # something else than what was given led to it
    if path and base in _WHOLE:
        return Change(
            f"Leave {base} out: the {path} {complaint.given!r} is not accepted", (), leave_out([base]), why, base
        )
    given_as = (complaint.name, complaint.given) if complaint.given else ()
    dropped = (DropOption(complaint.name, given_as), *leave_out(_TOGETHER.get(base, ())))
    refused = f": {complaint.given!r} is not accepted" if complaint.given else ", or give it a value"
    about = options.describe(base, case.release)
    usual = (
        f" vLLM's default is {about.default}." if about and not path and about.default not in (None, "", False) else ""
    )
    return Change(f"Leave {complaint.name} out{refused}", (), dropped, f"{why}{usual}".strip(), base)


def _absent(complaint: Complaint, case: Case) -> Change:
    """Leave out a setting whose file is not there: vLLM then takes what it has itself."""
    del case
    name, path = complaint.name, complaint.given
    why = (
        f"{path} is not there for the server: a path of another machine, or one that is not mounted into the container."
    )
    title = f"Correct the path of {name}, or leave it out"
    return Change(
        title, (), () if complaint.variable else (DropOption(name, (name, path)),), why, name, env=complaint.variable
    )


def _added(complaint: Complaint, case: Case) -> Change | None:
    """Add the key that another key of a JSON value needs, with the accepted value that stands for all of them."""
    from difflib import get_close_matches

    base, _, key = complaint.name.partition(".")
    table = case.arguments.get(base[2:].replace("-", "_"))
    both = [item for item in complaint.allowed if item.endswith(("both", "auto"))]
    begin = len(complaint.allowed) == 1 and complaint.allowed[0].isdecimal()
    both = list(complaint.allowed) if begin else both
    if not isinstance(table, dict) or len(both) != 1:
        return None
    about = options.describe(base, case.release)
    if about is not None and about.keys and key not in about.keys:
        # Up to 0.10 the message says kv_disagg_role where the key is kv_role.
        like = [item for item in about.keys if item.rpartition("_")[2] == key.rpartition("_")[2]]
        if len(like) != 1:
            return None
        key = like[0]
    unknown = [name for name in table if about is None or name not in about.keys]
    if misspelt := get_close_matches(key, unknown, n=1, cutoff=0.85):
        # Releases that take any key ask for the right one and say nothing of the one beside it.
        renamed = {key if name == misspelt[0] else name: value for name, value in table.items()}
        whole = json.dumps(renamed, ensure_ascii=False)
        title = f"Write the key {key} in {base}: {misspelt[0]!r} is none"
        return Change(title, option(base, whole), _now(base, table), "", base, whole)
    whole = json.dumps(values.with_key(table, [key], int(both[0]) if begin else both[0]), ensure_ascii=False)
    why = f"{both[0]} is a number to begin with." if begin else f"{key} is one of {', '.join(complaint.allowed)}."
    return Change(
        f"Give {base} the key {key} as well", option(base, whole), _now(base, table), why, base, whole,
    )  # fmt: skip


def _bound(complaint: Complaint, case: Case) -> Change | None:
    """Set a setting to the value of the other one that it must not be above, or below."""
    return _set(complaint, complaint.allowed[0], "The other setting that the message names has this value.", case)


_OTHERS = {
    "none": _conflict,
    "path": _absent,
    "bound": _bound,
    "added": _added,
    "needs": _needed,
    "key": _key,
    "set": _told,
}
"""How complaints are answered that no value answers."""
