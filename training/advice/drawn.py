"""Logs that were made of sources, and what is answered to them: for the figures of raise sites and repairs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...classifier.api import Triage

ROOT = "/usr/local/lib/python3.12/dist-packages/"


class Drawn(NamedTuple):
    """A log, and what its answer must hold."""

    name: str
    text: str
    first: str
    """The most important: a guard, a repair's number."""
    others: tuple[str, ...] = ()


def stack(release: str, frames: Iterable[tuple[str, int, str, str]], error: str) -> str:
    """Return the log of a server that fails with an error.

    Args:
        release: Of the server.
        frames: Path, line, function and code of each, outermost first.
        error: Class, colon, message.
    """
    lines = [f"INFO 11-02 10:00:00 [api_server.py:1289] vLLM API server version {release}"]
    lines.append("Traceback (most recent call last):")
    for path, number, function, code in frames:
        lines += [f'  File "{ROOT}{path}", line {number}, in {function}', f"    {code.strip()}"]
    return "\n".join([*lines, error, ""])


def callers(
    files: Iterable[tuple[str, Sequence[str]]], function: str, owner: str = ""
) -> Iterator[tuple[str, int, str, str]]:
    """Yield the places that call a function, as frames.

    Args:
        files: Path and lines of each.
        function: Its name; of a constructor the class counts.
        owner: Its class.
    """
    name = owner if function in ("__init__", "__post_init__") and owner else function
    call = re.compile(rf"(?<![\w]){re.escape(name)}\(")
    for path, rows in files:
        inside = ""
        for number, row in enumerate(rows, 1):
            if head := re.match(r"\s*(?:async\s+)?def (\w+)", row):
                inside = head[1]
            elif (
                inside
                and inside != function
                and call.search(row)
                and not row.lstrip().startswith(("#", "class ", "raise ", '"'))
            ):
                yield path, number, inside, row


def answers(drawn: Iterable[Drawn], out: Path, triage: Triage) -> Iterator[tuple[Drawn, str]]:
    """Write each log into a folder, and yield it with all that its answer says."""
    out.mkdir(parents=True, exist_ok=True)
    for log in drawn:
        (out / f"{log.name}.log").write_text(log.text)
        yield log, json.dumps(triage.report(log.text.encode()).to_dict(), ensure_ascii=False)
