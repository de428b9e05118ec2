"""``check_option``: does a release of vLLM know an option, and how is it given there?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ....classifier.report.model import Node
from ....corpus import options
from ....corpus.records import record
from ..budget import cut
from ..desk import Desk
from ..interface import Answer, Arguments, CannotError, Progress

TITLE = "Check a vLLM option against a release"
ABOUT = (
    "Tell whether a release of vLLM has a flag (--max-model-len), a key of a JSON option (--compilation-config.mode), an "
    "environment variable (VLLM_USE_V1), an argument of LLM(...) or a metric; what it takes, its default, in which releases "
    "it exists, and what took its place. Ask before writing an option: they change from release to release."
)
LISTED = 40
"""Choices, keys and aliases that are told."""


class Asked(Arguments):
    """Which option of which release."""

    option: Annotated[str, Field(min_length=1, max_length=300, description="as it is written, with or without =VALUE")]
    release: Annotated[str, Field(max_length=40, description="0.19.1; default: the newest known")] = ""


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


def schema() -> dict[str, object]:
    """Return the schema of ``OptionAnswer``."""
    return TypeAdapter(OptionAnswer).json_schema(mode="serialization")


async def call(asked: Asked, _desk: Desk, _progress: Progress) -> Answer:
    """Answer from the table of options."""
    name, _, value = asked.option.strip().partition("=")
    release = asked.release.removeprefix("v") or options.releases()[-1]
    there = options.exists(name, release)
    if there is None:
        first, last = options.releases()[0], options.releases()[-1]
        raise CannotError(f"{asked.release!r} is no release that is known: {first} to {last} are")
    found = _answer(name, value, release, there)
    return Answer(
        _text(found),
        {key: told for key, told in found.to_dict().items() if told not in ("", [], False) or key == "exists"},
    )


def _answer(name: str, value: str, release: str, there: bool) -> OptionAnswer:
    known = options.describe(name, release) if there else None
    choices = tuple(map(str, known.choices)) if known else ()
    wrong = value and choices and value not in choices
    return OptionAnswer(
        option=name,
        release=release,
        exists=there,
        owner=options.owner(name),
        lifetime=options.lifetime(name),
        instead="" if there else options.nearest(name, release) or "",
        note=options.note(name),
        kind=known.kind if known else "",
        default="" if known is None or known.default is None else cut(str(known.default), 120),
        choices=choices[:LISTED],
        keys=known.keys[:LISTED] if known else (),
        aliases=known.aliases[:LISTED] if known else (),
        deprecated=bool(known and known.deprecated),
        problem=f"{value} is none of the choices" if wrong else "",
    )


def _text(found: OptionAnswer) -> str:
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
