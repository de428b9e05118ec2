"""An evaluation as text: figures, buckets, confusions, misses; the same as plain data for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .comparison import Comparison
from .score import Answer, Score
from .statistics import bins, interval

MOST_CONFUSED = 20
"""Buckets of a confusion matrix in text: where there are more, those that are confused most."""


def summary(item: Score, miss_list: int = 30) -> str:
    """Return the whole report of one way."""
    parts = [figures(item), buckets(item), confusion(item)]
    if missed := item.misses():
        parts.append(misses(item, miss_list))
        if len(missed) > miss_list:
            parts.append(f"… and {len(missed) - miss_list} more")
    return "\n\n".join(part for part in parts if part)


def figures(item: Score) -> str:
    """Return the counts and shares of one way, each share with its 95 % interval (Wilson)."""
    failing, quiet = len(item.failures), len(item.quiet)
    model_right, model_all = item.decided_by("model")
    proved, provable = item.proved()
    cause_right, cause_named, _ = item.causes()
    lines = [f"{item.name}: {len(item.pairs)} logs, {failing} failures, {quiet} healthy or of other software", ""]
    rows = [
        ("answered as they should be", item.right, len(item.pairs)),
        ("accepted", item.accepted, failing),
        ("wrong", item.wrong, failing),
        ("unknown", item.unknown, failing),
        ("taken for no failure", item.silent, failing),
        ("first choice right", item.firsts, failing),
        ("alarms", item.alarms, quiet),
        ("right where a failure is named", sum(told for _, told in item.named), len(item.named)),
        ("right where the model decided", model_right, model_all),
        ("evidence shown", proved, provable),
        ("cause right where one is named", cause_right, cause_named),
    ]
    lines += [f"  {name:<32} {_share(count, total)}" for name, count, total in rows if total]
    lines.append(f"  {'expected calibration error':<32} {item.error:.3f}")
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    low, high = interval(count, total)
    return f"{count / total:.3f}  ({count}/{total}, 95 %: {low:.3f}–{high:.3f})"


def buckets(item: Score) -> str:
    """Return precision, recall and F1 of each bucket, with intervals."""
    found = item.buckets()
    width = max((len(name) for name in found), default=6)
    head = f"{'bucket':<{width}}  {'logs':>5}  {'precision':>9} {'95 %':<11}  {'recall':>6} {'95 %':<11}  {'F1':>5}"
    lines = [head]
    for name, told in found.items():
        precision = _beside(told.right, told.answered)
        recall = _beside(told.right, told.labelled)
        f1 = f"{told.f1:.3f}" if told.labelled else "-"
        lines.append(
            f"{name:<{width}}  {told.labelled:>5}  {precision[0]:>9} {precision[1]:<11}  "
            f"{recall[0]:>6} {recall[1]:<11}  {f1:>5}"
        )
    labelled = [told for told in found.values() if told.labelled]
    lines.append(f"macro F1 {sum(told.f1 for told in labelled) / max(1, len(labelled)):.3f} ({len(labelled)} buckets)")
    return "\n".join(lines)


def _beside(count: int, total: int) -> tuple[str, str]:
    if not total:
        return "-", ""
    low, high = interval(count, total)
    return f"{count / total:.3f}", f"{low:.2f}–{high:.2f}"


def confused(item: Score, most: int = MOST_CONFUSED) -> list[str]:
    """Return the buckets that a confusion matrix is worth showing of: all where they are few, else the most confused."""
    counts = item.confusions()
    names = sorted({name for pair in counts for name in pair})
    if len(names) <= most:
        return names
    weight: Counter[str] = Counter()
    for (label, answer), count in counts.items():
        if label != answer:
            weight[label] += count
            weight[answer] += count
    return sorted(name for name, _ in sorted(weight.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def confusion(item: Score) -> str:
    """Return the confusion matrix: labels down, answers across by the number of their row."""
    names = confused(item)
    counts = item.confusions()
    if not names:
        return ""
    every = len({name for pair in counts for name in pair})
    width = max(len(name) for name in names)
    title = "confusion (rows: labels, columns: answers, by number)"
    if len(names) < every:
        title += f": the {len(names)} most confused of {every} buckets"
    lines = [title, f"{'':<{width + 4}}" + "".join(f"{number:>4}" for number in range(1, len(names) + 1))]
    for number, label in enumerate(names, 1):
        cells = "".join(f"{counts[label, answer] or '·':>4}" for answer in names)
        lines.append(f"{number:>3} {label:<{width}}{cells}")
    return "\n".join(lines)


def misses(item: Score, most: int) -> str:
    """Return what was not answered as it should be: where, label, answer, how sure, what was shown."""
    lines = ["misses: where  label -> answer  confidence  id"]
    for case, answer in item.misses()[:most]:
        lines.append(f"{case.where}  {case.bucket} -> {_told(answer)}  {answer.confidence:.2f}  {case.id}")
        if case.url:
            lines.append(f"    {case.url}")
        if case.evidence:
            lines.append(f"    label: {' '.join(case.evidence[0].split())[:140]}")
        if answer.evidence:
            lines.append(f"    shown: {' '.join(answer.evidence[0].split())[:140]}")
    return "\n".join(lines)


def _told(answer: Answer) -> str:
    near = f" (nearest: {answer.first})" if answer.first and answer.first != answer.bucket else ""
    return (answer.cause or answer.bucket) + near


def versus(first: Score, second: Score, found: Comparison) -> str:
    """Return two ways side by side."""
    one, two = first.name, second.name
    count = len(first.pairs)
    gap = found.first_alone - found.second_alone
    verdict = f"{one} has {abs(gap)} {'fewer' if gap > 0 else 'more'} misses" if gap else "as many misses"
    wrongs = found.first_wrong - found.second_wrong
    gapped = f"{abs(wrongs)} {'more' if wrongs > 0 else 'fewer'} wrong answers" if wrongs else "as many wrong answers"
    sides = f"only {one} {found.first_alone}, only {two} {found.second_alone}"
    lines = [
        f"{one} against {two}, {count} logs: {verdict}, {gapped}",
        f"  both right {found.both}, {sides}, neither {found.neither}",
        f"  wrong answers: {one} {found.first_wrong}, {two} {found.second_wrong}",
        f"  chance of so uneven a difference, were they equally good: {found.chance:.3f} (McNemar, exact)",
    ]
    return "\n".join(lines)


def beside(items: Sequence[Score]) -> str:
    """Return several ways as the rows of a Markdown table."""
    lines = [
        "| | accepted | 95 % | wrong | unknown | first choice | precision | alarms | ECE |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for item in items:
        failing = len(item.failures)
        low, high = interval(item.accepted, failing)
        named = item.named
        lines.append(
            f"| {item.name} | {_ratio(item.accepted, failing)} ({item.accepted}/{failing}) | {low:.2f}–{high:.2f} "
            f"| {item.wrong} | {item.unknown} | {_ratio(item.firsts, failing)} "
            f"| {_ratio(sum(told for _, told in named), len(named))} | {item.alarms}/{len(item.quiet)} "
            f"| {item.error:.3f} |"
        )
    return "\n".join(lines)


def _ratio(count: int, total: int) -> str:
    return f"{count / total:.3f}" if total else "-"


def as_data(item: Score) -> dict[str, Any]:
    """Return one way's figures as plain data, each share with its interval."""
    failing, quiet, named = len(item.failures), len(item.quiet), item.named
    shares = {
        "right": (item.right, len(item.pairs)), "accepted": (item.accepted, failing), "wrong": (item.wrong, failing),
        "unknown": (item.unknown, failing), "no_failure": (item.silent, failing), "first": (item.firsts, failing),
        "alarms": (item.alarms, quiet), "precision": (sum(told for _, told in named), len(named)),
        "model_precision": item.decided_by("model"), "evidence": item.proved(),
        "causes": item.causes()[:2],
    }  # fmt: skip
    return {
        "name": item.name,
        "logs": len(item.pairs),
        "failures": failing,
        **{name: _data(*share) for name, share in shares.items()},
        "ece": round(item.error, 4),
        "reliability": [
            {"confidence": round(mean, 4), "right": round(share, 4), "count": count} for mean, share, count in bins(named)
        ],
        "buckets": {
            name: {
                "logs": told.labelled,
                "precision": _data(told.right, told.answered),
                "recall": _data(told.right, told.labelled),
                "f1": round(told.f1, 4),
            }
            for name, told in item.buckets().items()
        },
        "confusion": [
            {"label": label, "answer": answer, "count": count}
            for (label, answer), count in sorted(item.confusions().items())
        ],
        "misses": [
            {"where": case.where, "id": case.id, "label": case.bucket, "also": list(case.also), "answer": answer.bucket,
             "cause": answer.cause, "first": answer.first or answer.bucket, "confidence": answer.confidence,
             "decided_by": answer.decided_by, **({"url": case.url} if case.url else {})}
            for case, answer in item.misses()
        ],
    }  # fmt: skip


def _data(count: int, total: int) -> dict[str, Any]:
    low, high = interval(count, total)
    share = round(count / total, 4) if total else None
    return {"count": count, "of": total, "share": share, "interval": [round(low, 4), round(high, 4)]}


def as_comparison(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return asdict(found)
