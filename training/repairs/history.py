"""Reads a clone's history: the commits that mend something in vLLM's Python files."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "vllm"
_NUMBER = re.compile(r"\(#(\d{1,6})\)\s*$")
_MENDS = re.compile(
    r"\b(?:bug|fix|mend|crash|hang|hung|leak|regress|correct|incorrect|resolv|prevent|avoid|handl|guard|repair|wrong|missing|"
    r"broken|error|fail|workaround|support|allow|remove|disable|compat|race|deadlock|oom|ensure|make sure|don'?t|do not|only|"
    r"default|properly|skip|fallback|respect|enable)|bugfix|hotfix|fix\b",
    re.IGNORECASE,
)
"""Words of titles of commits that can end a failure."""
_NO_MEND = re.compile(
    r"^\W*(?:ci|doc|docs|test|tests|typo|chore|misc|revert|release)\b\W*(?!.*bug)|^Revert\b|\btypos?\b", re.IGNORECASE
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX = re.compile(r"index ([0-9a-f]{40})\.\.([0-9a-f]{40})")
_START = "\x01commit "
_MOST_FILES = 30
"""Files from which on a commit moves code about: what of it mends anything is not told."""


class Edit(NamedTuple):
    """What a commit did to one file."""

    before: str
    """Path before; after it, ``path``."""
    path: str
    old: str
    new: str
    """Contents before and after."""
    gone: tuple[int, ...]
    added: tuple[int, ...]
    """Numbers of the lines that it took out (of the old file) and put in (of the new one)."""


class Commit(NamedTuple):
    """A commit that can have mended something."""

    place: int
    """Among all commits, the oldest first."""
    number: int
    """Of the pull request."""
    title: str
    body: str
    edits: tuple[Edit, ...]


def commits(repository: Path) -> Iterator[Commit]:
    """Yield the commits that can have mended something, the oldest first.

    Args:
        repository: A clone of vLLM, bare or not.

    Raises:
        subprocess.CalledProcessError: It is none.
    """
    git = ["git", "-C", str(repository)]
    order = subprocess.run([*git, "rev-list", "--reverse", "HEAD"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    places = {sha: at for at, sha in enumerate(order.split())}
    log = [
        *git,
        "log",
        "--reverse",
        "-p",
        "-U0",
        "-M",
        "--full-index",
        "--no-color",
        "--no-ext-diff",
        "--diff-filter=AMR",
    ]
    log += [f"--format={_START}%H%n%B%x02", "--", f"{PACKAGE}/*.py"]
    with (
        subprocess.Popen(log, stdout=subprocess.PIPE, text=True, errors="replace") as process,  # noqa: S603
        subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as blobs,  # noqa: S603
    ):
        for sha, text, patch in _parted(process.stdout or iter(())):
            title, _, body = text.partition("\n")
            number = _NUMBER.search(title)
            if number is None or not _MENDS.search(title) or _NO_MEND.search(title):
                continue
            edits = tuple(_edits(patch, blobs))
            if edits and len(edits) <= _MOST_FILES:
                yield Commit(places[sha], int(number[1]), title[: number.start()].strip(), body, edits)


def _parted(lines: Iterator[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each commit's name, message and patch; of the patch only heads and hunks' heads."""
    sha, in_text = "", False
    text: list[str] = []
    patch: list[str] = []
    for line in lines:
        if line.startswith(_START):
            if sha:
                yield sha, "".join(text), patch
            sha, text, patch, in_text = line[len(_START) :].strip(), [], [], True
        elif in_text:
            in_text = "\x02" not in line
            text.append(line.replace("\x02", ""))
        elif line.startswith(("diff ", "index ", "--- ", "+++ ", "@@ ")):
            patch.append(line.rstrip("\n"))
    if sha:
        yield sha, "".join(text), patch


def _edits(patch: list[str], blobs: subprocess.Popen[bytes]) -> Iterator[Edit]:
    before = path = old = new = ""
    gone: list[int] = []
    added: list[int] = []
    for line in [*patch, "diff "]:
        if line.startswith("diff "):
            if path and (gone or added):
                yield Edit(before or path, path, _read(blobs, old), _read(blobs, new), tuple(gone), tuple(added))
            before = path = ""
            gone, added = [], []
        elif found := _INDEX.match(line):
            old, new = found[1], found[2]
        elif line.startswith("--- a/"):
            before = line[6:].strip('"')
        elif line.startswith("+++ b/"):
            path = line[6:].strip('"')
        elif found := _HUNK.match(line):
            gone += range(int(found[1]), int(found[1]) + int(found[2] or 1))
            added += range(int(found[3]), int(found[3]) + int(found[4] or 1))


def _read(blobs: subprocess.Popen[bytes], name: str) -> str:
    """Return a file's text by its name in git; "" for one that the clone lacks."""
    to, back = blobs.stdin, blobs.stdout
    if to is None or back is None or not name.strip("0"):
        return ""
    to.write(f"{name}\n".encode())
    to.flush()
    head = back.readline().split()
    if len(head) != 3:
        return ""
    content = back.read(int(head[2]))
    back.read(1)
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
