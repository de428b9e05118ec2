"""Whether a release of vLLM knows an option, and how it is given there, as every way in tells it."""

from __future__ import annotations

from ..classifier.errors import InputError
from ..classifier.report.model import Node
from ..classifier.report.shown import cut
from ..corpus import options
from ..corpus.records import record

LISTED = 40
"""Choices, keys and aliases that are told."""


@record(frozen=True, slots=True, kw_only=True)
class OptionAnswer(Node):
    """An option in a release, by the table that was mined from vLLM's released packages."""

    option: str
    release: str
    exists: bool
    owner: str = ""
    """vllm, or another project whose variable it is; empty where nobody's is known"""
    lifetime: str = ""
    """releases that have it, as a range"""
    instead: str = ""
    """what does the same in this release, or what was probably meant, where it does not exist"""
    note: str = ""
    kind: str = ""
    """str, int, float, bool (takes true or false), json or switch (takes no value)"""
    default: str = ""
    """empty where there is none, or the sources do not tell"""
    choices: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """of the JSON object that it takes"""
    aliases: tuple[str, ...] = ()
    deprecated: bool = False
    problem: str = ""
    """what is wrong with the value that was given"""


def check_option(asked: str, release: str = "") -> OptionAnswer:
    """Return what is known of an option in a release.

    Args:
        asked: As it is written, with or without ``=VALUE``.
        release: ``0.19.1``; "" for the newest that is known.

    Raises:
        InputError: The release is not known.
    """
    name, _, value = asked.strip().partition("=")
    number = release.removeprefix("v") or options.releases()[-1]
    there = options.exists(name, number)
    first, last = options.releases()[0], options.releases()[-1]
    if there is None:
        raise InputError(f"{release!r} is not a release that is known: {first} to {last} are")
    strange = f"{number} is not a release that is known ({first} to {last} are): its neighbours tell this. "
    known = options.describe(name, number) if there else None
    choices = tuple(map(str, known.choices)) if known else ()
    wrong = value and choices and value not in choices
    return OptionAnswer(
        option=name,
        release=number,
        exists=there,
        owner=options.owner(name),
        lifetime=options.lifetime(name),
        instead="" if there else options.nearest(name, number) or "",
        note=(strange if number not in options.releases() else "") + options.note(name),
        kind=known.kind if known else "",
        default="" if known is None or known.default is None else cut(str(known.default), 120),
        choices=choices[:LISTED],
        keys=known.keys[:LISTED] if known else (),
        aliases=known.aliases[:LISTED] if known else (),
        deprecated=bool(known and known.deprecated),
        problem=f"{value} is not one of the choices" if wrong else "",
    )


def as_text(found: OptionAnswer) -> str:
    """Return the answer in sentences."""
    words = [f"vLLM {found.release} {'has' if found.exists else 'has no'} {found.option}."]
    if found.exists and found.owner not in ("", "vllm"):
        words.append(f"It belongs to {found.owner}.")
    told = {
        "kind": found.kind, "default": found.default, "choices": ", ".join(found.choices), "keys": ", ".join(found.keys),
        "also": ", ".join(found.aliases), "releases": found.lifetime,
    }  # fmt: skip
    words += [f"{label}: {text}." for label, text in told.items() if text]
    words += ["It is deprecated."] if found.deprecated else []
    words += [f"Instead: {found.instead}."] if found.instead else []
    words += [found.problem + "."] if found.problem else []
    return " ".join([*words, found.note]).strip()
