"""From which release to which vLLM's own sources hold the words of a rule.

``python -m vllm_triage.training.drift.lifetimes CACHE``: CACHE is the folder in which ``training.options`` keeps the
Python files of every release (``vllm-0.19.1.zip``). Prints the rules that need an upper bound in ``versions``: their words are gone, so that a log which holds
them is older, and advice for the newest release would be wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from ...classifier.facts.versions import in_range, version_key
from ...corpus.store import load

_SEAM = re.compile(rb"([\"'])\s*\n\s*[rfbRFB]{0,2}\1")
"""Between two parts of a message that stand on two lines."""


class Lifetime(NamedTuple):
    """Releases whose sources hold one of a rule's literals."""

    rule: str
    versions: str
    """As the rule file says."""
    first: str
    last: str
    gone: str
    """The release after the last; empty where the newest still has them."""

    def complaint(self, newest: str) -> str:
        """Return what is wrong with the rule's ``versions``; "" where nothing is.

        Only the end counts: a literal may be common, and stand in releases that do not have the message yet.
        """
        if self.gone and (not self.versions or in_range(newest, self.versions)):
            return f'the words are gone: needs "<{self.gone}"'
        return ""


def read_sources(path: Path) -> bytes:
    """Return the Python files of one release as one text, messages in one piece."""
    with zipfile.ZipFile(path) as archive:
        return b"\n".join(_SEAM.sub(b"", archive.read(name)) for name in archive.namelist() if name.endswith(".py"))


def lifetimes(rules: Sequence[Any], sources: Iterable[tuple[str, bytes]]) -> Iterator[Lifetime]:
    """Yield the lifetime of every rule whose words some release holds.

    Args:
        rules: Rules of the corpus with literals.
        sources: Release and its text, oldest first.
    """
    words = sorted({literal.encode() for rule in rules for literal in rule.literals})
    automaton = BytesAhoCorasick(words, matchkind=MatchKind.Standard)
    held: dict[str, set[bytes]] = {}
    for release, text in sources:
        held[release] = {words[item[0]] for item in automaton.find_matches_as_indexes(text, overlapping=True)}
    releases = list(held)
    for rule in rules:
        mine = {literal.encode() for literal in rule.literals}
        at = [index for index, release in enumerate(releases) if mine & held[release]]
        if at:
            gone = releases[at[-1] + 1] if at[-1] + 1 < len(releases) else ""
            yield Lifetime(rule.id, rule.versions, releases[at[0]], releases[at[-1]], gone)


def main() -> int:
    """Print the rules whose ``versions`` need a look; exit with 1 where there are some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("cache", type=Path, help="folder with vllm-X.Y.Z.zip (the cache of training.options)")
    options = parser.parse_args()
    paths = {path.stem.removeprefix("vllm-"): path for path in options.cache.glob("vllm-*.zip")}
    releases = sorted(paths, key=lambda name: version_key(name) or (0, 0, 0, 0, 0))
    if not releases:
        parser.error(
            f"{options.cache}: no vllm-X.Y.Z.zip there (python -m vllm_triage.training.options --cache makes them)"
        )
    roles = ("cause", "symptom")
    rules = [rule for rule in load().rules if rule.source == "vllm" and rule.role in roles and rule.literals]
    found = 0
    for life in lifetimes(rules, ((name, read_sources(paths[name])) for name in releases)):
        if words := life.complaint(releases[-1]):
            found += 1
            print(f"{life.rule:60} {life.versions or '-':18} {life.first} to {life.last}: {words}")
    print(f"{found} of {len(rules)} rules need a look")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
