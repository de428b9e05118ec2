"""What a proposal from outside may not do, whatever speaks for it: words of a log can have steered who made it (SECURITY.md).

It may set what this release has to plain values, install what vLLM needs, and look. It reaches no shell, no address and no file that
the log does not name; it opens nothing, loads no code and destroys nothing.
"""

from __future__ import annotations

import json
import re

from ...corpus import options
from ...corpus.actions import (
    Action,
    DropOption,
    DropVariable,
    DropWords,
    Install,
    Run,
    Sentence,
    SetOption,
    SetVariable,
    Uninstall,
    UseImage,
)
from ...corpus.proposals import Bounds, bounds
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .context import Context

_PLAIN_PACKAGE = LazyPattern(r"(?P<name>[A-Za-z0-9][\w.-]*)(?:\[[\w,. -]+\])?")
_SPEC = LazyPattern(r"(?:(?:==|>=|<=|<|>|~=|!=)\s*\d[\w.+!*]*(?:\s*,\s*(?!$))?)*")
_LEAST = LazyPattern(r"(?:==|~=|<=|<)\s*(?P<release>\d[\w.]*)")
_MISSING_MODULE = LazyPattern(r"No module named ['\"](?P<module>\w+)")
_SHELL = LazyPattern(r"[$`\n\x00]|[;&|<>]\s*\w|\.\./")
"""What a value of a setting has no use for."""
_QUOTED = LazyPattern(r"'[^']*'|\"[^\"]*\"")
_PLAIN_PATH = LazyPattern(r"(?:[\w-]+=)?(?:/(?!\.\.)[\w.+-]+)+/?(?::\$[A-Z_]+)?")
_REPOSITORY = LazyPattern(r"[A-Za-z][\w-]*/[\w.-]+")
LONGEST = 300
"""Characters of a value."""


def is_harmful(text: str) -> bool:
    """Return whether words say what no answer says: an address, an order to a shell, what cannot be taken back."""
    return bounds().harm.search(text) is not None


def asks_for_own(action: Action) -> bool:
    """Return whether an action sets a secret that is the owner's to fill in."""
    return isinstance(action, SetVariable) and bounds().own.fullmatch(action.name) is not None


def restricted(action: Action, context: Context) -> str:  # noqa: PLR0911 - each kind has its bounds
    """Return why an action is not for a proposal to do; "" where it may.

    Args:
        action: As it was proposed.
        context: Of the failed start.
    """
    known = bounds()
    if asks_for_own(action):
        return ""
    if isinstance(action, (SetOption, SetVariable, DropOption, DropVariable)):
        return _setting(action, context, known)
    if isinstance(action, (Install, Uninstall)):
        return _package(action, context, known)
    if isinstance(action, UseImage):
        own = str(context.facts.get("container_image") or "").partition("@")[0].rpartition(":")[0]
        fits = known.images.fullmatch(action.image) or (own and action.image.startswith(f"{own}:"))
        return "" if fits and not re.search(r"[^\w./:@-]", action.image) else "an image that is not known to be vLLM's"
    if isinstance(action, Run):
        return "" if _only_looks(action.shell, known) else "a command that may do more than look"
    if isinstance(action, DropWords):
        given = str(context.facts.get("command") or "")
        return "" if all(word in given for word in action.words) else "the start command has no such words"
    if isinstance(action, Sentence):
        return "its words ask for what no answer asks for" if is_harmful(action.text) else ""
    return "no such action may be proposed"


def _only_looks(command: str, known: Bounds) -> bool:
    """Return whether a command is made of such that change nothing."""
    outside = _QUOTED.sub(lambda found: found[0].replace("|", "\0").replace(";", "\0"), command)
    parts = [part.replace("\0", "|") for part in re.split(r"\s*(?:;|&&|\|)\s*", outside)]
    return all(known.looks.fullmatch(part.strip()) for part in parts)


def _setting(action: SetOption | SetVariable | DropOption | DropVariable, context: Context, known: Bounds) -> str:
    name = action.name.partition(".")[0]
    if known.doors.fullmatch(name) and not known.closes.fullmatch(name):
        return f"{name} opens the server or lowers its security: that is for its owner to decide"
    if isinstance(action, (DropOption, DropVariable)) or _holds_place(action, known):
        return ""
    if known.code.fullmatch(name):
        return f"{name} loads code or leads elsewhere: that is for the server's owner to decide"
    if (
        isinstance(action, SetVariable)
        and not name.startswith("VLLM_")
        and not (options.owner(name) or known.families.fullmatch(name))
    ):
        return f"no variable {name} is known"
    values = action.values if isinstance(action, SetOption) else (action.value,)
    for value in values:
        if _leads_elsewhere(value) or len(value) > LONGEST or is_harmful(value):
            return "its value is none that a setting of vLLM has"
    return _named(action.name, values, context, known) if isinstance(action, SetOption) else ""


def _holds_place(action: SetOption | SetVariable, known: Bounds) -> bool:
    """Return whether values lead to the toolkits of the machine, or hold a place for what the owner fills in."""
    values = action.values if isinstance(action, SetOption) else (action.value,)
    return bool(values) and all(known.places.fullmatch(value) and _PLAIN_PATH.fullmatch(value) for value in values)


def _leads_elsewhere(value: str) -> bool:
    table = _table(value)
    return "://" in value or (table is None and _SHELL.search(value) is not None)


def _named(name: str, values: tuple[str, ...], context: Context, known: Bounds) -> str:
    """Return that a value names code, weights or files that the log does not; "" where it names none such."""
    for value in values:
        pairs = list(_pairs(name, value))
        if any(known.keys.fullmatch(key) for key, _ in pairs):
            return "its value loads code or leads elsewhere: that is for the server's owner to decide"
        named = [text for key, text in pairs if known.named_keys.fullmatch(key)]
        named += [value] if known.names.fullmatch(name) and _table(value) is None else []
        texts = _texts(context.facts)
        if strange := next((text for text in named if text and text not in texts and not _beside(text, texts)), ""):
            return f"the log names no {strange}"
    return ""


def _beside(name: str, texts: set[str]) -> bool:
    """Return whether a repository is of the owner of one that the log names, and of its family: another quantization or size."""
    owner, slash, rest = name.partition("/")
    family = re.split(r"[-_.\d]", rest, maxsplit=1)[0].lower()
    return bool(slash and family and _REPOSITORY.fullmatch(name)) and any(
        text.lower().startswith(f"{owner.lower()}/{family}") for text in texts
    )


def _texts(facts: Mapping[str, object]) -> set[str]:
    """Return the texts among facts and arguments, whole: a part of one may be anything."""
    return {text for key, text in _pairs("", json.dumps(facts, default=str))}


def _pairs(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a setting with their texts, tables walked; those of a name with dots too."""
    dotted = name.split(".")[1:]
    if dotted:
        yield dotted[-1], value
    waiting: list[tuple[str, object]] = [("", _table(value))]
    while waiting:
        key, node = waiting.pop()
        if key:
            yield key, node if isinstance(node, str) else ""
        if isinstance(node, dict):
            waiting += [(str(inner), each) for inner, each in node.items()]
        elif isinstance(node, list):
            waiting += [(key, each) for each in node]


def _table(value: str) -> object:
    if not value.startswith(("{", "[")):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) else None


def _package(action: Install | Uninstall, context: Context, known: Bounds) -> str:
    found = _PLAIN_PACKAGE.fullmatch(action.package)
    name = found["name"].lower().replace("_", "-") if found else ""
    missing = _MISSING_MODULE.search(context.case.text)
    if name not in known.packages and not (missing and missing["module"].lower() == name):
        return f"{action.package} is not among the packages that vLLM needs"
    spec = action.spec if isinstance(action, Install) else ""
    if _SPEC.fullmatch(spec) is None:
        return f"{spec} is no version"
    if name != "vllm" or not isinstance(action, Install):
        return ""
    goal = _LEAST.match(spec)
    older = context.bound.first and goal and in_range(goal["release"], f"<{context.bound.first}")
    return "an older release than the server's, and nothing in the log shows that one at work" if older else ""
