"""Checks rule files: format, literals, pattern costs, and every example that needs no engine.

Run as ``python -m vllm_triage.corpus.check [FILE…]``; exit code 1 when anything is wrong. ``--schema`` prints the format
as JSON Schema instead.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import regex

from .action_text import TextError, read_actions
from .clues import TABLES, read_clues
from .compiler import read_bucket
from .effects import read_effects
from .guards import ASKED, DERIVED, read_guards
from .kinds import Tag
from .lint import lint_pattern
from .literals import MINIMUM, required_literals
from .places import CorpusError, Place, complaint, lines_of
from .remedies import COLUMNS, ENDING
from .types import EXPRESSIONS, UNNAMED, Bucket, Rule

if TYPE_CHECKING:
    from regex import Pattern

HERE = Path(__file__).parent

_CAPTURE, _FILLED = re.compile(r"\?P<(\w+)>"), re.compile(r"\{(\w+)")
CONFUSERS = 2
"""Excerpts that look like a bucket and are not, at least as many for each of the corpus."""


def check_file(path: Path) -> list[str]:
    """Return the complaints about one rule file, each naming the file, the line and the rule.

    Of a file outside the corpus is asked what its rules need to work, no more (:func:`check_rules`).
    """
    try:
        bucket = read_bucket(path)
    except CorpusError as error:
        return [str(error)]
    if not path.resolve().is_relative_to(HERE):
        return check_rules(bucket, path.name) + _check_names(bucket, path.name)
    named = [] if path.stem == bucket.id else [f"{path.name}: id {bucket.id!r} must be the file's name"]
    return named + check_bucket(bucket, path.name)


def check_remedies(path: Path) -> list[str]:
    """Return complaints about the changes of a table of remedies, each naming the line."""
    complaints = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split("\t")
        if len(parts) < COLUMNS:
            continue
        tags = " ".join(parts[COLUMNS:]).split()
        if unknown := [tag for tag in tags if tag not in get_args(Tag)]:
            complaints.append(complaint(path.name, number, f"no tag: {unknown[0]!r}"))
        try:
            read_actions(parts[3], parts[1], tags)
        except TextError as error:
            complaints.append(complaint(path.name, number, str(error)))
    return complaints


def check_guards(path: Path) -> list[str]:
    """Return complaints about what the rows of a file of guards ask for and nothing tells, each naming the line."""
    text = path.read_text(encoding="utf-8")
    names = _known()[2] | set(DERIVED)
    place, found = Place(path.name, lines_of(text)), []
    for number, row in enumerate(tomllib.loads(text).get("guard", [])):
        spot = place.inside("guard", number, f"guard {row['id']}")
        for condition in row.get("when", ()):
            head, _, rest = condition.partition(" ")[0].partition(":")
            if (rest and head not in ASKED) or ((rest or head not in names) and not _is_option(rest or head)):
                found.append(spot.says(f"when {condition!r}: nothing tells {rest or head!r}", "when"))
    return found


def _is_option(name: str) -> bool:
    from .options import lifetime

    return bool(lifetime(f"--{name.removeprefix('--').replace('_', '-')}"))


def check_bucket(bucket: Bucket, file: str) -> list[str]:
    """Return complaints about one bucket of the corpus: what :func:`check_rules` says, and what is asked of us alone."""
    complaints = check_rules(bucket, file)
    if bucket.id != "facts" and len(bucket.confusers) < CONFUSERS:
        complaints.append(f"{file}: needs at least {CONFUSERS} confusers")
    for cause in bucket.causes:
        if not cause.fixes and bucket.id not in UNNAMED:
            complaints.append(complaint(file, cause.line, f"cause {cause.id}: needs at least one fix"))
    return complaints


def check_rules(bucket: Bucket, file: str) -> list[str]:
    """Return complaints about the rules and causes of a parsed bucket, whoever wrote it."""
    complaints = [
        complaint(file, rule.line, f"rule {rule.name}: {text}") for rule in bucket.rules for text in _check_rule(rule)
    ]
    used = {rule.cause for rule in bucket.rules}
    used |= {cause.id for cause in bucket.causes if cause.concluded_from}
    return complaints + [
        complaint(file, cause.line, f"cause {cause.id}: no rule leads to it")
        for cause in bucket.causes
        if cause.id not in used
    ]


def _check_names(bucket: Bucket, file: str) -> list[str]:
    """Return complaints about ids and placeholders in a file outside the corpus that nothing stands for."""
    ids, buckets, fillers = _known()
    own = {rule.id for rule in bucket.rules}
    complaints = []
    for rule in bucket.rules:
        if rule.id in ids:
            complaints.append(
                complaint(file, rule.line, f"rule {rule.name}: {rule.id} stands in the corpus: choose another id")
            )
        for name, known in (("requires", ids | own), ("unless", ids | own), ("overlaps", buckets | {bucket.id})):
            strange = [value for value in getattr(rule, name) if value not in known]
            complaints += [
                complaint(file, rule.line, f"rule {rule.name}: {name}: there is no {value!r}") for value in strange
            ]
    fillers = fillers | {name for rule in bucket.rules for name in _captures(rule)}
    for cause in bucket.causes:
        complaints += [
            complaint(file, cause.line, f"cause {cause.id}: also: there is no {value!r}")
            for value in cause.also
            if value not in buckets
        ]
        strange = [name for name in _FILLED.findall(cause.summary) if name not in fillers]
        complaints += [
            complaint(file, cause.line, f"cause {cause.id}: summary: nothing stands for {{{name}}}") for name in strange
        ]
    return complaints


@cache
def _known() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the ids of the corpus' rules, those of its buckets, and what its sentences are filled with."""
    from .store import load

    corpus = load()
    names = {name for rule in corpus.rules for name in _captures(rule)}
    names |= {
        name
        for bucket in corpus.buckets()
        for cause in corpus.bucket(bucket).causes
        for name in _FILLED.findall(cause.summary)
    }
    return frozenset(rule.id for rule in corpus.rules), frozenset(corpus.buckets()), frozenset(names)


def _captures(rule: Rule) -> list[str]:
    return [name for expression in EXPRESSIONS for name in _CAPTURE.findall(getattr(rule, expression) or "")]


def _check_rule(rule: Rule) -> list[str]:
    complaints = []
    for name in EXPRESSIONS:
        text = getattr(rule, name)
        if not text:
            continue
        try:
            regex.compile(text)
        except regex.error as error:
            complaints.append(f"{name} does not compile: {error}")
            continue
        complaints += [f"{name}: {costly}" for costly in lint_pattern(text)]
    if complaints or not rule.pattern:
        return complaints
    literals = rule.literals or required_literals(rule.pattern)
    if not literals:
        return [f"no literal of {MINIMUM} characters that every match contains; give 'literals' or rewrite the pattern"]
    compiled = regex.compile(rule.pattern)
    for example in rule.match:
        lines = [line for line in map(_peeled, example.splitlines()) if compiled.search(line)]
        if not lines:
            complaints.append(f"does not match its own example {example[:90]!r}")
        elif not any(literal in line for line in lines for literal in literals):
            complaints.append(f"literals {list(literals)} are not in the matching line of {example[:90]!r}")
    if not (rule.frames or rule.not_frames or rule.stages or rule.requires or rule.unless):
        rejects = [text for text in rule.reject if any(_matches(rule, compiled, line) for line in text.splitlines())]
        complaints += [f"matches its own counter-example {text[:90]!r}" for text in rejects]
    return complaints


def _matches(rule: Rule, compiled: Pattern[str], line: str) -> bool:
    return bool(compiled.search(_peeled(line))) and (not rule.levels or _level(line) in rule.levels)


_LEVEL = regex.compile(r"^(?:\([^)]*\) )?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_PREFIX = regex.compile(r"^(?:\([^)]*\) )?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d )(?:\[[^\]]*:\d+\]|[\w./-]+:\d+\]) ?")


def _level(line: str) -> str:
    found = _LEVEL.match(line)
    return found.group(1) if found else ""


def _peeled(line: str) -> str:
    """Return a line without vLLM's own prefix, as the engine tries patterns on it (prefix.py knows many more)."""
    found = _PREFIX.match(line)
    return line[found.end() :] if found else line


def main(arguments: list[str]) -> int:
    """Check the files named (default: all of the corpus) and print what is wrong."""
    if arguments == ["--schema"]:
        from .json_schema import json_schema

        print(json.dumps(json_schema(), indent=1))
        return 0
    paths = [Path(name) for name in arguments] or [*sorted((HERE / "buckets").glob("*.toml")), HERE / "facts.toml"]
    complaints = [text for path in paths for text in check_file(path)]
    if not arguments:
        complaints += [text for path in sorted((HERE / "remedies").glob(f"*{ENDING}")) for text in check_remedies(path)]
        tables = {
            "guards.toml": read_guards,
            "effects.toml": read_effects,
            **dict.fromkeys(TABLES, read_clues),
        }
        for name, read in tables.items():
            try:
                read(HERE / name)
            except CorpusError as error:
                complaints.append(str(error))
                continue
            complaints += check_guards(HERE / name) if name == "guards.toml" else []
    for text in complaints:
        print(text)
    print(f"{len(paths)} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
