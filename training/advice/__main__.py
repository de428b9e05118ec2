"""``python -m vllm_triage.training.advice --references REFERENCE.jsonl LOGS.jsonl[.xz] …``: how often advice is right, as it is shown.

Printed are the shares of logs whose first fix is right, that show none, and of whose first three fixes one is refuted by the log or
does harm; with all rules in sight and with each answer's cause hidden, where at least two logs have it. ``--fit`` writes the
track record anew, from the logs of all sets but those of ``--unread``; those are then what its figures are to be read from.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from ...classifier.advice import track_record
from .answers import Answered, Graded, held_out, in_sight
from .references import read

HELD, SEEN = 1.0, 0.7
"""Weights of what was answered with its cause hidden, and with all in sight."""
SMOOTH = 0.1
"""Strength of the fit, the inverse of its regularisation: few logs, many traits."""
READ = "was_read"
"""Trait of advice on a log that was read when its rules were written."""
BANDS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1.01)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; write the record where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("logs", type=Path, nargs="+", metavar="FILE", help="logs as JSON lines")
    parser.add_argument("--references", type=Path, required=True, metavar="FILE")
    parser.add_argument("--unread", action="append", default=[], metavar="SET", help="a set that nothing is fitted on")
    parser.add_argument("--fit", action="store_true", help="write the track record")
    options = parser.parse_args(argv)
    plain = list(in_sight(read(options.references, options.logs)))
    hidden = list(held_out(plain))
    if options.fit:
        _fit(*([one for one in part if one.log.group not in options.unread] for part in (plain, hidden)))
        track_record._table.clear()  # noqa: SLF001 - what was just written counts
        return main(
            [
                *map(str, options.logs),
                "--references",
                str(options.references),
                *(f"--unread={name}" for name in options.unread),
            ]
        )
    for name, part in (("in sight", plain), ("cause hidden", hidden)):
        print(f"{name:14} {_shares(part)}")
        for group in sorted({one.log.group for one in part}):
            print(f"  {group:14} {_shares(one for one in part if one.log.group == group)}")
        for way in sorted({one.decided_by for one in part}):
            print(f"  by {way:11} {_shares(one for one in part if one.decided_by == way)}")
    _calibration([one for one in (*plain, *hidden) if not options.unread or one.log.group in options.unread])
    return 0


def _fit(plain: Sequence[Answered], hidden: Sequence[Answered]) -> None:
    """Write the record. What is better because the log was read when its rules were written is a trait of its own, which no answer has."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    rows: list[tuple[Graded, float, dict[str, float]]] = [(fix, HELD, {}) for one in hidden for fix in one.fixes]
    rows += [(fix, SEEN, {READ: 1.0, f"{READ}_{one.decided_by}": 1.0}) for one in plain for fix in one.fixes]
    weights: dict[str, dict[str, float]] = {}
    plainly = [fix.traits for fix, _, _ in rows]
    # That a cause was written helps with new logs of it as well, so what is worth showing is not asked whether its log was read.
    for what, grade, traits in (
        ("right", "right", [fix.traits | was_read for fix, _, was_read in rows]),
        ("worth", "right", plainly),
        ("refuted", "trap", plainly),
    ):
        names = sorted({name for each in traits for name in each})
        fitted = LogisticRegression(C=SMOOTH, max_iter=5000).fit(
            np.array([[each.get(name, 0.0) for name in names] for each in traits]),
            [fix.grade == grade for fix, _, _ in rows],
            sample_weight=[weight for _, weight, _ in rows],
        )
        found = {name: round(float(value), 3) for name, value in zip(names, fitted.coef_[0], strict=True)}
        weights[what] = {
            "": round(float(fitted.intercept_[0]), 3),
            **{name: value for name, value in found.items() if value and not name.startswith(READ)},
        }
    about = {"answers": len(plain) + len(hidden), "fixes": len(rows)}
    Path(track_record.FILE).write_text(json.dumps({"fitted_on": about, "weights": weights}, indent=1) + "\n")


def _shares(answers: Iterable[Answered]) -> str:
    shown = [one.shown[:3] for one in answers]
    count = max(1, len(shown))
    right = sum(grades[:1] == ["right"] for grades in shown)
    told = sum(bool(grades) for grades in shown)
    parts = [
        f"n {len(shown):4}",
        f"first right {right / count:.3f}",
        f"of shown {right / max(1, told):.3f}",
        f"none {1 - told / count:.3f}",
    ]
    return "  ".join([*parts, f"first refuted {sum(grades[:1] == ['trap'] for grades in shown) / count:.3f}",
                      f"one of three refuted {sum('trap' in grades for grades in shown) / count:.3f}"])  # fmt: skip


def _calibration(answers: Sequence[Answered]) -> None:
    """Print how often first fixes were right by the share that the record gives them."""
    rows = [
        (track_record.share_of("right", fix.traits), fix.grade == "right") for one in answers for fix in one.fixes[:1]
    ]
    error = 0.0
    for low, high in pairwise(BANDS):
        part = [(share, right) for share, right in rows if low <= share < high]
        if part:
            told, true = sum(share for share, _ in part) / len(part), sum(right for _, right in part) / len(part)
            error += abs(told - true) * len(part) / len(rows)
            print(f"  share {low:.1f} to {min(1, high):.1f}: n {len(part):4}  told {told:.2f}  true {true:.2f}")
    print(f"  calibration error {error:.3f}")


if __name__ == "__main__":
    sys.exit(main())
