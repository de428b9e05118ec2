"""Ten causes taken out of the rules and of the catalogue: what `learn` finds of them, and what its rules answer."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from fleet_logs import fleet
from fleet_told import told

from vllm_triage.corpus.store import Corpus, load
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.work import rows_of
from vllm_triage.training.harvest.clusters import clusters
from vllm_triage.training.harvest.propose import propose
from vllm_triage.training.harvest.unnamed import unnamed

CAUSES = 10
"""Causes that are taken out of the rules."""


def harvest(options: argparse.Namespace) -> None:
    """Take causes out of the rules, find them again, and try the proposed rules on logs that were not seen."""
    full = Asking()
    logs = list(fleet(options.logs))
    truth = {log.id: rows_of(log, full)[-1] for log in logs}
    frequent = Counter(row.cause for row in truth.values() if row.failed and row.bucket != "unknown")
    causes = [cause for cause, _ in frequent.most_common(options.skip + CAUSES)][options.skip :]
    _silence(causes)
    rows = [row for log in logs for row in rows_of(log, Asking(without=tuple(causes)))]
    found, healthy = _groups(rows, options.below)
    covered: Counter[str] = Counter()
    total = Counter(row.cause for row in truth.values() if row.cause in causes)
    of: dict[str, str] = {}
    # Groups of what has a rule, which the reader has to put aside.
    named = 0
    with tempfile.TemporaryDirectory() as folder:
        for cluster in found:
            own = Counter(truth[member.log].cause for member in cluster.members)
            cause, number = own.most_common(1)[0]
            if number >= 0.9 * len(cluster.members) and cause in causes:
                covered[cause] += len({member.log for member in cluster.members if truth[member.log].cause == cause})
            named += cause not in causes
            made = propose(cluster, found, load(), healthy)
            if not made.problem:
                Path(folder, f"{made.bucket}.toml").write_text(made.text)
                of[made.bucket] = cause
        told(clusters=len(found), of_named_causes=named, rules=len(of), coverage=round(covered.total() / total.total(), 3), causes={
            cause: f"{covered[cause]} of {total[cause]}" for cause in causes
        })  # fmt: skip
        _tried(options, Asking(without=tuple(causes), rules=(folder,)), causes, of)


def _silence(causes: list[str]) -> None:
    """Have the catalogue of messages forget these causes, and what it knows of their buckets alone: it would name most of them."""
    original, buckets = Corpus.messages, {cause.partition("/")[0] for cause in causes}

    class Forgetful:
        def __init__(self, corpus: Corpus) -> None:
            self._matcher = original(corpus)

        def find(self, text: str) -> list[Any]:
            def known(label: Any) -> bool:
                own = f"{label.bucket}/{label.cause}"
                return own not in causes and (label.bucket not in buckets or bool(label.cause))

            return [match for match in self._matcher.find(text) if known(match.row.label)]

    def messages(corpus: Corpus) -> Forgetful:
        return Forgetful(corpus)

    Corpus.messages = messages  # type: ignore[assignment,method-assign]


def _tried(options: argparse.Namespace, asking: Asking, causes: list[str], of: dict[str, str]) -> None:
    # The truth is what all rules say, which the catalogue is not asked for.
    good: Counter[str] = Counter()
    total: Counter[str] = Counter()
    healthy = alarms = 0
    for log in fleet(options.logs // 2, seed=99):
        truth, row = rows_of(log, Asking())[-1], rows_of(log, asking)[-1]
        healthy += not truth.failed
        alarms += not truth.failed and row.bucket in of
        if truth.cause in causes:
            total[truth.cause] += 1
            good[truth.cause] += of.get(row.bucket) == truth.cause
    shares = {cause: round(good[cause] / max(1, total[cause]), 2) for cause in causes}
    told(
        answered=shares,
        at_least_08=sum(value >= 0.8 for value in shares.values()),
        healthy=healthy,
        false_alarms=alarms,
    )


def _groups(rows: list[Any], below: float) -> tuple[Any, tuple[str, ...]]:
    from vllm_triage.service.batch.store.pending import plain
    from vllm_triage.service.cli.commands.learn import _answers

    healthy: dict[str, None] = {}
    return clusters(unnamed(_answers(map(plain, rows), healthy), below)), tuple(healthy)
