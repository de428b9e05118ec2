"""A rule file for a cluster: patterns of what its lines share, held against what must not match."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from ...corpus.literals import required_literals
from ...corpus.store import Corpus
from .clusters import Cluster
from .shapes import VALUE, Shape, common

TOLD = 24
"""Letters that a pattern must ask for, so as to name one thing and nothing else."""
GAPS = 3
"""Places in a pattern where any text may stand."""
GAP = r".{0,240}"
LONGEST = 220
"""Characters of a pattern's words."""
EXAMPLES = 3
"""Lines of a group that a proposed rule must match, as its examples."""
RULES = 6
"""Shapes of a cluster that get a rule of their own, the most frequent ones."""
COMPARED = 12
"""Lines of a shape that are compared."""
_CLASS = re.compile(r"[A-Za-z_]\w*(?:Error|Exception|Exit|Warning)$")
_GENERAL = frozenset(
    {
        "ArithmeticError", "AssertionError", "AttributeError", "EOFError", "Exception", "IndexError", "KeyError", "LookupError",
        "NotImplementedError", "OSError", "RuntimeError", "SystemExit", "TypeError", "ValidationError", "ValueError",
    }
)  # fmt: skip
"""Classes that anything may raise: their names say nothing."""
LEVELS = ("", "ERROR", "CRITICAL")
"""Levels on which a rule for a cause fires, where it names no others."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule file that names a cluster."""

    bucket: str
    cause: str
    title: str
    text: str
    """The file."""
    covers: int
    """Starts of the cluster whose line a pattern fits."""
    problem: str = ""
    """Why there is no file; "" where there is one."""

    def entitled(self, title: str) -> Proposal:
        """Return the proposal under another title."""
        text = self.text.replace(f"title = {_text(self.title)}", f"title = {_text(title)}")
        return replace(self, title=title, text=text)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the lines of a shape share."""

    text: str
    examples: tuple[str, ...]
    rejects: tuple[str, ...]
    levels: tuple[str, ...]


def propose(cluster: Cluster, others: Iterable[Cluster], corpus: Corpus, healthy: Sequence[str] = ()) -> Proposal:
    """Return a rule file for a cluster.

    Args:
        cluster: What is to be named.
        others: All clusters: lines of the other ones must not match.
        corpus: The rules there are: a line that one of them knows as harmless, or as a wrapper, names no cause.
        healthy: Lines of servers that did not fail, which must not match.
    """
    strangers = [shape.members[0].line for other in others if other.id != cluster.id for shape in other.shapes]
    bucket, cause = f"found_{cluster.id}", _slug(cluster.shapes[0].key)
    name = _title(cluster)
    if known := known_as(cluster.shapes[0].members[0].line, corpus):
        return Proposal(bucket, cause, name, "", 0, f"its line is known, and no cause: rule {known}")
    found = _patterns(cluster, [*strangers, *healthy], strangers)
    if not found:
        return Proposal(bucket, cause, name, "", 0, "its lines share too little, or share it with harmless ones")
    text = _file(cluster, bucket, cause, name, found)
    fits = re.compile("|".join(f"(?:{own.text})" for own in found))
    covers = sum(member.starts for member in cluster.members if fits.search(member.line))
    return Proposal(bucket, cause, name, text, covers, complaints(text))


def known_as(line: str, corpus: Corpus) -> str:
    """Return the rule that knows a line as harmless or as a wrapper; "" where none does."""
    return next(
        (
            rule.id
            for rule in corpus.rules
            if rule.role not in ("cause", "fact") and rule.pattern and rule.expression("pattern").search(line)
        ),
        "",
    )


def _patterns(cluster: Cluster, forbidden: Sequence[str], strangers: Sequence[str]) -> list[Pattern]:
    """Return one pattern for all of a cluster where there is one, else one for each shape that has one."""
    if len(cluster.shapes) > 1:
        whole = pattern_of(Shape(cluster.shapes[0].key, cluster.members), forbidden, strangers)
        if whole is not None:
            return [whole]
    each = (pattern_of(shape, forbidden, strangers) for shape in cluster.shapes[:RULES])
    return list({pattern.text: pattern for pattern in each if pattern is not None}.values())


def pattern_of(shape: Shape, forbidden: Sequence[str], strangers: Sequence[str]) -> Pattern | None:
    """Return a pattern for the lines of a shape; None where none would name them and nothing else.

    Args:
        shape: The lines.
        forbidden: Lines that must not match.
        strangers: Lines of other failures: the nearest of them become counter-examples.
    """
    lines = list(dict.fromkeys(member.line for member in shape.members))
    shared = common(_spread(lines))
    for gaps in range(GAPS + 1):
        text = _best(shared, gaps)
        if text is None or not required_literals(text):
            continue
        compiled = re.compile(text)
        if all(compiled.search(line) for line in lines[:50]) and not any(compiled.search(line) for line in forbidden):
            levels = tuple(sorted({member.level for member in shape.members} - set(LEVELS)))
            words = set(shape.key.split())
            near = sorted(strangers, key=lambda line: -len(words & set(line.lower().split())))
            return Pattern(text, tuple(lines[:EXAMPLES]), tuple(dict.fromkeys(near))[:2], levels)
    return None


def _spread(lines: Sequence[str]) -> list[str]:
    """Return some of the lines, of all lengths: what they share all of them are likely to share."""
    ordered = sorted(lines, key=lambda line: (len(line), line))
    step = max(1, len(ordered) // COMPARED)
    return ordered[::step][: COMPARED + 1]


def complaints(text: str) -> str:
    """Return the first complaint of the corpus check about a rule file; "" where there is none."""
    from pathlib import Path

    from ...corpus.check import check_file

    with TemporaryDirectory() as folder:
        path = Path(folder) / "proposed.toml"
        path.write_text(text, encoding="utf-8")
        return next(iter(check_file(path)), "")


def _best(shared: Sequence[str], gaps: int) -> str | None:
    """Return the run of shared tokens with at most so many gaps that says most, as an expression."""
    cuts = [-1, *(index for index, token in enumerate(shared) if token == VALUE), len(shared)]
    best, most = None, TOLD - 1
    for index in range(len(cuts) - 1):
        end = min(index + gaps + 1, len(cuts) - 1)
        run = _trimmed(shared[cuts[index] + 1 : cuts[end]])
        told = _told(run)
        if told > most:
            best, most = run, told
    return _expression(best) if best is not None else None


def _told(run: Sequence[str]) -> int:
    """Return how many letters say something: a class of exceptions that anything may raise does not."""
    start = next((index + 1 for index, token in enumerate(run) if _CLASS.match(token) and token in _GENERAL), 0)
    return sum(len(token) for token in run[start:] if token != VALUE and token[0].isalpha())


def _trimmed(run: Sequence[str]) -> list[str]:
    """Return a run without signs and gaps at its ends, cut where it is long."""
    kept = list(run)
    while kept and not kept[0][0].isalnum():
        kept.pop(0)
    size = 0
    for index, token in enumerate(kept):
        size += len(token)
        if size > LONGEST:
            kept = kept[:index]
            break
    while kept and not kept[-1][0].isalnum():
        kept.pop()
    return kept


def _expression(run: Sequence[str]) -> str:
    return "".join(GAP if part == VALUE else part if part in (" ", "-") else re.escape(part) for part in run)


def _file(cluster: Cluster, bucket: str, cause: str, title: str, found: Sequence[Pattern]) -> str:
    releases = ", ".join(cluster.releases[:8]) or "not told"
    days = f"{cluster.first} to {cluster.last}" if cluster.first else "days unknown"
    lines = [
        f"# Proposed by vllm-triage: {cluster.logs} logs, {days}, releases: {releases}.",
        f"# Nearest bucket: {cluster.nearest or 'none'}. Say in your own words what it is, and add fixes (docs/rules.md).",
        f"id = {_text(bucket)}",
        f"title = {_text(title)}",
        f"meaning = {_text('Logs of this fleet that fail with these words; nobody has said yet what they mean.')}",
        "",
        "[[cause]]",
        f"id = {_text(cause)}",
        f"title = {_text(title)}",
        f"summary = {_text('Seen in this fleet before: no rule of vllm-triage names it yet.')}",
    ]
    for number, pattern in enumerate(found, 1):
        lines += [
            "",
            "  [[cause.rule]]",
            f"  id = {_text(f'words-{number}')}",
            '  role = "cause"',
            f"  pattern = {_literal(pattern.text)}",
            f"  match = [{', '.join(map(_text, pattern.examples))}]",
        ]
        if pattern.rejects:
            lines.append(f"  reject = [{', '.join(map(_text, pattern.rejects))}]")
        if pattern.levels:
            lines.append(f"  levels = [{', '.join(map(_text, (*LEVELS, *pattern.levels)))}]")
    text = "\n".join(lines) + "\n"
    tomllib.loads(text)
    return text


def _text(text: str) -> str:
    """Return a text as TOML writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in escaped) + '"'


def _literal(text: str) -> str:
    """Return a text as TOML writes it without escapes, where that can be."""
    return _text(text) if "'''" in text or text.endswith("'") or not text.isprintable() else f"'''{text}'''"


def _slug(key: str) -> str:
    words = [
        word
        for word in re.findall(r"[a-z][a-z0-9]+", key.lower())
        if word not in ("the", "of", "is", "to", "for", "in")
    ]
    return "_".join(words[:5])[:48].strip("_") or "unnamed"


def _title(cluster: Cluster) -> str:
    line = cluster.examples(1)[0].line
    told = re.sub(r"\s+", " ", line).strip()
    return told if len(told) <= 90 else told[:89].rstrip() + "…"
