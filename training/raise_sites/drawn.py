"""``python -m vllm_triage.training.raise_sites.drawn --out DIR``: errors drawn at random from the releases, and whether they are explained.

Each log is what a server would print if the error were raised in its place: the release, callers and the line that raises, the
message with values in its slots. In every other one the catalogue does not know the words. Printed are the shares of answers that
name the guard, and what flows into it; the logs go into a folder, for readers.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...classifier.api import Triage
from ...corpus.code_lines import plain
from ..advice.drawn import Drawn, answers, callers, stack
from ..advice.hidden import wordless
from ..options.fetch import CACHE, fetch
from ..options.index import OLDEST, releases
from ..text_model.rows.messages import filled
from .guards import Card, cards
from .sites import options_of

_RAISES = re.compile(r"\s*(?:raise (?P<kind>[A-Z][\w.]*)\(|assert\b)")
_ASIDE = re.compile(r"(?:^|/)(?:tests?|benchmarks|examples|third_party)/")
_DEFINED = re.compile(r"^\s*(?:async )?def (\w+)\(", re.MULTILINE)
_RELEASES = 24
_FILES = 150
"""Of each, that are looked through."""
_CALLERS = 2


def main(arguments: list[str] | None = None) -> int:
    """Draw, ask and count; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.raise_sites.drawn", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the logs go")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where releases are kept (%(default)s)"
    )
    parser.add_argument("--count", type=int, default=300, metavar="N", help="errors that are drawn (%(default)s)")
    parser.add_argument("--seed", type=int, default=31)
    given = parser.parse_args(arguments)
    seed = random.Random(given.seed)  # noqa: S311 - nothing is secret here
    offered = list(releases(since=OLDEST))
    picked = sorted(seed.sample(range(len(offered)), min(_RELEASES, len(offered))))
    logs: list[Drawn] = []
    seen = set[tuple[str, Card]]()
    for at in picked:
        archive = fetch(offered[at], given.cache)
        logs += _drawn(offered[at].version, archive, -(-given.count // len(picked)), seed, seen)
    seed.shuffle(logs)
    half = min(given.count, len(logs)) // 2
    for name, part, triage in (("known", logs[:half], Triage()), ("removed", logs[half : 2 * half], wordless())):
        told = list(answers((log._replace(name=f"{name}-{at:03}") for at, log in enumerate(part)), given.out, triage))
        guard = [log for log, text in told if log.first in text]
        whole = sum(all(each in text for each in (log.first, *log.others)) for log, text in told)
        print(f"words {name:8} n {len(told)}  guard named {len(guard) / half:.3f}  with its sources {whole / half:.3f}")
    return 0


def _drawn(
    release: str, archive: Path, count: int, seed: random.Random, seen: set[tuple[str, Card]]
) -> Iterator[Drawn]:
    """Yield errors of a release that none before it has yielded."""
    with zipfile.ZipFile(archive) as opened:
        texts = {
            name: opened.read(name).decode("utf-8", "replace")
            for name in opened.namelist()
            if name.startswith("vllm/") and name.endswith(".py") and not _ASIDE.search(name)
        }
    files = {path: text.split("\n") for path, text in texts.items()}
    defined = Counter(name for text in texts.values() for name in _DEFINED.findall(text))
    is_option = options_of(release)
    paths = seed.sample(sorted(texts), min(_FILES, len(texts)))
    sites = [
        (path, card) for path in paths for card in cards(path, texts[path], is_option) if _number(card, files[path])
    ]
    fresh = [site for site in sites if (site[0].rpartition("/")[2], site[1]) not in seen]
    for path, card in seed.sample(fresh, min(count, len(fresh))):
        seen.add((path.rpartition("/")[2], card))
        yield _log(release, files, defined, path, card, seed)


def _log(
    release: str, files: Mapping[str, Sequence[str]], defined: Mapping[str, int], path: str, card: Card, seed: random.Random
) -> Drawn:  # fmt: skip
    number = _number(card, files[path])
    owner = next((found[1] for row in files[path][number - 1 :: -1] if (found := re.match(r"class (\w+)", row))), "")
    frames = [(path, number, card.function, files[path][number - 1])]
    near = {path: files[path], **files}
    for _ in range(_CALLERS):
        place, _, function, _ = frames[0]
        if defined.get(function, 0) > 1 and not (owner and function == "__init__"):
            break  # whose it is that is called, its name does not tell
        called = next(callers(near.items(), function, owner if place == path else ""), None)
        if called is None or called in frames:
            break
        frames.insert(0, called)
    found = _RAISES.match(files[path][number - 1])
    kind = found["kind"].rpartition(".")[2] if found and found["kind"] else "AssertionError"
    error = f"{kind}: {filled(card.message, seed)}" if card.message else kind
    return Drawn("", stack(release, frames, error), card.guard, tuple(map(_name, card.sources[:2])))


def _number(card: Card, rows: Sequence[str]) -> int:
    """Return the number of the line that raises; 0 for none."""
    return next((at for at, row in enumerate(rows, 1) if _RAISES.match(row) and plain(row.strip()) == card.line), 0)


def _name(source: str) -> str:
    """Return a source's own name: ``machine``, ``--option``, a variable, a key, a field."""
    return source.rpartition(" ")[2]


if __name__ == "__main__":
    sys.exit(main())
