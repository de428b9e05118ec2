"""The short text form of actions, as rule files and remedies' tables hold it: read when the corpus is compiled, and nowhere else.

==========  =====================================================================================
``flag``    ``--option value --other value``, ``leave out --option``
``env``     ``VARIABLE=value …``, ``export VARIABLE=value``, ``unset VARIABLE``, with ``--option value`` behind
``command`` ``pip install …``, ``uv pip install …``, ``pip uninstall -y …``, ``VARIABLE=value vllm serve … --option value``,
            ``leave out …``, joined by `` && ``; all else is a command that is not interpreted
``step``    a sentence
==========  =====================================================================================

Behind the actions a remark for people may stand, three blanks apart: ``# …`` or ``(…)``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .actions import (
    OWN,
    Action,
    ChangeRequest,
    DropOption,
    DropVariable,
    Expand,
    Install,
    Look,
    Run,
    Serve,
    SetOption,
    SetVariable,
    Step,
    Uninstall,
    UseImage,
    Wait,
    is_blank,
    written,
    wrongly_named,
)  # fmt: skip
from .options import flag_of

__all__ = ("TextError", "read_actions")

PIECES = frozenset({"meant_options", "gone_options", "early_options", "misplaced_options", "accepted_value"})
"""Values that are pieces of a start command themselves."""
_REMARK = re.compile(r"(?s)(?P<body>.*?)(?P<remark>\s{2,}[#(].*)$")
_IMAGE = re.compile(r"\s+# or the image (?P<image>[\w./:{}|-]+)$")
_SLOT = r"\{[a-z_][a-z0-9_]*(?:\|[^{}]*)?\}"
_WORD = re.compile(rf"(?:{_SLOT}|<[^<>]*>|[^\s'\"\\]|'[^']*'|\"[^\"$`\\]*\")+")
_QUOTE = re.compile(rf"(?P<slot>{_SLOT})|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"")
_ASSIGNS = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_EXPANDS = re.compile(r"\$[A-Za-z_{(]|`")
_NUMBER = re.compile(r"-\d[\d.]*(?:[eE][+-]?\d+)?$")
_OPTION = re.compile(r"--?[A-Za-z]")
_PIP = re.compile(r"(?P<by>(?:uv |[\w./~-]+/)?pip3?|python3? -m pip) (?P<verb>install|uninstall) ")
_REQUIREMENT = re.compile(
    rf"(?P<package>(?:{_SLOT}|[A-Za-z0-9])[\w.-]*(?:\[[\w,-]+\])?)(?P<spec>(?:[<>=!~]=?|===).*)?", re.DOTALL
)
_PLACE = re.compile(r"(?:git\+)?https?://\S+|\.|\./\S+|\S+\.whl")
_VALUED = frozenset({"-c", "--constraint", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-binary"})
"""Flags of pip with a word behind them."""
_MENTIONED = re.compile(r"(?<![\w/.=-])--[A-Za-z][\w-]*\w")
_OF_OTHERS = re.compile(r"\b(?:docker|podman|torchrun|accelerate|ray start|pip install|hf download|git clone)\b")
"""Commands with options of their own."""
_SERVE = re.compile(r"(?P<output> 2>&1 \| tee [^;&|#]*)?$")


class TextError(ValueError):
    """A text is no action of its kind."""


def read_actions(text: str, kind: str, tags: Sequence[str] = ()) -> tuple[tuple[Action, ...], str]:
    """Return the actions of a fix's ``change``, and the remark behind them.

    Args:
        text: The short form.
        kind: ``flag``, ``env``, ``command`` or ``step``.
        tags: Of the fix: whether a sentence is a look, a wait or another request.

    Raises:
        TextError: The text is none of its kind, or what would be written of its actions is another text.
    """
    text = text.strip()
    if kind == "step":
        return _sentences(text, tags), ""
    body, remark = text, ""
    if found := _REMARK.match(text):
        body, remark = found["body"], found["remark"]
    if kind in ("flag", "env"):
        actions = _served(body) or _settings(body)
        if not actions:
            raise TextError(f"{text!r} sets no {'option' if kind == 'flag' else 'variable'}; see docs/rules.md")
        if kind == "env" and not any(isinstance(each, (SetVariable, DropVariable)) for each in actions):
            raise TextError(f"{text!r} sets no variable")
    else:
        actions = [each for part in _parts(body) for each in _command(part)]
        if image := _IMAGE.fullmatch(remark):
            actions, remark = [*actions, UseImage(image["image"])], ""
    for action in actions:
        if wrong := wrongly_named(action):
            raise TextError(f"{text!r}: {wrong}")
    if (again := written(actions) + remark) != text:
        raise TextError(f"{text!r}: write it {again!r}")
    return tuple(actions), remark


def _sentences(text: str, tags: Sequence[str]) -> tuple[Action, ...]:
    """Return a sentence, clause by clause where it mentions options."""
    kinds: dict[str, type[Look | Wait | ChangeRequest]] = {"look": Look, "wait": Wait, "request": ChangeRequest}
    kind = next((kinds[tag] for tag in tags if tag in kinds), Step)
    if _OF_OTHERS.search(text) or not _MENTIONED.search(text):
        return (kind(text),)
    return tuple(kind(clause, tuple(filter(flag_of, _MENTIONED.findall(clause)))) for clause in text.split("; "))


def _words(text: str) -> list[str] | None:
    """Return the words of a command, without quotes; None where a shell would read more than words."""
    words: list[str] = []
    place = 0
    text = text.strip()
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            return None
        words.append(_QUOTE.sub(lambda each: each["slot"] or each["single"] or each["double"] or "", found[0]))
        place = found.end()
        while place < len(text) and text[place].isspace():
            place += 1
    return words


def _settings(body: str) -> list[Action]:
    """Return what a text sets or takes out of the start command; nothing where it is more than that."""
    taken = body.removeprefix("leave out ")
    words = _words(taken)
    if not words or any(_EXPANDS.search(word) for word in words):
        return []
    if taken != body:
        return [_dropped(word) for word in words] if all(map(_names_option, words)) else []
    if words[0] == "unset":
        return [DropVariable(word) for word in words[1:]]
    export = words[0] == "export"
    actions: list[Action] = []
    rest = words[export:]
    while rest and (found := _ASSIGNS.fullmatch(rest[0])) and not _OPTION.match(rest[0]):
        actions.append(SetVariable(found["name"], found["value"], export, is_blank(found["value"])))
        rest = rest[1:]
    options = _options(rest)
    return [] if options is None else [*actions, *options]


def _names_option(word: str) -> bool:
    return bool(_OPTION.match(word)) or _slot(word) in PIECES or word.startswith("{")


def _slot(word: str) -> str:
    found = re.fullmatch(_SLOT, word)
    return word.strip("{}").partition("|")[0] if found else ""


def _dropped(word: str) -> Action:
    return Expand(word, True) if _slot(word) in PIECES else DropOption(word)


def _options(words: Sequence[str]) -> list[Action] | None:
    """Return options with their values: all words up to the next option."""
    made: list[Action] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if _slot(word) in PIECES:
            made.append(Expand(word))
            continue
        if not _names_option(word):
            return None
        name, equals, value = word.partition("=")
        if equals and not word.startswith("{"):
            made.append(SetOption(name, (value,), joined=True, open=is_blank(value)))
            continue
        values: list[str] = []
        while at < len(words) and (not _OPTION.match(words[at]) or _NUMBER.match(words[at])):
            values.append(words[at])
            at += 1
        denied = word.startswith("--no-") and flag_of(word) is None
        blank = any(map(is_blank, values))
        made.append(SetOption(f"--{word[5:]}" if denied else word, tuple(values), denied, open=blank))
    return made


def _parts(body: str) -> list[str]:
    """Return the commands that `` && `` joins, where no quotation or substitution holds it."""
    parts, depth, quote, start = [], 0, "", 0
    for at, sign in enumerate(body):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "({":
            depth += 1
        elif sign in ")}":
            depth -= 1
        elif depth == 0 and body.startswith(" && ", at):
            parts.append(body[start:at])
            start = at + 4
    if quote or any(mark in body for mark in ("; ", " || ", "\n")):
        return [body]  # a script: nothing of it is interpreted
    return [*parts, body[start:]]


def _command(text: str) -> list[Action]:
    if found := _PIP.match(text):
        made = _pip(found["by"], found["verb"], text[found.end() :])
        if made:
            return made
        if re.search(r"[;|\n$]|-r |-e |--editable|--target", re.sub(_SLOT, "x", text)) is None:
            raise TextError(f"{text!r} is no installation that can be read")
        return [Run(text)]
    plain = text.startswith(("leave out ", "unset ")) and ";" not in text
    return _served(text) or (_settings(text) if plain else []) or [Run(text)]


def _pip(by: str, verb: str, rest: str) -> list[Action]:
    words = _words(rest)
    if words is None or any(sign in re.sub(_SLOT, "x", rest) for sign in (";", "|", ">>", "$(")):
        return []
    flags: list[str] = []
    names: list[tuple[str, str]] = []
    upgrade = valued = False
    for word in words:
        if word in ("-r", "-e", "--editable", "--target"):
            return []
        if word in ("-U", "--upgrade"):
            upgrade = True
        elif valued:
            flags[-1] += f" {word}"
            valued = False
        elif word.startswith("-"):
            flags.append(word)
            valued = word in _VALUED
        elif _PLACE.fullmatch(word):
            names.append((word, ""))
        elif found := _REQUIREMENT.fullmatch(word):
            names.append((found["package"], found["spec"] or ""))
        else:
            return []
    if verb == "uninstall":
        return [Uninstall(name, by) for name, _ in names]
    return [Install(name, spec, upgrade, by, tuple(flags)) for name, spec in names]


def _served(text: str) -> list[Action]:
    """Return what starts the server once more; nothing where a command is another."""
    head, served, tail = text.partition("vllm serve ")
    if not served or tail.startswith("-"):
        return []
    found = _SERVE.search(tail)
    output = (found["output"] or "").strip() if found else ""
    words = _words(tail[: found.start()] if found else tail)
    before = _settings(head) if head.strip() else []
    if (
        not words
        or (head.strip() and not before)
        or any(sign in re.sub(f"{_SLOT}|<[^<>]*>", "x", word) for word in words for sign in ";|&>$")
    ):
        return []
    model = words[0]
    rest = words[1:]
    if rest[:1] == [OWN] and model != OWN:
        model, rest = f"{model} {OWN}", rest[1:]
    options = _options(rest)
    return [] if options is None else [*before, Serve(model, output), *options]


def read_piece(text: str, dropped: bool = False) -> tuple[tuple[Action, ...], str]:
    """Return the actions of a piece of a start command, as a log has it or a table of vLLM's options: ``--a x   # instead of --b``.

    Args:
        text: The piece.
        dropped: Whether it is what is to be taken out.

    Raises:
        TextError: It is no piece of a command.
    """
    found = _REMARK.match(text)
    body, remark = (found["body"], found["remark"]) if found else (text, "")
    taken: list[Action] = []
    if remark.strip().startswith(_INSTEAD):
        taken, remark = _taken(remark.strip()[len(_INSTEAD) :]), ""
    if dropped:
        return tuple(_taken(body)), remark
    made = _settings(body)
    if not made:
        raise TextError(f"{text!r} is no piece of a command")
    return (*made, *taken), remark


_INSTEAD = "# instead of "


def _taken(text: str) -> list[Action]:
    """Return the options that stand in a piece of a command, with their values, as what is taken out."""
    options = _options(_words(text) or ())
    if not options:
        raise TextError(f"{text!r} is no piece of a command")
    return [
        DropOption(each.name, (each.name, *each.values) if each.values else ())
        for each in options
        if isinstance(each, SetOption)
    ]
