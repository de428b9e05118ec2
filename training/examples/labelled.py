"""Reads labelled logs: JSON lines, folders with a sub-folder for each bucket, indexes of recorded logs, feedback."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ...classifier.errors import InputError
from ...classifier.input.read import read_blocks

LABELS = ("index.jsonl", "labels.jsonl", "labels.csv")
"""Files that label the logs of a folder, the first that is there; else each sub-folder is a bucket."""
TEXTS = ("text", "log", "digest")
"""Keys of a log's text in JSON lines; ``digest`` is feedback's."""
LARGEST = 8 << 20
"""Bytes of a log's end that are taken where its text is wanted as a whole."""
_CAUSE = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")
_PLAIN = re.compile(r"[^a-z0-9]+")
BESIDES = (".times", ".json", ".toml", ".md", ".csv", ".jsonl", ".png")
"""What may lie beside logs and is none."""


@dataclass(slots=True, frozen=True)
class Case:
    """A labelled log."""

    id: str
    bucket: str
    where: str
    """``FILE:LINE`` of its label, or the log's own path."""
    text: str = ""
    path: Path | None = None
    """Where the log lies, if not in ``text``."""
    also: tuple[str, ...] = ()
    """Buckets that are as fair."""
    evidence: tuple[str, ...] = ()
    """Lines that prove it."""
    lines: frozenset[int] = frozenset()
    """Their numbers, where the label has them."""
    cause: str = ""
    """``bucket/cause``; empty where the label names the bucket alone."""
    group: str = ""
    """Cases of one group are copies of one failure."""
    stage: str = ""
    release: str = ""
    url: str = ""

    @property
    def source(self) -> Any:
        """The log, as the classifier takes it."""
        return self.text if self.path is None else self.path

    def whole(self) -> str:
        """Return the log's text; of a large one its end.

        Raises:
            InputError: It cannot be read.
        """
        if self.path is None:
            return self.text
        kept = b""
        for block in read_blocks(self.path):
            kept = (kept + bytes(block.data))[-LARGEST:]
        return kept.decode("utf-8", "replace")

    @property
    def fair(self) -> frozenset[str]:
        """All buckets that are right."""
        return frozenset((bucket_id(self.bucket), *map(bucket_id, self.also)))


def read_cases(paths: Iterable[Path]) -> list[Case]:
    """Read the cases of all paths, in order.

    Raises:
        InputError: One is missing, empty, or not what it should be; the message names file and line.
    """
    cases: list[Case] = []
    for path in paths:
        found = list(_of_folder(path) if path.is_dir() else _of_file(path))
        if not found:
            raise InputError(f"{path}: no labelled log in it")
        cases += found
    return cases


def bucket_id(label: str) -> str:
    """Return the id of a bucket that a label stands for: what is no id becomes one."""
    made = _PLAIN.sub("_", label.lower()).strip("_")[:64].strip("_")
    # In another script nothing is left: what tells two such labels apart is their checksum.
    return made or f"own_{zlib.crc32(label.encode('utf-8', 'replace')):08x}"


def strange_buckets(cases: Iterable[Case], known: Iterable[str]) -> Iterator[str]:
    """Yield a warning for each label that stands for no bucket: with the nearest name, and where it stands first."""
    names = set(known)
    for case in cases:
        for bucket in (case.bucket, *case.also):
            if bucket_id(bucket) not in names:
                from difflib import get_close_matches

                near = get_close_matches(bucket, sorted(names), 1, 0.5)
                hint = f"did you mean {near[0]}?" if near else "vllm-triage rules lists them"
                yield f"{case.where}: {bucket!r} is not a bucket, so no answer can be right; {hint} (--rules adds your own)"
                names.add(bucket_id(bucket))


def _of_folder(folder: Path) -> Iterator[Case]:
    for name in LABELS:
        if (folder / name).is_file():
            yield from _of_file(folder / name)
            return
    for path in sorted(folder.glob("*/**/*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden and path.suffix not in BESIDES and path.stat().st_size:
            yield Case("/".join(parts), parts[0], str(path), path=path)


def _of_file(path: Path) -> Iterator[Case]:
    try:
        with _opened(path) as file:
            if path.suffix == ".csv":
                yield from _of_csv(path, file)
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _of_line(line, f"{path}:{number}", path.parent)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: no text; labelled logs are JSON lines, or a folder") from None


def _opened(path: Path) -> TextIOWrapper:
    openers: dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}
    found: TextIOWrapper = openers.get(path.suffix, open)(path, "rt", encoding="utf-8")
    return found


def _of_csv(path: Path, file: TextIOWrapper) -> Iterator[Case]:
    rows = csv.DictReader(file)
    if not {"file", "bucket"} <= set(rows.fieldnames or ()):
        raise InputError(f"{path}:1: the first line must name the columns file and bucket")
    for row in rows:
        yield _case({key: value for key, value in row.items() if key and value}, f"{path}:{rows.line_num}", path.parent)


def _of_line(line: str, where: str, folder: Path) -> Case:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: no JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(entry, dict):
        raise InputError(f"{where}: an object is wanted, with text (or file) and bucket")
    return _case(entry, where, folder)


def _case(entry: dict[str, Any], where: str, folder: Path) -> Case:
    text = next((entry[key] for key in TEXTS if entry.get(key)), "")
    bucket, file = entry.get("bucket", ""), entry.get("file", "")
    if not isinstance(bucket, str) or not isinstance(text, str) or not isinstance(file, str):
        raise InputError(f"{where}: bucket, text and file must be texts")
    if not bucket and entry.get("verdict") != "wrong":
        # Feedback may say "wrong" and not what it was.
        raise InputError(f"{where}: no bucket")
    path = None
    if not text:
        if not file:
            raise InputError(f"{where}: neither text nor file")
        path = folder / file
        if not path.is_file():
            raise InputError(f"{where}: no such log: {path}")
    causes = [str(entry.get(key) or "") for key in ("verdict", "cause")]
    return Case(
        id=str(entry.get("id") or file or where), bucket=bucket, where=where, text=text, path=path,
        also=_texts(entry.get("also"), where), evidence=_texts(entry.get("evidence"), where),
        lines=frozenset(number for number in entry.get("evidence_lines") or () if isinstance(number, int)),
        cause=next((cause for cause in causes if _CAUSE.fullmatch(cause)), ""),
        group=str(entry.get("group") or entry.get("fault") or ""), stage=str(entry.get("stage") or ""),
        release=str(entry.get("release") or entry.get("vllm_version") or ""), url=str(entry.get("url") or ""),
    )  # fmt: skip


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in items):
        raise InputError(f"{where}: also and evidence must be texts, or lists of texts")
    return tuple(item for item in items if item)
