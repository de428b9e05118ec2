"""Options that a release refuses: what each was meant to be, what became of it, when it came.

The table of all releases' options tells (``corpus/options.py``, mined from vLLM's packages).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ...corpus import options
from ...corpus.records import Record, record
from ..command.parts import flag
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .computed import Computed, piece, value

_KEY = LazyPattern(r"Give it as the key (\w+) of (--[\w-]+)")
_PART = LazyPattern(r"Give it as a key of (--[\w-]+)")
_MODELS = LazyPattern(r"as a key of --[\w-]+: the model's (\w+)")
_VALUE = LazyPattern(r"Give the value (\S+) to (--[\w-]+)")
_WORD = LazyPattern(r"[A-Za-z0-9][\w.\-]{0,60}")
_NAME = LazyPattern(r"--[a-zA-Z][\w.\-]*|-[a-zA-Z]{1,4}")
_NAMED = {"tool": "--tool-call-parser", "tool call": "--tool-call-parser", "reasoning": "--reasoning-parser"}
"""Options whose messages call them by less than their name."""
SHOWN = 10
"""Choices that are written into a command; more are listed beside it."""
MOST = 12
"""Options looked at; a log that lists more has been mangled."""


@record(frozen=True)
class Refused(Record):
    """One option that was not recognised."""

    name: str
    value: str
    fate: str
    """``meant`` (another name does it in this release), ``gone``, ``later``, ``there`` (known, but out of place), ``unknown``."""
    other: str
    """What to write instead; for ``later`` the first release that has it."""
    said: str
    """A sentence for people."""


@piece
def meant_options(facts: Mapping[str, object]) -> Computed:
    """Return what to write instead of the options that were refused, with the option that each took the place of."""
    found = [item for item in _refused(facts) if item.fate == "meant"]
    if not found:
        return _nothing(facts)
    text = joined(item.other for item in found)
    instead = " ".join(filter(None, (word for item in found for word in (item.name, item.value))))
    return Computed(f"{text}   # instead of {_given(found)}", _told(found), {"option": instead})


@value
def meant_option(facts: Mapping[str, object]) -> Computed:
    """Return the name of the first option of ``meant_options`` alone."""
    first = next((item for item in _refused(facts) if item.fate == "meant"), None)
    return Computed(re.split("[ =]", first.other, maxsplit=1)[0], "") if first else _nothing(facts)


@piece
def gone_options(facts: Mapping[str, object]) -> Computed:
    """Return the refused options that no release from this one on has and nothing stands for."""
    found = [item for item in _refused(facts) if item.fate == "gone"]
    text = " ".join(filter(None, (word for item in found for word in (item.name, item.value))))
    return Computed(_given(found), _told(found), {"option": text}) if found else _nothing(facts)


def _given(found: Iterable[Refused]) -> str:
    """Return options as they were given, each word of their values such that a shell reads no more into it."""
    return " ".join(word for item in found for word in (item.name, *map(shlex.quote, item.value.split())))


@value
def later_options(facts: Mapping[str, object]) -> Computed:
    """Return the first release that has all of the refused options which came later than the one that refused them."""
    found = [item for item in _refused(facts) if item.fate == "later"]
    if not found:
        return _nothing(facts)
    return Computed(max((item.other for item in found), key=lambda text: options.version_key(text) or ()), _told(found))


@piece
def early_options(facts: Mapping[str, object]) -> Computed:
    """Return the refused options that came later than the release that refused them."""
    found = [item for item in _refused(facts) if item.fate == "later"]
    return Computed(" ".join(item.name for item in found), _told(found)) if found else _nothing(facts)


@piece
def misplaced_options(facts: Mapping[str, object]) -> Computed:
    """Return the refused options that the release has: something before them on the command line was read wrongly."""
    found = [item for item in _refused(facts) if item.fate == "there"]
    return Computed(" ".join(item.name for item in found), _told(found)) if found else _nothing(facts)


@value
def stray_words(facts: Mapping[str, object]) -> Computed:
    """Return the refused words that stand in front of all options; ``none`` where there are only options."""
    text = str(facts.get("option") or "")
    if not text:
        return Computed("", "the log names no option")
    words = []
    for word in text[:2000].split():
        if _NAME.fullmatch(word.partition("=")[0]):
            break
        words.append(word)
    return Computed(" ".join(words) or "none", "")


def _nothing(facts: Mapping[str, object]) -> Computed:
    return (
        Computed("", "no option that was refused is of that kind")
        if facts.get("option")
        else Computed("", "the log names no option")
    )


def _told(found: Iterable[Refused]) -> str:
    return " ".join(item.said for item in found).removesuffix(".")


def _refused(facts: Mapping[str, object]) -> tuple[Refused, ...]:
    version = str(facts.get("vllm_version") or "")
    return _read(str(facts.get("option") or "")[:2000], version if options.exists("--model", version) else "")


def refused(text: str, version: str) -> tuple[Refused, ...]:
    """Return what became of each option of an 'unrecognized arguments' line in a release; "" where it is not told."""
    return _read(text[:2000], version if options.exists("--model", version) else "")


@lru_cache(maxsize=64)
def _read(text: str, version: str) -> tuple[Refused, ...]:
    """Take the list of an 'unrecognized arguments' line apart: names, each with the words that follow it."""
    given: list[tuple[str, list[str]]] = []
    # argparse prints words as it got them: what quotes there are belong to the values.
    for word in text.split():
        name, sign, value = word.partition("=")
        if _NAME.fullmatch(name):
            given.append((name, [value] if sign else []))
        elif given:
            given[-1][1].append(word)
    return tuple(_judge(name, " ".join(values), version) for name, values in given[:MOST])


def _judge(name: str, value: str, version: str) -> Refused:
    release = version or options.releases()[-1]
    life = options.lifetime(name)
    if options.exists(name, release):
        return _there(name, value, version, life)
    other, note = options.nearest(name, release), options.note(name)
    since = f"{name} {_when(life, release)}. {note}".strip()
    if not life:
        if other is None:
            return Refused(name, value, "unknown", "", f"No release of vLLM has {name}.")
        said = f"No release of vLLM has {name}; most like it is {other}."
        return Refused(name, value, "meant", _written(other, value, release), said)
    if other is not None:
        return Refused(name, value, "meant", _put(other, note, value, release), since)
    first = _first(life)
    if _later(first, release):
        return Refused(name, value, "later", first, since)
    return Refused(name, value, "gone", "", since)


def _there(name: str, value: str, version: str, life: str) -> Refused:
    if version:
        said = f"vLLM {version} has {name}: a word before it was read as something else, or this is another command than serve."
        return Refused(name, value, "there", "", said)
    # The release is not told, and the newest has the option: the one that refused it has not.
    first = _first(life)
    return Refused(name, value, "later", first, f"{name} exists from {first} on; the vLLM that refused it is older.")


def _when(life: str, release: str) -> str:
    """Say when an option was there that is not in ``release``."""
    first, end = _first(life), life.rpartition("<")[2] if "<" in life else ""
    if _later(first, release):
        return f"exists from {first} on"
    return f"is gone from {end} on" if end else f"exists in {life}"


def _later(first: str, release: str) -> bool:
    return (options.version_key(first) or ()) > (options.version_key(release) or ())


def _first(life: str) -> str:
    return life.partition(",")[0].removeprefix(">=").partition(" ")[0]


def _put(name: str, note: str, value: str, release: str) -> str:
    """Return the successor with the value where a note says that it goes."""
    key, fixed = _KEY.search(note), _VALUE.search(note)
    if key and key[2] == name:
        return f"{name} {json.dumps({key[1]: _literal(value)})}"
    if (part := _MODELS.search(note)) and (table := _literal(value)) and isinstance(table, dict):
        return _of_model(name, part[1], table, release)
    if _PART.search(note):
        return f"{name} …"
    if fixed and fixed[2] == name:
        return f"{name} {fixed[1]}"
    return _written(name, value, release)


def _of_model(name: str, entry: str, table: Mapping[str, object], release: str) -> str:
    """Return an option that overrides an entry of config.json as a whole; what the entry holds beside it is left to fill in."""
    if in_range(release, "<0.12") is True:
        # vllm/config/model.py of 0.11 reads what the option itself wrote, and the base beside it.
        return f"{name} {shlex.quote(json.dumps({'rope_scaling': table}))}"
    return f"{name} {shlex.quote(json.dumps({entry: {**table, 'rope_theta': '…'}}, ensure_ascii=False))}"


def _written(name: str, value: str, release: str) -> str:
    option = options.describe(name, release)
    if not name.startswith("-"):
        return f"{name}={shlex.quote(value) if value else '…'}"
    if option is None or option.kind == "switch":
        return name
    if option.choices and value not in map(str, option.choices):
        return f"{name} <{'|'.join(map(str, option.choices))}>"
    if not value or (option.kind == "json" and not value.startswith("{")):
        return f"{name} …"
    if flag(name).many:
        return " ".join([name, *map(shlex.quote, value.split())])
    return f"{name} {shlex.quote(value)}"


def _literal(value: str) -> object:
    """Return a value as JSON has it: a number, true for a switch, else text."""
    if not value:
        return True
    try:
        read: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read


def joined(parts: Iterable[str]) -> str:
    """Return options to paste; keys of one JSON option are given as one object."""
    plain: list[str] = []
    objects: dict[str, dict[str, object]] = {}
    for part in parts:
        name, _, value = part.partition(" ")
        if value.startswith("{") and value.endswith("}") and '"' in value:
            if name not in objects:
                plain.append(name)
            objects.setdefault(name, {}).update(json.loads(value))
        elif part not in plain:
            plain.append(part)
    return " ".join(f"{part} {shlex.quote(json.dumps(objects[part]))}" if part in objects else part for part in plain)


@value
def option_name(facts: Mapping[str, object]) -> Computed:
    """Return the option that a message is about as it is written on the command line: ``Load format`` → ``--load-format``."""
    text = str(facts.get("option") or "").strip().partition("/")[0].partition(",")[0]
    if not text:
        return Computed("", "the log names no option")
    plain = "--" + re.sub(r"[\s_]+", "-", text.lower())
    name = text if text.startswith("-") else _NAMED.get(text.lower(), plain)
    known = _NAME.fullmatch(name) and options.lifetime(name)
    return Computed(name, "") if known else Computed("", f"{text!r} names no option")


@value
def option_kind(facts: Mapping[str, object]) -> Computed:
    """Return what the option takes: ``json``, ``int``, ``switch`` and so on."""
    option = _described(facts)
    return Computed(option.kind, "") if option else Computed("", "the log names no option")


@piece
def accepted_value(facts: Mapping[str, object]) -> Computed:
    """Return the option with the accepted value that is most like the one given, else with all that are accepted.

    The log's own list comes first, then the release's choices as its sources declare them.
    """
    from difflib import get_close_matches

    name, option = option_name(facts).value, _described(facts)
    allowed = str(facts.get("allowed") or "")[:2000]
    listed = re.findall(r"'([^']{1,60})'", allowed) or [
        word for word in re.split(r"[\s,{}]+", allowed) if _WORD.fullmatch(word)
    ]
    accepted = listed or [str(choice) for choice in (option.choices if option else ())]
    if not name or len(accepted) < 2:
        return Computed("", "nothing tells what is accepted")
    given = str(facts.get("given") or facts.get("parser") or "").strip("'\"` ")
    like = get_close_matches(given, accepted, n=1, cutoff=0.6)
    numbers = [re.findall(r"\d+", word) for word in (given, *like)]
    if facts.get("parser") and len(numbers) == 2 and all(numbers) and numbers[0] != numbers[1]:
        return Computed("", f"{like[0]} is another model's: the number differs")
    said = f"accepted: {', '.join(accepted)}"
    family = [word for word in accepted if _stem(word) and _stem(word) in str(facts.get("model") or "").lower()]
    if family and len(accepted) > SHOWN:
        said = f"by its name the model may go with {', '.join(family[:4])}; {said}"
    choice = f"<{'|'.join(accepted)}>" if len(accepted) <= SHOWN else "NAME"
    return Computed(f"{name} {shlex.quote(like[0]) if like else choice}", said, {"given": given})


def _stem(word: str) -> str:
    """Return the letters that a name begins with, where they are enough to tell a family of models."""
    letters = re.match(r"[a-z]*", word.lower())
    return letters[0] if letters and len(letters[0]) > 2 else ""


def _described(facts: Mapping[str, object]) -> options.Option | None:
    name = option_name(facts).value
    version = str(facts.get("vllm_version") or "") or options.releases()[-1]
    return (options.describe(name, version) or options.describe(name, options.releases()[-1])) if name else None
