"""``python -m vllm_triage.training.fingerprint.evaluate``: how often the index names the release of logs that tell it.

The lines that tell the release are taken out of each log first; what is left is all that the index is asked about.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from ...classifier.facts.fingerprint import ReleaseRange, bound_release, marks_in
from ...classifier.facts.fingerprint_index import index
from ..record.publish import RECORDED

LEAST = 3
"""Marks from which on a log counts."""
_TOLD = re.compile(
    r"(?:vLLM API server version (?:vllm )?|LLM engine \(v|^ *[█▄▀ ]*version )v?(?P<version>\d+\.\d+[\w.+]*\w)",
    re.MULTILINE,
)
_ANSI = re.compile("\x1b\\[[0-9;]*m")


@dataclass(slots=True)
class Tally:
    """The figures of one set of logs."""

    logs: int = 0
    """With ``LEAST`` marks or more, whose release is on the package index."""
    bounded: int = 0
    right: int = 0
    widths: list[int] = field(default_factory=list)
    others: int = 0
    """Of forks and of builds between releases."""
    others_bounded: int = 0
    """Of those: taken for a release, wrongly."""
    wrong: list[str] = field(default_factory=list)
    """Logs whose release is not in the range that was found, or for which none was found."""

    def add(self, name: str, version: str, found: ReleaseRange) -> None:
        """Count one log."""
        if found.marks < LEAST:
            return
        if version not in index().releases:
            self.others += 1
            self.others_bounded += bool(found.releases)
            return
        self.logs += 1
        self.bounded += bool(found.releases)
        self.right += version in found.releases
        self.widths += [len(found.releases)] if found.releases else []
        if version not in found.releases:
            self.wrong.append(f"{name} ({version}): {found}")

    def __str__(self) -> str:
        """Return the figures as one line."""
        width = f"{median(self.widths):.0f} (mean {mean(self.widths):.2f})" if self.widths else "–"
        return (
            f"{self.logs} logs with {LEAST} marks or more: {self.bounded} bounded, {self.right} of them rightly, "
            f"median width {width}; {self.others} of forks or builds between releases, {self.others_bounded} taken for a release"
        )


def told(text: str) -> str:
    """Return the release that a log tells; empty where it tells none, or several."""
    found = {match["version"].partition("+")[0] for match in _TOLD.finditer(_ANSI.sub("", text))}
    return found.pop() if len(found) == 1 else ""


def hidden(text: str) -> str:
    """Return a log without the lines that tell its release."""
    return "\n".join(line for line in _ANSI.sub("", text).split("\n") if not _TOLD.search(line))


def recorded(folder: Path = RECORDED) -> Iterator[tuple[str, str, str]]:
    """Yield name, release and text of the recorded logs: their folders are called by the release."""
    for path in sorted(folder.glob("[0-9]*/*.log")):
        yield f"{path.parent.name}/{path.name}", path.parent.name, path.read_text("utf-8", "replace")


def given(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the same for a file of JSON lines with ``id``, ``text`` and, where the text does not tell, ``vllm_version``."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            version = told(row["text"]) or re.split("[+@]", str(row.get("vllm_version") or "").lstrip("v"))[0]
            if version:
                yield str(row["id"]), version, row["text"]


def tally(logs: Iterable[tuple[str, str, str]]) -> Tally:
    """Return the figures of ``logs`` (name, release, text)."""
    figures = Tally()
    for name, version, text in logs:
        figures.add(name, version, bound_release(marks_in(hidden(text))))
    return figures


def main(arguments: list[str] | None = None) -> int:
    """Print the figures of the recorded logs and of each file given."""
    parser = argparse.ArgumentParser(
        prog="python -m vllm_triage.training.fingerprint.evaluate", description=main.__doc__
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="JSON lines with id, text and vllm_version")
    files = parser.parse_args(arguments).files
    for name, logs in [("recorded", recorded()), *((path.name, given(path)) for path in files)]:
        figures = tally(logs)
        print(f"{name}: {figures}")
        for line in figures.wrong:
            print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
