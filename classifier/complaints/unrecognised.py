"""All options of one ``unrecognized arguments`` together: each alone would fail again on the others."""

from __future__ import annotations

from ...corpus import options
from ...corpus.actions import DropOption, DropWords, SetOption
from ..command.parts import flag
from ..command.words import quoted
from ..patterns.lazy import LazyPattern
from ..values.options import refused
from .case import Case, Change
from .values import boolean

_LINE = LazyPattern(r"error: unrecognized arguments: +(?P<option>\S[^\n]*)")
_UNSAFE = LazyPattern(r"[…<>]")
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_DASH = LazyPattern(r"(?<!-)-{0,8}[\u2010-\u2015\u2212][-\u2010-\u2015\u2212]{0,8}[a-z]")
_VALUE = LazyPattern(r"-?[\d.,]+[kKmMgG%]?|[Tt]rue|[Ff]alse|yes|no|on|off|none|None|auto")


def of_unrecognised(case: Case) -> list[Change]:
    """Return a change for each option that a release refused; nothing where one of them cannot be settled."""
    found = _LINE.search(case.text)
    if found is None or _in_file(case, found["option"]):
        return []
    words = found["option"].split()
    if words[0][:1] not in _DASHES:
        return _stray(words, case)
    if (wrong := _dashes(words, case)) is not None:
        return [wrong]
    from ...corpus.action_text import read_piece  # its expressions are compiled by few logs

    changes: list[Change] = []
    for item in refused(found["option"], case.release):
        dropped = (DropOption(item.name, (item.name, *item.value.split()) if item.value else ()),)
        lost = item.fate == "meant" and bool(item.value) and "…" in item.other
        if lost or _came_later(item.name, case.release):
            # A value that what takes the option's place has open is no command to be pasted; what a newer option takes, an
            # older one seldom does.
            return []
        settled = item.fate == "meant" and item.other.startswith("-") and not _UNSAFE.search(item.other)
        if settled:
            name = item.other.split()[0]
            changes.append(
                Change(f"Write {name} instead of {item.name}", read_piece(item.other)[0], dropped, item.said, name)
            )
        elif item.fate in ("gone", "unknown") or item.fate == "meant":
            changes.append(Change(f"Leave {item.name} out", (), dropped, item.said, item.name))
        else:
            return []  # it came later, or the release has it: other fixes say what to do
    return changes


def _dashes(words: list[str], case: Case) -> Change | None:
    """Return the change for a long option behind one hyphen, or behind a dash that a document or chat put there."""
    name, equals, value = words[0].partition("=")
    whole = "--" + name.lstrip(_DASHES)
    if not options.exists(whole, case.release) or len(name) < 6:
        return None
    values = [value] if equals else words[1:]
    if any(word.startswith("-") and not word[1:2].isdigit() for word in values):
        return None
    put = (SetOption(whole, tuple(values)),)
    mixed = _DASH.match(name) is not None
    if name[:2] != "--" and not mixed:
        why = "Long options begin with two hyphens."
        return Change(f"Write {whole} with two hyphens", put, (DropOption(name, (name, *values)),), why, whole)
    # Dashes are mended to hyphens before a log is read; in the command they stand as they were typed.
    command = str(case.facts.get("command") or "").split()
    typed = name if mixed else next((word for word in command if _DASH.match(word.strip("'\""))), "")
    if not typed:
        return None
    dropped = (DropWords((typed.strip("'\""), *values)),)
    why = "A program for texts made a dash of two hyphens: vLLM takes the word for no option."
    return Change(f"Type the two hyphens of {whole} anew", put, dropped, why, whole)


def _stray(words: list[str], case: Case) -> list[Change]:
    """Return the change that leaves out words that no option takes: of the command, or plain values that name no model."""
    command = str(case.facts.get("command") or "").split()
    known = bool(command) and all(word in command for word in words)
    plain = all(_VALUE.fullmatch(word) for word in words)
    if not plain or (command and not known):
        return []
    if known and len(words) == 1 and (switch := _of_switch(command, words[0], case)) is not None:
        return [switch]
    told = " ".join(map(quoted, words))
    why = "No option takes it: the one before it takes one value, or is a switch, which takes none."
    return [Change(f"Leave the word {told} out", (), (DropWords(tuple(words)),), why, "")]


def _of_switch(command: list[str], word: str, case: Case) -> Change | None:
    """Return the change for ``--switch true`` and ``--switch false``, as older releases took some switches."""
    name = command[max(0, command.index(word) - 1)]
    option = options.describe(name, case.release) if name.startswith("--") else None
    meant = boolean(word)
    if option is None or option.kind != "switch" or not meant:
        return None
    if not flag(name).boolean:  # the word stands for itself
        if meant == "true" or not option.negated:
            return None
        why = f"{name} is a switch: it takes no value."
        return Change(
            f"Write --no-{name[2:]} for {name} {word}", (SetOption(name, (), True),), (DropWords((word,)),), why, name
        )
    put = name if meant == "true" else f"--no-{name[2:]}" if option.negated else ""
    title = f"Write {put} for {name} {word}" if put else f"Leave {name} {word} out"
    set_to = (SetOption(name, (), meant != "true"),) if put else ()
    return Change(
        title,
        set_to,
        (DropOption(name, (name, word)),),
        f"{name} is a switch in this release: it takes no value.",
        name,
    )


def _came_later(name: str, release: str) -> bool:
    """Return whether an option exists in releases after this one."""
    first = options.lifetime(name).partition(",")[0].removeprefix(">=")
    return bool(first) and (options.version_key(first) or ()) > (options.version_key(release) or ())


def _in_file(case: Case, option: str) -> bool:
    """Return whether the option stands in the file of ``--config``, not in the command: there it must be corrected."""
    command = str(case.facts.get("command") or "")
    return "config" in case.arguments and bool(command) and option.split(maxsplit=1)[0] not in command
