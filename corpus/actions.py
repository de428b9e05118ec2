"""What a fix does, as data: a closed grammar of typed actions.

A fix in a rule file, or in a remedies' table, keeps a short text (``--max-model-len 4096``, ``leave out --dtype``,
``pip install -U vllm``); ``action_text.py`` makes actions of it when the corpus is compiled, and refuses what does not parse.
Behind the compiler nobody reads that text back: what a fix changes, whether it installs vLLM, which option it drops is asked
of its actions, and what a person pastes is written from them (:func:`written`).

Strings may hold slots of a template (``{max_len_that_fits|4096}``) until a log's values are put in (:func:`filled`).
"""

from __future__ import annotations

import re

from .records import Record, fields_of, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Packed = tuple[object, ...]
    """An action as a compiled corpus holds it: the name of its kind, then its fields."""

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
"""Characters of words that a shell takes as they stand."""
# Expressions stand here as texts: most answers need none of them, and ``re`` keeps those that one did.
OWN = "…"
"""Stands for what the user has: the model and arguments of the start command."""


@record(slots=True, frozen=True)
class Action(Record):
    """One thing that a fix does."""


@record(slots=True, frozen=True)
class SetOption(Action):
    """Give an option of vLLM's command; a key of an option that takes JSON has dots (``--compilation-config.mode``)."""

    name: str
    values: tuple[str, ...] = ()
    """None for a switch."""
    negative: bool = False
    """``--no-…``: the switch is denied."""
    joined: bool = False
    """Written ``--name=value``."""
    open: bool = False
    """Whether a person has to fill something in (``<GPUs>``, ``N``): it cannot be pasted, and is written as it stands."""

    @property
    def base(self) -> str:
        """The option without its dotted key."""
        return self.name.partition(".")[0]

    @property
    def value(self) -> str:
        """The value where there is one; else ""."""
        return self.values[0] if len(self.values) == 1 else ""


@record(slots=True, frozen=True)
class DropOption(Action):
    """Take an option, or one key of it, out of the start command."""

    name: str
    given: tuple[str, ...] = ()
    """The words as they stand there, where they are known (a misspelt name, the value)."""


@record(slots=True, frozen=True)
class DropWords(Action):
    """Take stray words out of the start command."""

    words: tuple[str, ...]


@record(slots=True, frozen=True)
class SetVariable(Action):
    """Set a variable of the server's environment."""

    name: str
    value: str
    export: bool = False
    """Written with ``export``: for all that a shell starts."""
    open: bool = False
    """As ``SetOption.open``."""


@record(slots=True, frozen=True)
class DropVariable(Action):
    """Take a variable out of the server's environment."""

    name: str


@record(slots=True, frozen=True)
class Install(Action):
    """Install a package, or bring it up to date. To upgrade vLLM is this, and nothing else is."""

    package: str
    """A name, with extras; or an address."""
    spec: str = ""
    """``>=0.19,<0.21``; "" for whichever the index has."""
    upgrade: bool = False
    by: str = "pip"
    flags: tuple[str, ...] = ()
    """Of the installer, but for ``-U``."""


@record(slots=True, frozen=True)
class Uninstall(Action):
    """Remove a package."""

    package: str
    by: str = "pip"


@record(slots=True, frozen=True)
class UseImage(Action):
    """Run in a container image; behind an installation it is the other way to the same release."""

    image: str


@record(slots=True, frozen=True)
class Serve(Action):
    """Start the server once more, with what the actions before it set."""

    model: str = OWN
    output: str = ""
    """What the shell does with the output: ``2>&1 | tee next.log``."""
    command: str = ""
    """The whole start in its place, where it is known: ``python -m vllm.entrypoints.openai.api_server …``."""


@record(slots=True, frozen=True)
class Run(Action):
    """Run a command whose text is not interpreted."""

    shell: str


@record(slots=True, frozen=True)
class Expand(Action):
    """Do what a value that is worked out says: a piece of a command (``{gone_options}``)."""

    slot: str
    drop: bool = False
    """Whether what it names is taken out."""


@record(slots=True, frozen=True)
class Sentence(Action):
    """What a person reads and does; several are clauses of one sentence."""

    text: str
    names: tuple[str, ...] = ()
    """Options of vLLM that it mentions: a release without one of them takes the clause away."""


@record(slots=True, frozen=True)
class ChangeRequest(Sentence):
    """Send another request: for whoever calls the server."""


@record(slots=True, frozen=True)
class Wait(Sentence):
    """Wait, or try again later; nothing is changed."""


@record(slots=True, frozen=True)
class Look(Sentence):
    """Look at something; nothing is changed."""


@record(slots=True, frozen=True)
class Step(Sentence):
    """What a person does that no program can."""


KINDS: dict[str, type[Action]] = {
    "set_option": SetOption, "drop_option": DropOption, "drop_words": DropWords, "set_variable": SetVariable, "drop_variable": DropVariable,
    "install": Install, "uninstall": Uninstall, "use_image": UseImage, "serve": Serve, "run": Run, "expand": Expand,
    "change_request": ChangeRequest, "wait": Wait, "look": Look, "step": Step,
}  # fmt: skip
"""All kinds of actions, by their names in JSON. The list is closed: one more needs a decision (docs/decisions)."""
_NAMES = {kind: name for name, kind in KINDS.items()}
SETTINGS = (SetOption, DropOption, SetVariable, DropVariable)
"""Actions that change the start command."""


class ActionError(ValueError):
    """What was given is no action."""


# As JSON, and packed


def to_json(actions: Iterable[Action]) -> list[dict[str, object]]:
    """Return actions as JSON: ``{"do": "set_option", "name": "--max-model-len", "values": ["4096"]}``; defaults are left out."""
    return [{"do": _NAMES[type(each)], **_told(each)} for each in actions]


def _told(action: Action) -> dict[str, object]:
    told = {own.name: (getattr(action, own.name), own.default) for own in fields_of(type(action))}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, (value, usual) in told.items()
        if value != usual
    }


def from_json(items: object) -> tuple[Action, ...]:
    """Return the actions that JSON holds, as a language model gives them.

    Raises:
        ActionError: It is no list of actions, or one of them has a key or a value that its kind does not have.
    """
    if not isinstance(items, (list, tuple)):
        raise ActionError("actions: a list of objects is expected")
    return tuple(_from_json(item, number) for number, item in enumerate(items, 1))


def _from_json(item: object, number: int) -> Action:
    def refuse(why: str) -> ActionError:
        return ActionError(f"action {number}: {why}")

    if not isinstance(item, dict):
        raise refuse("an object is expected")
    kind = KINDS.get(str(item.get("do")))
    if kind is None or kind is Expand:
        raise refuse(f"'do' must be one of {', '.join(name for name in KINDS if name != 'expand')}")
    known = {own.name: own for own in fields_of(kind)}
    values: dict[str, object] = {}
    for name, value in item.items():
        if name == "do":
            continue
        if name not in known:
            raise refuse(f"{item['do']} has no {name!r} (known: {', '.join(known)})")
        wanted = known[name].type
        if (wanted == "bool" and isinstance(value, bool)) or (wanted == "str" and isinstance(value, str)):
            values[name] = value
        elif wanted.startswith("tuple") and isinstance(value, list) and all(isinstance(each, str) for each in value):
            values[name] = tuple(value)
        else:
            raise refuse(f"{name} must be {_CALLED.get(wanted, 'a list of texts')}")
    if lacks := [name for name, own in known.items() if own.required and name not in values]:
        raise refuse(f"{item['do']} needs {', '.join(lacks)}")
    made = kind(**values)
    if wrong := wrongly_named(made):
        raise refuse(wrong)
    return made


_CALLED = {"bool": "true or false", "str": "a text"}
_OPTION = r"--?[A-Za-z][\w-]*(?:\.[\w\-.]+)?"
_VARIABLE = r"[A-Za-z_]\w*"
_PACKAGE = r"[A-Za-z0-9][\w.-]*(?:\[[\w,. -]+\])?|(?:git\+)?https?://[^\s'\"`$;&|]+|\./?[\w./-]*|(?=\{)\S+"
_SLOTS = r"\{[a-z_][a-z0-9_]*(?:\|[^{}]*)?\}"


def wrongly_named(action: Action) -> str:
    """Return what is wrong with the name that an action gives; "" where nothing is.

    No shell reads a name as anything else: what a template leaves open stands in the values.
    """
    if isinstance(action, (SetOption, DropOption)) and not re.fullmatch(_OPTION, _unslotted("x", action.name)):
        return f"{action.name!r} is no option"
    if isinstance(action, (SetVariable, DropVariable)) and not re.fullmatch(_VARIABLE, _unslotted("x", action.name)):
        return f"{action.name!r} is no variable"
    if isinstance(action, (Install, Uninstall)) and not re.fullmatch(_PACKAGE, _unslotted("x", action.package)):
        return f"{action.package!r} is no package"
    return ""


def packed(actions: Iterable[Action]) -> tuple[Packed, ...]:
    """Return actions as a compiled corpus holds them."""
    return tuple((_NAMES[type(each)], *(getattr(each, own.name) for own in fields_of(type(each)))) for each in actions)


def unpacked(rows: Iterable[Packed]) -> tuple[Action, ...]:
    """Return the actions of a compiled corpus."""
    return tuple(KINDS[str(name)](*values) for name, *values in rows)


# With a log's values


def filled(action: Action, put: Callable[[str, str], tuple[str, bool]]) -> tuple[Action, bool]:
    """Return an action with its slots filled, and whether all of their values were known.

    Args:
        action: Of a template.
        put: Fills one string, and says whether all values were known. It is told what the string is for: ``plain`` (a value by
            itself, quoted when it is written), ``word`` (written as it stands: only ordinary words may come from a log),
            ``shell`` (a command) or ``prose`` (a sentence).
    """
    if isinstance(action, Sentence):
        use = "prose"
    elif isinstance(action, (Run, Serve)):
        use = "shell"
    else:
        use = "plain" if isinstance(action, (SetOption, SetVariable)) and not action.open else "word"
    changed: dict[str, object] = {}
    known = True
    for own in fields_of(type(action)):
        value = getattr(action, own.name)
        texts = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
        if any("{" in text for text in texts):
            told = [put(text, use) for text in texts]
            known = known and all(whole for _, whole in told)
            changed[own.name] = told[0][0] if isinstance(value, str) else tuple(text for text, _ in told)
    if not changed:
        return action, True
    kind: Callable[..., Action] = type(action)
    made = kind(**{own.name: changed.get(own.name, getattr(action, own.name)) for own in fields_of(type(action))})
    if not known and isinstance(made, (SetOption, SetVariable)):
        values = made.values if isinstance(made, SetOption) else (made.value,)
        made = replace(made, open=any(map(is_blank, values)))
    return made, known


_BLANKS = ("…", "<", "path/to", "path/in", "/data/", "/shared/", "example.org", "example.com", "server.yaml")
_BLANK_WORDS = frozenset({
    *"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ORG", "NAME", "MODEL", "DRAFT", "ORIGINAL", "PATH", "DIR", "FILE", "VALUE",
    "FIELD", "DATA", "CACHE", "BUCKET", "PREFIX", "PROXY", "PORT", "HOST", "KEY", "ID", "URL",
    "TOKEN", "USER", "LIMIT", "BASE", "CERT", "MAX_MODEL_LEN", "AcmeForCausalLM",
})  # fmt: skip


def is_blank(value: str) -> bool:
    """Whether a value of a template is for a person to fill in, whatever the log tells."""
    plain = _unslotted("", value)
    words = "".join(each if each.isascii() and (each.isalnum() or each == "_") else " " for each in plain)
    return any(blank in plain for blank in _BLANKS) or not _BLANK_WORDS.isdisjoint(words.split())


# As text


def _is_bare(word: str) -> bool:
    plain = word.removeprefix("~/")
    return bool(plain) and _BARE.issuperset(plain)


def _unslotted(by: str, text: str) -> str:
    return re.sub(_SLOTS, by, text) if "{" in text else text


def quoted(value: str) -> str:
    """Return a value as one word of a shell."""
    if _is_bare(value):
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"


def written(actions: Sequence[Action]) -> str:
    """Return what people paste, or read: the one place in which actions become text."""
    parts: list[str] = []
    note = ""
    at = 0
    while at < len(actions):
        action = actions[at]
        run = 1
        while at + run < len(actions) and _joins(actions[at], actions[at + run]):
            run += 1
        group = actions[at : at + run]
        at += run
        if isinstance(action, UseImage) and parts:
            note = f"   # or the image {action.image}"
        else:
            parts.append(_written(group))
    return " && ".join(parts) + note


_START = (SetOption, DropOption, DropWords, SetVariable, Serve, Expand)


def _joins(first: Action, other: Action) -> bool:
    """Whether two actions are written as one command."""
    if isinstance(first, Install) and isinstance(other, Install):
        return (first.by, first.upgrade, first.flags) == (other.by, other.upgrade, other.flags)
    if isinstance(first, Uninstall) and isinstance(other, Uninstall):
        return first.by == other.by
    if isinstance(first, DropVariable):
        return isinstance(other, DropVariable)
    if isinstance(first, Sentence):
        return isinstance(other, Sentence)
    return isinstance(first, _START) and isinstance(other, _START)


def _written(group: Sequence[Action]) -> str:
    first = group[0]
    if isinstance(first, Install):
        return _install(first, [_requirement(each) for each in group if isinstance(each, Install)])
    if isinstance(first, Uninstall):
        return f"{first.by} uninstall -y {' '.join(each.package for each in group if isinstance(each, Uninstall))}"
    if isinstance(first, DropVariable):
        return f"unset {' '.join(each.name for each in group if isinstance(each, DropVariable))}"
    if isinstance(first, Sentence):
        return "; ".join(each.text for each in group if isinstance(each, Sentence))
    plain = next((getattr(first, name) for name in ("image", "shell") if hasattr(first, name)), None)
    return _command(group) if plain is None else str(plain)


def _install(first: Install, packages: list[str]) -> str:
    before = [flag for flag in first.flags if not flag.startswith(_AFTER)]
    after = [flag for flag in first.flags if flag.startswith(_AFTER)]
    words = [first.by, "install", *(["-U"] if first.upgrade else []), *before, *packages, *after]
    return " ".join(words)


_AFTER = ("--torch-backend", "--no-build-isolation", "--no-deps", "--index-url", "--extra-index-url", "--find-links", "--no-binary")  # fmt: skip
"""Flags that are written behind the packages."""


def _requirement(install: Install) -> str:
    text = f"{install.package}{install.spec}"
    # What holds a shell's substitution is our own template: a log's value never does (``filled``).
    return text if _is_bare(_unslotted("x", text)) or "$(" in text else f"'{text}'"


def _command(group: Sequence[Action]) -> str:
    variables = [each for each in group if isinstance(each, SetVariable)]
    words = [f"{each.name}={_value(each.value, each.open) if each.value else ''}" for each in variables]
    if variables and variables[0].export:
        words.insert(0, "export")
    served = next((each for each in group if isinstance(each, Serve)), None)
    if served is not None:
        words.append(served.command or f"vllm serve {served.model}")
    for each in group:
        if isinstance(each, SetOption):
            words += _option(each)
        elif isinstance(each, Expand) and not each.drop:
            words.append(each.slot)
    if served is not None and served.output:
        words.append(served.output)
    given = [text for each in group for text in _dropped(each)]
    if not given:
        return " ".join(words)
    return f"{' '.join(words)}   # instead of {' '.join(given)}" if words else f"leave out {' '.join(given)}"


def _option(option: SetOption) -> list[str]:
    name = f"--no-{option.name[2:]}" if option.negative else option.name
    if option.joined:
        return [f"{name}={_value(option.value, option.open)}"]
    return [name, *(_value(value, option.open) for value in option.values)]


def _value(text: str, blank: bool) -> str:
    whole = ("{" in text and re.fullmatch(_SLOTS, text)) or (blank and re.fullmatch(_TO_FILL, text))
    return text if whole else quoted(text)


_TO_FILL = r"(?:<[^<>'\"]*>|…|[\w@%+=:,./~-]|\{[a-z_][a-z0-9_]*(?:\|[^{}]*)?\})+"
"""Values with a blank that stand without quotes: nobody pastes them."""


def _dropped(action: Action) -> list[str]:
    if isinstance(action, DropOption):
        return list(map(quoted, action.given)) or [action.name]
    if isinstance(action, DropWords):
        return ["the words", *(quoted(word) if set(word) & set(" '\"\\$`;|&<>") else word for word in action.words)]
    return [action.slot] if isinstance(action, Expand) and action.drop else []
