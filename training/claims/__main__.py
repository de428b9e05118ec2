"""``python -m vllm_triage.training.claims FILES``: tests what the answers to logs claim, without labels.

FILES are logs, or JSON lines (``.jsonl``, ``.jsonl.xz``) with a log in ``text``. Every printed command is read back by the options of
the releases that can have written the log, numbers are held against the log's own, denials against abnormal lines that nothing accounts
for, fixes against what is in force. Ends with 1 where a claim is refuted.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...classifier.advice import advise
from ...classifier.api import Triage
from ...classifier.errors import InputError
from ...classifier.input.read import read_blocks
from ...classifier.verdict.decide import decide
from .claims import Claim, claims_of


def main(argv: Sequence[str] | None = None) -> int:
    """Print the refuted claims and the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--quiet", action="store_true", help="print the figures alone")
    asked = parser.parse_args(argv)
    tested: Counter[str] = Counter()
    refuted = logs = 0
    triage = Triage()
    for name, data in logs_in(asked.files):
        logs += 1
        for claim in audited(data, triage):
            tested[claim.kind] += 1
            refuted += bool(claim.fault)
            if claim.fault and not asked.quiet:
                print(f"{name}: {claim.kind}: {claim.text}: {claim.fault}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tested.items()))
    each = sum(tested.values()) / max(1, logs)
    print(f"{logs} logs, {sum(tested.values())} claims ({each:.1f} an answer: {kinds}), {refuted} refuted")
    return int(refuted > 0)


def audited(data: bytes, triage: Triage) -> list[Claim]:
    """Return the claims of the answer to a log; none where it is no log."""
    session = triage.start()
    try:
        for block in read_blocks(data):
            session.feed(block)
        session.check()
    except InputError:
        return []
    known = triage._known(triage.question)  # noqa: SLF001 - what the workshop audits is within
    verdict = decide(session.finish(), session.tail(), known)
    return claims_of(verdict, advise(verdict, known))


def logs_in(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the logs of files with their names."""
    for path in paths:
        if ".jsonl" not in path.name:
            yield str(path), path.read_bytes()
            continue
        with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as file:
            for row in map(json.loads, file):
                if "text" in row:
                    yield f"{path.name}:{row.get('id', '')}", row["text"].encode("utf-8", "surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
