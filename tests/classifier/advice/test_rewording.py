"""Words are for people: whoever edits a title or a sentence of the corpus changes no order, no selection and no value."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.everyday import sample
from tests.fixtures.marked import FOLDER, read_marked
from vllm_triage import classifier
from vllm_triage.classifier.advice import advise
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.verdict.decide import decide
from vllm_triage.corpus import remedies
from vllm_triage.corpus.actions import Sentence, packed, unpacked
from vllm_triage.corpus.records import replace
from vllm_triage.corpus.remedies import find
from vllm_triage.corpus.types import Fix

LOGS = Path(remedies.FOLDER).parent / "logs"
PATHS = sorted([*LOGS.rglob("*.log"), *FOLDER.glob("*.log")])
SLOT = re.compile(r"(\{[^{}]*\})")
SEARCH = "search https://github.com/vllm-project/vllm/issues for:"


def reworded(text: str) -> str:
    """Return a text with the case of each letter changed and a word behind it; slots stay."""
    parts = [part if SLOT.fullmatch(part) else part.swapcase() for part in SLOT.split(text)]
    return "".join(parts) + " zebra" if text else ""


def reword(fix: Fix) -> Fix:
    """Return a fix of which every text that people read is another."""
    actions = [
        replace(each, text=reworded(each.text)) if isinstance(each, Sentence) and SEARCH not in each.text else each
        for each in unpacked(fix.does)
    ]
    return replace(
        fix, title=reworded(fix.title), why=reworded(fix.why), cost=reworded(fix.cost), verify=reworded(fix.verify), does=packed(actions),
        remark=fix.remark and f"   # {reworded(fix.remark.strip(' #'))}",
    )  # fmt: skip


def rewording() -> Triage:
    """Return the engine with every title and sentence of its corpus reworded."""
    triage = Triage()
    corpus = triage.corpus
    for name in corpus.buckets():
        bucket = corpus.bucket(name)
        bucket.title, bucket.meaning = reworded(bucket.title), reworded(bucket.meaning)
        for cause in bucket.causes:
            cause.title, cause.summary = reworded(cause.title), reworded(cause.summary)
            cause.confirm, cause.refute = reworded(cause.confirm), reworded(cause.refute)
            cause.fixes = tuple(map(reword, cause.fixes))
    guards = corpus.guards()
    guards.rows = [replace(row, why=reworded(row.why)) for row in guards.rows]
    for clue in corpus.clues():
        object.__setattr__(clue, "says", reworded(clue.says))
        object.__setattr__(clue, "fixes", tuple(map(reword, clue.fixes)))
    return triage


def chosen(triage: Triage, data: Path) -> list[tuple[Any, ...]]:
    """Return all but the words of a verdict, of the values that it draws on and of what is advised, in order, and how much was left out."""
    session = triage.start()
    for block in read_blocks(data):
        session.feed(block)
    known = triage._known(triage.question)
    verdict = decide(session.finish(), session.tail(), known)
    advice = advise(verdict, known)
    lines = [[line.line for line in told] for told in (verdict.evidence, verdict.symptoms, verdict.chain)]
    return [
        (verdict.bucket, verdict.cause, verdict.confidence, verdict.decided_by, verdict.alternatives, lines),
        (dict(verdict.captures), dict(verdict.incident.facts)),
        *(
            (
                fix.rank, fix.kind, fix.option, fix.value, fix.safety, fix.versions, fix.fixed_in, fix.restart, fix.root, fix.moves, fix.tags,
                fix.tier, fix.whole, tuple(each for each in fix.actions if not isinstance(each, Sentence)), len(fix.actions),
                fix.confidence, fix.effect,
            )
            for fix in advice.fixes
        ),
        (len(advice.withheld), advice.corrected_command),
    ]  # fmt: skip


def test_rewording_the_corpus_changes_no_answer_but_its_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each letter's case changed, a word appended: over all logs of the repository and every 150th message."""
    plain, other = Triage(), rewording()
    made = find._fix
    differs, answered = [], 0
    messages = tmp_path / "message.log"
    inputs: list[Path | remedies.Remedy] = sample([*PATHS, *remedies.remedies()[::150]], 10)
    for each in inputs:
        data = each if isinstance(each, Path) else messages
        if isinstance(each, Path) and each.parent == FOLDER:
            data = messages
            messages.write_bytes(read_marked(each).log.encode())
        elif not isinstance(each, Path):
            said = each.template.replace("{}", "7")
            frame = f'  File "/usr/lib/python3/dist-packages/{each.package}/{each.path}.py", line 9, in f\n    raise ValueError()\n'
            messages.write_text(f"Traceback (most recent call last):\n{frame}ValueError: {said}\n", encoding="utf-8")
        before = chosen(plain, data)
        monkeypatch.setattr(find, "_fix", lambda told: reword(made(told)))
        after = chosen(other, data)
        monkeypatch.setattr(find, "_fix", made)
        answered += len(before) > 3
        if before != after:
            differs.append((str(each)[-80:], [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]))
    assert answered > len(inputs) / 2
    assert [] == differs


def test_no_module_of_the_classifier_reads_what_people_read() -> None:
    """Titles, sentences and written changes are put together and shown; no expression and no comparison looks into them."""
    read = []
    for path in sorted(Path(classifier.__file__ or "").parent.joinpath("advice").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            read += [path.name for name in _looked_into(node) if name in ("title", "why", "change")]
    assert ["message.py"] == read  # which slots a title has, not what it says


def _looked_into(node: ast.AST) -> list[str]:
    """Return the attributes of which a node looks into the text: searched, split, compared with ``in``, or asked how it begins."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        looks = {"search", "match", "fullmatch", "findall", "finditer", "sub", "split"}
        if node.func.attr in looks:
            asked += node.args
        if node.func.attr in {
            "startswith",
            "endswith",
            "partition",
            "rpartition",
            "split",
            "find",
            "index",
            "replace",
            "removeprefix",
        }:
            asked.append(node.func.value)
    if isinstance(node, ast.Compare) and any(isinstance(sign, (ast.In, ast.NotIn)) for sign in node.ops):
        asked += [node.comparators[0]]
    return [each.attr for part in asked for each in ast.walk(part) if isinstance(each, ast.Attribute)]
