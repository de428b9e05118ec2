"""Whether a fix can be pasted as it stands, and the command with it applied."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from . import parts as options
from .parts import Part
from .start import Start
from .words import Word, is_assignment, split

_REMARK = LazyPattern(r"(?:\s{2,}[#(]|\s#\s).*$")
_OUT = LazyPattern(r"(?:# instead of|(?:^|# )[Ll]eave out) (?P<words>-[^#]*)$")
_INSTEAD = LazyPattern(r"# instead of ")
_STRAY = LazyPattern(r"(?:# instead of|^leave out) the words (?P<words>[^#]+)$")
_UNSET = LazyPattern(r"unset (?P<names>[A-Za-z_]\w*(?: [A-Za-z_]\w*)*)(?:\s+#.*)?$")
# What texts write where a person's own value belongs.
_PLACEHOLDER = LazyPattern(
    r"…|<|path/(?:to|in)|/(?:data|shared)/|example\.(?:org|com)|server\.yaml|(?<![A-Za-z0-9_])(?:[A-Z]|ORG|NAME|MODEL|DRAFT|"
    r"ORIGINAL|PATH|DIR|FILE|VALUE|FIELD|DATA|CACHE|BUCKET|PREFIX|PROXY|PORT|HOST|KEY|ID|URL|TOKEN|USER|LIMIT|BASE|CERT|"
    r"MAX_MODEL_LEN|AcmeForCausalLM)(?![A-Za-z0-9_])"
)


def applied(start: Start, fix: Advice) -> Start | None:
    """Return the command with a fix applied; None where the fix cannot be pasted, or changes nothing."""
    if fix.safety == "destructive":
        return None
    made = _without_variables(start, fix.change) or _changed(start, fix)
    return made if made is not None and _said(made) != _said(start) else None


def _without_variables(start: Start, change: str) -> Start | None:
    """Return the command without the variables that a fix unsets; None where it unsets none."""
    unset = _UNSET.match(change)
    for name in unset["names"].split() if unset else ():
        start = start.without_variable(name)
    return start if unset else None


def _changed(start: Start, fix: Advice) -> Start | None:
    """Return the command with what a fix takes out gone, and what it sets set."""
    stray = _STRAY.search(fix.change)
    dropped = [] if stray else _dropped(fix.change)
    taken = bool(stray or dropped)
    there = {part.name for part in start.arguments()}
    if (not taken and (not fix.exact or fix.kind not in ("flag", "env"))) or (
        # What is to be left out may stand in a file.
        dropped and "--config" in there and not there.intersection(dropped)
    ):
        return None
    change = read_change(fix.change) if fix.exact and not fix.change.startswith("leave out ") else None
    if change is None and (not taken or _INSTEAD.search(fix.change)):
        return None
    made = start.without_words(shlex.split(stray["words"])) if stray else start
    for name in dropped:
        made = made.without_option(name)
    return apply(made, *change) if change is not None else made


def best(start: Start, fixes: Sequence[Advice]) -> tuple[Start, Advice] | None:
    """Return the command with the first fix applied; None where that cannot be pasted.

    A later fix is not taken in its place: who pastes the command expects what the answer advises first.
    """
    made = applied(start, fixes[0]) if fixes else None
    return (made, fixes[0]) if made is not None else None


def _dropped(text: str) -> list[str]:
    """Return the long names of the options that a fix takes out: ``# instead of --old VALUE``, ``# leave out --old``."""
    found = _OUT.search(text)
    if found is None:
        return []
    try:
        words = split(found["words"])
    except ValueError:
        return []
    return [part.name for part in options.read(words) if part.name]


def _said(start: Start) -> list[str]:
    variables = [f"{name}={value.value}" for name, value in start.variables()]
    return variables + [word.value for word in start.words()]


def read_change(text: str) -> tuple[list[tuple[str, Word]], list[Part]] | None:
    """Return the variables and options that a fix sets; None where its text is more, or less, than that."""
    try:
        words = split(_REMARK.sub("", text).strip())
    except ValueError:
        return None
    if words and words[0].value == "export":
        del words[0]
    variables = []
    while words and is_assignment(words[0]):
        name, _, value = words[0].value.partition("=")
        variables.append((name, Word(value)))
        if words.pop(0).expands:
            return None
    if [word.value for word in words[:2]] == ["vllm", "serve"]:
        # Written as a whole command: the model is the user's own.
        del words[:3]
    parts = options.read(words)
    if not (variables or parts) or any(not part.name for part in parts):
        return None
    given = [*(value for _, value in variables), *(value for part in parts for value in part.values)]
    if any(_PLACEHOLDER.search(value.value) or value.value.endswith((",", ";")) for value in given):
        return None
    return variables, parts


def apply(start: Start, variables: Sequence[tuple[str, Word]], parts: Sequence[Part]) -> Start:
    """Return the command with variables and options set."""
    for name, value in variables:
        start = start.with_variable(name, value)
    for part in parts:
        start = start.with_option(part)
    return start
