"""Loads the corpus: compiled where that is fresh, from TOML otherwise, users' own rule folders on top."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FORMAT = 2


class RuleRow:
    """One rule as the engine uses it. Slots by hand: four hundred are made at every start."""

    __slots__ = (
        "id", "role", "cause", "strength", "pattern", "literals", "exception", "message", "frames", "innermost",
        "not_frames", "levels", "stages", "requires", "unless", "scope", "stage", "start", "frequent", "source", "versions", "needs",
        "bucket", "compiled",
    )  # fmt: skip

    def __init__(self, row: list[Any]) -> None:
        (self.id, self.role, self.cause, self.strength, self.pattern, self.literals, self.exception, self.message,
         self.frames, self.innermost, self.not_frames, self.levels, self.stages, self.requires, self.unless, self.scope,
         self.stage, self.start, self.frequent, self.source, self.versions, self.needs) = row  # fmt: skip
        self.bucket: str = self.id.partition("/")[0]
        self.compiled: dict[str, Any] = {}

    @property
    def specific(self) -> bool:
        """Whether the rule asks for more evidence than its own words."""
        return bool(self.frames or self.innermost or self.stages or self.requires or self.not_frames)


class Corpus:
    """Rules for the scanner, and the texts of the buckets on demand."""

    def __init__(self, rules: list[RuleRow], folder: Path | None, extra: dict[str, dict[str, Any]], problems: list[str]) -> None:
        self.rules = rules
        self.problems = problems
        """Rule files that were left out, each with the reason."""
        self._folder = folder
        self._texts: dict[str, dict[str, Any]] = dict(extra)

    def texts(self, bucket: str) -> dict[str, Any]:
        """Return title, meaning and causes (with fixes) of ``bucket``; KeyError where there is none."""
        if bucket not in self._texts:
            path = (self._folder or HERE) / f"{bucket}.json"
            try:
                self._texts[bucket] = json.loads(path.read_bytes())
            except FileNotFoundError:
                raise KeyError(bucket) from None
        return self._texts[bucket]

    def buckets(self) -> list[str]:
        """Return all bucket ids, sorted."""
        names = {path.stem for path in (self._folder or HERE).glob("*.json")} | set(self._texts)
        return sorted(names - {"index", "facts", "stamp"})


def load(folders: Iterable[str | os.PathLike[str]] = ()) -> Corpus:
    """Load the corpus, with the rule files of ``folders`` added.

    A broken file in one of ``folders`` is left out and named in ``Corpus.problems``; it never takes the others down.
    """
    folder, index = _own()
    rules = [RuleRow(row) for row in index["rules"]]
    problems: list[str] = list(index["problems"])
    extra: dict[str, dict[str, Any]] = {}
    for path in _user_files(folders):
        _add_user_file(path, rules, extra, problems, folder)
    return Corpus(rules, folder, extra, problems)


def _own() -> tuple[Path, dict[str, Any]]:
    """Return the folder of the compiled corpus, and its index.

    A wheel holds it. A checkout makes it where a source is newer, beside Python's own caches; where that cannot be
    written, in a folder for this process alone.
    """
    if (HERE / "compiled").is_dir():
        return _read(HERE / "compiled")
    folder = HERE / "__pycache__" / "rules"
    stamp = _stamp()
    try:
        if (folder / "stamp").read_text() == stamp:
            return _read(folder)
    except (OSError, ValueError):
        pass
    from .compiler import compile_corpus

    try:
        compile_corpus(HERE, folder, strict=False)
        (folder / "stamp").write_text(stamp)
    except OSError:
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="vllm-triage-"))
        compile_corpus(HERE, folder, strict=False)
    return _read(folder)


def _read(folder: Path) -> tuple[Path, dict[str, Any]]:
    return folder, json.loads((folder / "index.json").read_bytes())


def _stamp() -> str:
    # Size and time of every source, as Python itself judges its own caches.
    parts = [str(FORMAT)]
    for folder in (HERE / "buckets", HERE):
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if entry.name.endswith((".toml", ".py")):
                    stat = entry.stat()
                    parts.append(f"{entry.name}:{stat.st_size}:{stat.st_mtime_ns}")
    return ";".join(parts)


def _user_files(folders: Iterable[str | os.PathLike[str]]) -> list[Path]:
    return [path for folder in folders for path in sorted(Path(folder).glob("*.toml"))]


def _add_user_file(path: Path, rules: list[RuleRow], extra: dict[str, dict[str, Any]], problems: list[str], folder: Path | None) -> None:
    from .check import check_bucket
    from .compiler import index_rules, read_bucket, texts
    from .schema import CorpusError

    try:
        bucket = read_bucket(path)
        complaints = [text for text in check_bucket(bucket, path.name) if "confusers" not in text and "needs at least one fix" not in text]
        if complaints:
            raise CorpusError("; ".join(complaints[:3]))
        rows = [RuleRow(row) for row in index_rules(bucket)]
    except (CorpusError, OSError) as error:
        problems.append(str(error) if path.name in str(error) else f"{path.name}: {error}")
        return
    known = {rule.id for rule in rules}
    twice = [row.id for row in rows if row.id in known]
    if twice:
        problems.append(f"{path.name}: rule {twice[0]} stands in the corpus already; choose another id")
        return
    rules += rows
    own = texts(bucket)
    base = Corpus([], folder, extra, [])
    try:
        merged = dict(base.texts(bucket.id))
        merged["causes"] = {**merged["causes"], **own["causes"]}
    except KeyError:
        merged = own
    extra[bucket.id] = merged
