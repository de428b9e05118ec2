"""Turns the TOML files into what is loaded at run time: an index of rules for the scanner, and the words of each bucket.

TOML takes a third of a second to read; the compiled form a few milliseconds. A wheel holds it; a checkout makes it when
a TOML file is newer (store.py).
"""

from __future__ import annotations

import json
import marshal
import sys
from collections.abc import Iterable
from dataclasses import fields
from itertools import accumulate
from pathlib import Path
from typing import TypedDict

from .build import FORMAT, RULES, regex_build
from .clues import TABLES, read_clues
from .effects import guards_of, read_effects
from .effort import tell_effort
from .frames import read_frames
from .guards import read_guards
from .literals import all_strings, required_literals
from .messages.row import NOBODYS, Row
from .options import version_key
from .options_table import made_of, pack
from .packed_rules import Places, pack_rule, places_of
from .places import complaint
from .regex_engine import program
from .schema import CorpusError, parse_text
from .types import EXPRESSIONS, Bucket, Cause, Fix, Rule, Traits

NOT_COMPILED = ("note", "match", "reject", "overlaps")
"""Keys of a rule that only its file holds."""
_RULE = tuple(item.name for item in fields(Rule) if item.init and item.name not in NOT_COMPILED)
_USUAL = Traits()
_FIX = tuple(item.name for item in fields(Fix))
_CAUSE = ("id", "title", "summary", "confirm", "refute", "concluded_from", "also")


class Index(TypedDict):
    """What a start reads of the compiled corpus."""

    format: int
    regex: str
    """The build of ``regex`` that the compiled expressions are for."""
    ends: list[int]
    """Where each rule ends in ``RULES``, which holds them as ``pack_rule`` makes them."""
    places: Places
    """Where each bucket's rules stand."""
    traits: dict[str, dict[str, bool | int | float | str]]
    """For each bucket the traits that are not the usual ones."""
    concluded: dict[str, tuple[str, str]]
    """For each finding without a rule the bucket and the cause that answer it."""
    problems: list[str]
    releases: tuple[str, ...]


def sources(source: Path) -> list[Path]:
    """Return the rule files under the corpus folder ``source``."""
    return [*sorted((source / "buckets").glob("*.toml")), *sorted(source.glob("facts.toml"))]


def read_bucket(path: Path) -> Bucket:
    """Read and check one rule file.

    Raises:
        CorpusError: It breaks the format.
    """
    try:
        return parse_text(path.read_text(encoding="utf-8-sig"), path.name)
    except UnicodeDecodeError:
        raise CorpusError(f"{path.name}: it is not in UTF-8: save it so") from None


def complete(bucket: Bucket, file: str) -> list[dict[str, list[str]]]:
    """Work out what a file need not say: the literals of its rules, and what its fixes ask for.

    Args:
        bucket: What was read; it is changed.
        file: The file's name, for messages.

    Returns:
        For each rule what its expressions need (``Rule.needs``).

    Raises:
        CorpusError: A rule has no literal that every match contains.
    """
    for cause in bucket.causes:
        tell_effort(cause)
    for rule in bucket.rules:
        if rule.pattern and not rule.literals:
            found = required_literals(rule.pattern)
            if not found:
                message = f"rule {rule.name}: no literal that every match contains; give 'literals'"
                raise CorpusError(complaint(file, rule.line, message))
            rule.literals = tuple(found)
    return [_needs(rule) for rule in bucket.rules]


def _needs(rule: Rule) -> dict[str, list[str]]:
    """Return for each expression on exceptions the strings of which it needs one: without, it is never compiled."""
    found = {
        name: required_literals(getattr(rule, name), 3)
        for name in ("exception", "message", "frames", "innermost")
        if getattr(rule, name)
    }
    needs = {name: literals for name, literals in found.items() if literals}
    if rule.exception and (names := all_strings(rule.exception)):
        # A plain list of class names needs no expression at all.
        needs["names"] = names
    return needs


def traits_of(bucket: Bucket) -> dict[str, bool | int | float | str]:
    """Return the traits that a file sets."""
    told = {item.name: getattr(bucket, item.name) for item in fields(Traits)}
    return {name: value for name, value in told.items() if value != getattr(_USUAL, name)}


def rows_of(bucket: Bucket) -> tuple[object, ...]:
    """Return the words of a bucket as they are stored: id, title, meaning, its causes, each with its fixes last."""
    causes = [(*_row(cause, _CAUSE), [_row(fix, _FIX) for fix in cause.fixes]) for cause in bucket.causes]
    return bucket.id, bucket.title, bucket.meaning, causes


def _row(item: Rule | Cause | Fix, names: Iterable[str]) -> tuple[object, ...]:
    """Return the values of the attributes ``names``; equal texts are one object, and stored once."""
    values = [getattr(item, name) for name in names]
    return tuple(sys.intern(value) if isinstance(value, str) else value for value in values)


def compile_corpus(source: Path, target: Path, strict: bool = True) -> None:
    """Write the compiled form of the corpus folder ``source`` into the folder ``target``.

    Args:
        source: The folder that holds ``buckets/`` and ``facts.toml``.
        target: Where the files go.
        strict: Refuse a broken file; otherwise leave it out and name it in the index.

    Raises:
        CorpusError: A file breaks the format, and ``strict``.
    """
    target.mkdir(parents=True, exist_ok=True)
    buckets: list[Bucket] = []
    needs: list[dict[str, list[str]]] = []
    problems: list[str] = []
    for path in sources(source):
        try:
            bucket = read_bucket(path)
            needs += complete(bucket, path.name)
            buckets.append(bucket)
        except CorpusError as error:
            if strict:
                raise
            problems.append(str(error))
    for bucket in buckets:
        (target / f"{bucket.id}.marshal").write_bytes(marshal.dumps(rows_of(bucket)))  # type: ignore[arg-type] # texts, numbers and lists of them
    rules = [rule for bucket in buckets for rule in bucket.rules]
    build, programs = _programs(rules)
    packed = [
        pack_rule(_row(rule, _RULE), needed, {text: programs[text] for text in _texts(rule) if text in programs})
        for rule, needed in zip(rules, needs, strict=True)
    ]
    index: Index = {
        "format": FORMAT,
        "regex": build,
        "ends": [*accumulate(map(len, packed))],
        "places": places_of((bucket.id, len(bucket.rules)) for bucket in buckets),
        "traits": {bucket.id: traits_of(bucket) for bucket in sorted(buckets, key=lambda item: item.id)},
        "concluded": concluded_in(buckets),
        "problems": problems,
        "releases": _releases(source),
    }
    table, by_hand = source / "vllm" / "options.json", source / "vllm" / "known.json"
    if table.exists() and by_hand.exists():  # a corpus of rules alone has none
        known = json.loads(by_hand.read_bytes())
        options = made_of(json.loads(table.read_bytes()), known["build"], version_key)
        (target / "options.marshal").write_bytes(pack(options))
        (target / "known.marshal").write_bytes(marshal.dumps(known))
    rows = _catalogue(source)
    (target / "messages.marshal").write_bytes(_messages(rows))
    (target / "fragments.marshal").write_bytes(_fragments(rows, rules))
    (target / "remedies.bin").write_bytes(_remedies(source))
    guards, effects = source / "guards.toml", source / "effects.toml"
    changes = read_effects(effects) if effects.exists() else []
    against = [*(read_guards(guards) if guards.exists() else []), *guards_of(changes)]
    (target / "guards.marshal").write_bytes(marshal.dumps((against, changes)))
    if (frames := source / "frames.toml").exists():
        (target / "frames.marshal").write_bytes(marshal.dumps(read_frames(frames)))
    tables = [source / name for name in TABLES]
    clues = [row for path in tables if path.exists() for row in read_clues(path)]
    (target / "clues.marshal").write_bytes(marshal.dumps(clues))
    (target / RULES).write_bytes(b"".join(packed))
    (target / "index.marshal").write_bytes(marshal.dumps(dict(index)))


def concluded_in(buckets: Iterable[Bucket]) -> dict[str, tuple[str, str]]:
    """Return for each finding that needs no rule the bucket and the cause that answer it.

    Raises:
        CorpusError: Two causes answer the same one.
    """
    found: dict[str, tuple[str, str]] = {}
    for bucket in buckets:
        for cause in bucket.causes:
            if not cause.concluded_from:
                continue
            other = found.setdefault(cause.concluded_from, (bucket.id, cause.id))
            if other != (bucket.id, cause.id):
                message = f"cause {cause.id}: {'/'.join(other)} is concluded from {cause.concluded_from!r} already"
                raise CorpusError(complaint(f"{bucket.id}.toml", cause.line, message))
    return found


def _catalogue(source: Path) -> list[Row]:
    """Return all messages of the catalogue."""
    from .messages import catalogue

    folder = source / "messages"
    return catalogue(str(folder)) if folder.is_dir() else []  # a corpus of rules alone has none


def _messages(rows: list[Row]) -> bytes:
    """Return the messages of the catalogue that may decide, packed: by their words, or where they are the whole of a message."""
    from .messages.index import packed

    # What Python says itself names nothing when a package around vLLM says it in the same words.
    anybodys = {row.template for row in rows if row.package in NOBODYS and not row.label.specific}
    return packed(
        row for row in rows
        if row.decides or ((row.tells or row.tells_module) and row.template not in anybodys)
    )  # fmt: skip


def _fragments(rows: list[Row], rules: list[Rule]) -> bytes:
    """Return all messages of the catalogue, and what the rules' examples say, packed to be known by a part of them."""
    from .messages.fragments import pack

    messages = [
        (("" if row.label.fatal in ("never", "survived") else row.label.bucket, row.label.cause, row.package), f"{row.name} {row.template}")
        for row in rows if row.decides or row.tells or (row.label.fatal in ("never", "survived") and row.label.by != "place")
    ]  # fmt: skip
    messages += [
        ((rule.bucket if rule.role in ("cause", "symptom") else "", rule.cause, rule.id), line)
        for rule in rules if _is_its_words(rule)
        for example in rule.match
        for line in str(example).splitlines()[-1:]
    ]  # fmt: skip
    return pack(messages)


def _is_its_words(rule: Rule) -> bool:
    """Return whether the words of a rule's examples are its own, so that a part of them tells as much."""
    asks_more = rule.frames or rule.innermost or rule.requires or rule.stages or rule.strength in ("weak", "guess")
    return rule.bucket != "facts" and rule.role not in ("fact", "advice") and not asks_more


def _remedies(source: Path) -> bytes:
    """Return what is advised for single messages, packed."""
    from .remedies import remedies
    from .remedies.packed import pack

    folder = source / "remedies"
    found = remedies(str(folder)) if folder.is_dir() else []
    return pack(found)


def _programs(rules: list[Rule]) -> tuple[str, dict[str, bytes]]:
    """Return all expressions of the rules in compiled form, by their text, and the build of ``regex`` that they are for.

    Compiling one takes half a millisecond, loading it a fortieth of that. The form belongs to one version of ``regex``;
    where another is installed at run time, expressions are compiled as they are needed.
    """
    try:
        import regex
    except ImportError:  # a build without run-time dependencies
        return "", {}
    texts = {text for rule in rules for text in _texts(rule)}
    return regex_build(), {text: program(regex.compile(text)) for text in sorted(texts)}


def _texts(rule: Rule) -> list[str]:
    """Return the expressions of a rule."""
    return [text for name in EXPRESSIONS if (text := getattr(rule, name))]


def _releases(source: Path) -> tuple[str, ...]:
    """Return the vLLM releases that the options table covers, oldest first: advice is for one of them."""
    try:
        table = json.loads((source / "vllm" / "options.json").read_bytes())
    except FileNotFoundError:  # a corpus of rules alone
        return ()
    return tuple(table["releases"])
