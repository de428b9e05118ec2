"""Turns the TOML files into what is loaded at run time: an index of rules for the scanner, texts by bucket.

TOML takes a third of a second to read; the compiled form a few milliseconds. A wheel holds it; a checkout makes it when
a TOML file is newer (store.py).
"""

from __future__ import annotations

import json
import os
import pickle
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .effort import with_effort
from .literals import all_strings, required_literals
from .schema import Bucket, CorpusError, Rule, parse_bucket
from .store import FORMAT, regex_build

EXPRESSIONS = ("pattern", "exception", "message", "frames", "innermost", "not_frames")
"""The fields of a rule that are regular expressions."""

# What the engine needs of a rule, in this order (short keys would save nothing: the file is read once).
RULE_KEYS = (
    "id", "role", "cause", "strength", "pattern", "literals", "exception", "message", "frames", "innermost",
    "not_frames", "levels", "stages", "requires", "unless", "scope", "stage", "start", "reader", "continues",
    "speaker", "in_code", "frequent", "source", "versions", "needs",
)  # fmt: skip


def sources(source: Path) -> list[Path]:
    """Return the rule files under the corpus folder ``source``."""
    return [*sorted((source / "buckets").glob("*.toml")), *sorted(source.glob("facts.toml"))]


def read_bucket(path: Path) -> Bucket:
    """Read and check one rule file.

    Raises:
        CorpusError: It breaks the format.
    """
    try:
        with path.open("rb") as file:
            return parse_bucket(tomllib.load(file), path.name)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path.name}: {error}") from None


def index_rules(bucket: Bucket) -> list[list[Any]]:
    """Return the rules of a bucket as rows of ``RULE_KEYS``, the id with the bucket in front."""
    return [_row(bucket.id, rule) for rule in bucket.rule]


def _row(bucket: str, rule: Rule) -> list[Any]:
    if rule.pattern and not rule.literals:
        found = required_literals(rule.pattern)
        if not found:
            raise CorpusError(f"{bucket}: rule {rule.id}: no literal that every match contains; give 'literals'")
        rule.literals = found
    return [f"{bucket}/{rule.id}", *(getattr(rule, key) for key in RULE_KEYS[1:-1]), _needs(rule)]


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


def texts(bucket: Bucket) -> dict[str, Any]:
    """Return what a person reads of a bucket: titles, causes, fixes."""
    return {
        "id": bucket.id,
        "title": bucket.title,
        "meaning": bucket.meaning,
        "causes": {cause.id: asdict(with_effort(cause, bucket.id)) for cause in bucket.cause},
    }


def compile_corpus(source: Path, target: Path, strict: bool = True) -> None:
    """Write the compiled form of the corpus folder ``source`` into the folder ``target``.

    Args:
        source: The folder that holds ``buckets/`` and ``facts.toml``.
        target: Where the JSON files go.
        strict: Refuse a broken file; otherwise leave it out and name it in the index.

    Raises:
        CorpusError: A file breaks the format, and ``strict``.
    """
    target.mkdir(parents=True, exist_ok=True)
    buckets, rows, problems = [], [], []
    for path in sources(source):
        try:
            bucket = read_bucket(path)
            rows += index_rules(bucket)
            buckets.append(bucket)
        except CorpusError as error:
            if strict:
                raise
            problems.append(str(error))
    for bucket in buckets:
        _write(target / f"{bucket.id}.json", _json(texts(bucket)))
    names = sorted(bucket.id for bucket in buckets)
    index = {
        "format": FORMAT,
        "rules": rows,
        "buckets": names,
        "problems": problems,
        "releases": _releases(source),
        **_expressions(rows),
    }
    # Pickle loads three times as fast as JSON; the file is our own package's, nothing that a user gives is unpickled.
    _write(target / "index.pickle", pickle.dumps(index, 4))


def _expressions(rows: list[list[Any]]) -> dict[str, Any]:
    """Return all expressions of the rules in compiled form.

    Compiling one takes half a millisecond, loading it a fortieth of that. The form belongs to one version of ``regex``;
    where another is installed at run time, expressions are compiled as they are needed.
    """
    try:
        import regex
    except ImportError:  # a build without run-time dependencies
        return {"regex": "", "expressions": {}}
    at = [RULE_KEYS.index(name) for name in EXPRESSIONS]
    texts = {row[index] for row in rows for index in at if row[index]}
    return {
        "regex": regex_build(),
        "expressions": {text: pickle.dumps(regex.compile(text), 4) for text in sorted(texts)},
    }


def _releases(source: Path) -> tuple[str, ...]:
    """Return the vLLM releases that the options table covers, oldest first: advice is for one of them."""
    try:
        table = json.loads((source / "vllm" / "options.json").read_bytes())
    except FileNotFoundError:  # a corpus of rules alone
        return ()
    return tuple(table["releases"])


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _write(path: Path, data: bytes) -> None:
    # Written beside and moved: a reader in another process never sees half a file.
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(data)
    beside.replace(path)
