"""What is seen of a log before a cause is looked for, measured: attempts, the release, complaints, whose program, slow servers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from random import Random

from tests.damaged import TRIAGE, Log, answer, recorded
from tests.quoted import NAMES_NOTHING
from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.situation.ages import RELEASES
from vllm_triage.classifier.situation.programs import BUILD, CLIENT, ENGINE, MACHINE
from vllm_triage.classifier.situation.situate import Situation, situate
from vllm_triage.classifier.situation.writer import read_writer
from vllm_triage.training.record.publish import RECORDED, read_index

Rates = dict[str, tuple[int, int]]
"""How many were right, of how many."""
FORMS = {
    "one below the other": "{log}\n",
    "below their commands": "$ vllm serve acme/tiny\n{log}\n",
    "in prose": "Then I tried this:\n\n```\n{log}\n```\n\n",
}
STANDS = frozenset({"nccl_hang", "performance_degradation", "mqllmengine_stall"})
"""Buckets of servers that are slow, stall or hang."""
SIX, THREE = 6, 3
"""Releases of a close bound, and marks from which on it is asked for."""


def attempts(count: int = 60) -> Rates:
    """Return how many series of recorded starts are answered as the attempt that counts: failed otherwise, mended, two woven."""
    chance, rates = Random(23), Counter[str]()
    asked = Counter[str]()
    for _ in range(count):
        release = chance.choice(sorted(_by_release()))
        failed, healthy = _by_release()[release]
        drawn = chance.sample(sorted(failed), chance.choice((2, 3)))
        for name, files in (
            ("failed otherwise", drawn),
            ("mended at last", [*drawn[1:], *chance.sample(healthy, min(1, len(healthy)))]),
        ):
            logs = [_text(file) for file in files]
            wanted = answer(logs[-1])
            for form in FORMS.values():
                got = answer("".join(form.format(log=log) for log in logs))
                asked[name] += 1
                rates[name] += got is not None and wanted is not None and got.bucket == wanted.bucket
        if healthy:
            one, two = _text(drawn[0]), _text(chance.choice(healthy))
            got, wanted = answer(_woven(one, two)), answer(one)
            asked["two servers woven"] += 1
            rates["two servers woven"] += got is not None and wanted is not None and got.bucket == wanted.bucket
    return {name: (rates[name], asked[name]) for name in asked}


@cache
def _by_release() -> dict[str, tuple[dict[str, str], list[str]]]:
    """Return for each release the recorded logs that failed, one of each bucket, and the healthy ones."""
    found: dict[str, tuple[dict[str, str], list[str]]] = {}
    for entry in read_index(RECORDED / "index.jsonl"):
        failed, healthy = found.setdefault(entry["release"], ({}, []))
        if entry["bucket"] == "no_failure":
            healthy.append(entry["file"])
        elif entry["bucket"] not in (*NAMES_NOTHING, "engine_dead") and entry["bucket"] not in failed.values():
            failed[entry["file"]] = entry["bucket"]
    return {release: found[release] for release in found if len(found[release][0]) > THREE}


def _text(file: str) -> str:
    return (RECORDED / file).read_text(encoding="utf-8", errors="replace").rstrip("\n")


def _woven(one: str, two: str) -> str:
    """Return two containers' lines as compose shows them, in turn."""
    pairs = zip_longest(one.split("\n"), two.split("\n"))
    return "".join(
        f"{name}  | {line}\n"
        for pair in pairs
        for name, line in zip(("blue-1", "green-1"), pair, strict=True)
        if line is not None
    )


def releases(logs: Iterable[Log] = ()) -> Rates:
    """Return how often the release lies within its bound, where the line that tells it is not looked at."""
    asked = within = marked = close = newest = 0
    for log in (*recorded(), *logs):
        start = started(log.text)
        told = str(start.facts.pop("vllm_version", ""))
        if told not in RELEASES:
            continue
        bound = Situation(start).release
        asked, within = asked + 1, within + (told in bound.releases)
        if len(bound.marks) >= THREE:
            marked, close = marked + 1, close + (len(bound.releases) <= SIX)
        newest += bool(bound.told) or (not bound.bounded and len(bound.releases) == 1)
    return {
        "within the bound": (within, asked),
        "at most six, of three marks": (close, marked),
        "newest assumed": (newest, asked),
    }


def started(text: str) -> Incident:
    """Return the last start of a log."""
    session = TRIAGE.start()
    for block in read_blocks(text):
        session.feed(block)
    return session.finish()[-1]


def complaints(folder: Path) -> Rates:
    """Return precision and recall for each file of written complaints, and what is read into logs without any."""
    found: Rates = {}
    for path in sorted(folder.glob("*complaints.tsv")):
        rows = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
        read = [(kind, read_writer(text.replace("  ", "\n")).complaint) for kind, text in rows]
        told = [kind for kind, complaint in read if complaint]
        meant = [complaint for kind, complaint in read if kind != "none"]
        found[f"{path.stem}: precision"] = sum(kind != "none" for kind in told), len(told)
        found[f"{path.stem}: recall"] = sum(map(bool, meant)), len(meant)
    logs = [read_writer(log.text).complaint for log in recorded()]
    return {**found, "recorded logs: read into": (sum(map(bool, logs)), len(logs))}


def programs(references: Iterable[Path], logs: dict[tuple[str, str], str]) -> Rates:
    """Return how often a log is treated as whose it is, by the references' ``whose``.

    Right is another engine's log for another engine's; a client's, a build's or a machine's for what may show in one; else not another's.
    """
    fits = {
        CLIENT: ("client", "vllm", "script"),
        BUILD: ("install",),
        MACHINE: ("infrastructure", "none"),
        ENGINE: ("other_engine",),
    }
    counts: Counter[str] = Counter()
    for row in (json.loads(line) for path in references for line in path.read_text(encoding="utf-8").splitlines()):
        text, whose = logs.get((row["set"], row["id"])), row["whose"]
        report = answer(text) if text is not None else None
        if text is None or report is None:
            continue
        kind = situate(started(text)).program.kind
        ours = whose != "other_engine"
        silent = report.bucket in NAMES_NOTHING
        counts["asked"] += 1
        counts["right"] += whose in fits[kind] if kind in fits else ours or silent
        counts["vLLM's"] += whose == "vllm"
        counts["dismissed"] += whose == "vllm" and kind == ENGINE
        counts["others"] += not ours
        counts["commands"] += not ours and any(
            "vllm serve" in str(fix.change) or str(fix.change).startswith("--") for fix in report.fixes[:3]
        )
    return {
        "treated as whose it is": (counts["right"], counts["asked"]),
        "vLLM's dismissed": (counts["dismissed"], counts["vLLM's"]),
        "another engine's with vLLM's options": (counts["commands"], counts["others"]),
    }  # fmt: skip


def standing(logs: Iterable[Log]) -> Rates:
    """Return how many slow, stalled and hanging servers are found, and how many healthy ones are called so."""
    found = asked = false = healthy = 0
    for log in logs:
        report = answer(log.text) if log.accepted & (STANDS | {"no_failure"}) else None
        if report is None:
            continue
        if "no_failure" in log.accepted:
            healthy, false = healthy + 1, false + (report.bucket in STANDS - log.accepted)
        else:
            asked, found = asked + 1, found + (report.bucket in log.accepted)
    return {"found": (found, asked), "healthy called so": (false, healthy)}
