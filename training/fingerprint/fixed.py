"""``python -m vllm_triage.training.fingerprint.fixed``: which rules' words are gone from vLLM, since when, and how.

Prints candidates for ``fixed_in``, one JSON object a line, to be read by a person beside the sources: words go also where
a check is put otherwise, or where a part of vLLM is given up. What can be told without reading is told:

- the words stood in every release from the first to the last that has them, and in none after;
- the functions that had them are still there in the first release without (else the code was moved or given up);
- no text that is much like them came with that release (else they were only put otherwise).
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path

import regex as re

from ...corpus.compiler import read_bucket, sources
from ...corpus.literals import required_literals
from ...corpus.options import FOLDER
from ...corpus.types import Rule
from ..options.fetch import fetch
from ..options.index import releases
from .__main__ import CACHE, FIRST
from .texts import SLOT, Text, texts_of

ALIKE = 0.7
"""From this likeness on, a new text is the old one put otherwise."""
_FILLINGS = ("1", "abc", "'a.b'", "")
"""What may stand in a placeholder, to try a rule's expression on."""

Place = tuple[str, str]
"""Path and function."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A rule whose words no newer release can print."""

    rule: str
    """``bucket/rule``."""
    cause: str
    words: str
    """The text in the sources, … for what is put in at run time."""
    places: list[str]
    """``path:function`` of those that had it last."""
    last_with: str
    first_without: str
    evidence: str


class Texts:
    """The texts of all releases."""

    def __init__(self) -> None:
        self.releases: list[str] = []
        self.found: dict[Text, dict[str, int]] = {}
        """A text → the files that have it → the releases, one bit each, the oldest lowest."""
        self.functions: list[set[Place]] = []
        """Of each release, with the names of all functions."""
        self._forms: dict[Text, str] = {}
        self._read: dict[tuple[str, bytes], tuple[list[Text], set[str]]] = {}

    def add(self, version: str, archive: Path) -> None:
        """Take up a release; releases come oldest first."""
        bit = 1 << len(self.releases)
        self.releases.append(version)
        self.functions.append(set())
        now: dict[tuple[str, bytes], tuple[list[Text], set[str]]] = {}
        with zipfile.ZipFile(archive) as opened:
            for path in opened.namelist():
                content = opened.read(path)
                now[path, content] = texts, functions = self._read.get((path, content)) or _read(content)
                self.functions[-1] |= {(path, function) for function in functions}
                for text in texts:
                    places = self.found.setdefault(text, {})
                    places[path] = places.get(path, 0) | bit
        self._read = now

    def having(self, rule: Rule) -> dict[Text, dict[str, int]]:
        """Return the texts that a rule on words is about."""
        pattern = rule.pattern or rule.message
        literals = rule.literals or required_literals(pattern, 4) if pattern else None
        if not literals:
            return {}
        # Most texts have none of the words; the expression is tried on the others.
        words, kind = re.compile(pattern), re.compile(rule.exception) if rule.exception else None
        fitting = {}
        for text, places in self.found.items():
            forms = self._forms.get(text) or self._forms.setdefault(text, _forms(text))
            told = any(literal in forms for literal in literals) and (kind is None or kind.fullmatch(text.exception))
            if told and any(words.search(form) for form in forms.split(SLOT)):
                fitting[text] = places
        return fitting

    def new_in(self, at: int) -> Iterator[str]:
        """Yield the texts that came with a release, by its number."""
        for text, places in self.found.items():
            numbers = 0
            for bits in places.values():
                numbers |= bits
            if numbers & -numbers == 1 << at:
                yield text.text


def gone(rule: Rule, texts: Texts) -> Gone | None:
    """Return since when no release has the words of ``rule``; None where the newest has them, or none ever had."""
    having = texts.having(rule)
    numbers = 0
    for places in having.values():
        for bits in places.values():
            numbers |= bits
    end = numbers.bit_length()
    if not numbers or end == len(texts.releases):
        return None
    last = {text: [path for path, bits in places.items() if bits >> (end - 1) & 1] for text, places in having.items()}
    last = {text: paths for text, paths in last.items() if paths}
    spots = sorted({(path, text.function) for text, paths in last.items() for path in paths})
    return Gone(
        rule.id,
        rule.cause,
        " | ".join(sorted({text.text.replace(SLOT, "…") for text in last})),
        [f"{path}:{function}" for path, function in spots],
        texts.releases[end - 1],
        texts.releases[end],
        "; ".join(_evidence(numbers, last, spots, end, texts)),
    )


def _evidence(numbers: int, last: dict[Text, list[str]], spots: list[Place], end: int, texts: Texts) -> Iterator[str]:
    first = (numbers & -numbers).bit_length() - 1
    whole = numbers == (1 << end) - (1 << first)
    yield f"{'in every release' if whole else 'not in every release'} from {texts.releases[first]} on"
    there = texts.functions[end]
    for path, function in spots:
        if (path, function) in there:
            yield f"{path}: {function} is there without"
        elif any(place == path for place, _ in there):
            yield f"{path}: {function} is gone"
        else:
            yield f"{path} is gone"
    new = list(texts.new_in(end))
    for text in last:
        alike = [other for other in new if SequenceMatcher(None, text.text, other).quick_ratio() >= ALIKE]
        alike = [other for other in alike if SequenceMatcher(None, text.text, other).ratio() >= ALIKE]
        if alike:
            yield f"put otherwise: {alike[0].replace(SLOT, '…')!r}"


def rules(folder: Path) -> Iterator[Rule]:
    """Yield the rules on vLLM's own words that name a cause."""
    for path in sources(folder):
        for rule in read_bucket(path).rules:
            if rule.role == "cause" and "vllm" in rule.source:
                yield rule


def _forms(text: Text) -> str:
    """Return what a text may look like in a log, one form after the other, with ``SLOT`` between."""
    filled = [text.text.replace(SLOT, filling) for filling in _FILLINGS]
    named = [f"{text.exception}: {form}" for form in filled] if text.exception else []
    return SLOT.join(dict.fromkeys([*filled, *named]))


def _read(content: bytes) -> tuple[list[Text], set[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = ast.parse(content)
        except (SyntaxError, ValueError):
            return [], set()
    return texts_of(module), {""} | set(_functions(module, ""))


def _functions(top: ast.AST, before: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(top):
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        name = (
            f"{before}.{node.name}".lstrip(".")
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            else before
        )
        if named:
            yield name
        yield from _functions(node, name)


def main(arguments: list[str] | None = None) -> int:
    """Print the rules whose words are gone from vLLM, with what the sources tell of it."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.fingerprint.fixed", description=main.__doc__)
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where downloaded Python files are kept (%(default)s)"
    )
    given = parser.parse_args(arguments)
    texts = Texts()
    for files in releases(since=FIRST):
        texts.add(files.version, fetch(files, given.cache, lambda _done, _all: None))
    for rule in rules(Path(FOLDER).parent):
        found = gone(rule, texts)
        if found is not None:
            print(json.dumps(asdict(found), ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
