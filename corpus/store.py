# pathlib takes longer to import than the corpus to load:
# ruff: noqa: PTH100, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208
"""Loads the corpus: compiled where that is fresh, from TOML otherwise, users' own rule folders on top."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .types import Rule

if TYPE_CHECKING:
    from pathlib import Path

try:
    # The C half alone: the Python half of pickle takes longer to import than the whole corpus to load.
    from _pickle import loads
except ImportError:  # another Python than CPython
    from pickle import loads

HERE = os.path.dirname(os.path.abspath(__file__))
FORMAT = 10
"""Number of the compiled layout; raise it with every change of it."""


class Corpus:
    """Rules for the scanner, and the texts of the buckets on demand."""

    def __init__(
        self,
        rules: list[Rule],
        folder: str,
        names: list[str],
        extra: dict[str, dict[str, Any]],
        problems: list[str],
        releases: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self._names = frozenset(names)
        self.problems = problems
        """Rule files that were left out, each with the reason."""
        self.releases = releases
        """The vLLM releases that are known, oldest first."""
        self._folder = folder
        self._texts: dict[str, dict[str, Any]] = dict(extra)

    def texts(self, bucket: str) -> dict[str, Any]:
        """Return title, meaning and causes (with fixes) of ``bucket``; KeyError where there is none."""
        if bucket not in self._texts:
            try:
                with open(os.path.join(self._folder, f"{bucket}.json"), "rb") as file:
                    self._texts[bucket] = json.loads(file.read())
            except FileNotFoundError:
                raise KeyError(bucket) from None
        return self._texts[bucket]

    def buckets(self) -> list[str]:
        """Return all bucket ids, sorted."""
        return sorted((self._names | set(self._texts)) - {"facts"})


def load(folders: Iterable[str | os.PathLike[str]] = ()) -> Corpus:
    """Load the corpus, with the rule files of ``folders`` added (a single file may be named, too).

    A broken file in one of ``folders`` is left out and named in ``Corpus.problems``; it never takes the others down.
    """
    folder, index = _own()
    ready = index["expressions"] if index["regex"] == regex_build() else {}
    rules = [Rule(row) for row in index["rules"]]
    problems: list[str] = list(index["problems"])
    extra: dict[str, dict[str, Any]] = {}
    for path in _user_files(folders, problems):
        _add_user_file(path, rules, extra, problems, folder)
    for rule in rules:
        rule.ready = ready
    return Corpus(rules, folder, index["buckets"], extra, problems, index["releases"])


def _own() -> tuple[str, dict[str, Any]]:
    """Return the folder of the compiled corpus, and its index.

    A wheel holds it. A checkout makes it where a source is newer, beside Python's own caches; where that cannot be
    written, in a folder for this process alone.
    """
    shipped = os.path.join(HERE, "compiled")
    if os.path.isdir(shipped):
        return _read(shipped)
    folder = os.path.join(HERE, "__pycache__", "rules")
    mark = os.path.join(folder, "stamp")
    stamp = _stamp()
    try:
        with open(mark, encoding="utf-8") as file:
            if file.read() == stamp:
                return _read(folder)
    except (OSError, ValueError):
        pass
    from pathlib import Path

    from .compiler import compile_corpus

    try:
        compile_corpus(Path(HERE), Path(folder), strict=False)
        Path(mark).write_text(stamp, encoding="utf-8")
    except OSError:
        import tempfile

        folder = tempfile.mkdtemp(prefix="vllm-triage-")
        compile_corpus(Path(HERE), Path(folder), strict=False)
    return _read(folder)


def _read(folder: str) -> tuple[str, dict[str, Any]]:
    with open(os.path.join(folder, "index.pickle"), "rb") as file:
        return folder, loads(file.read())  # noqa: S301 - our own file


def regex_build() -> str:
    """Return what a compiled expression of the ``regex`` module depends on."""
    import regex
    from regex import _regex

    engine: Any = _regex
    return f"{regex.__version__};{engine.MAGIC};{engine.CODE_SIZE};{sys.byteorder}"


def _stamp() -> str:
    # Size and time of every source, as Python itself judges its own caches.
    parts = [str(FORMAT), regex_build()]
    for folder in (os.path.join(HERE, "buckets"), HERE):
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if entry.name.endswith((".toml", ".py")):
                    stat = entry.stat()
                    parts.append(f"{entry.name}:{stat.st_size}:{stat.st_mtime_ns}")
    return ";".join(parts)


def plugin_folders() -> list[str]:
    """Return the rule folders that the environment names and that installed packages offer.

    ``VLLM_TRIAGE_RULES`` holds folders, parted like ``PATH``. A distribution offers the folder of one of its packages
    by an entry point of the group ``vllm_triage.rules``; its name must begin with ``vllm-triage-``: listing names costs
    a quarter of a millisecond, reading the entry points of everything that is installed ten and more.
    """
    folders = [folder for folder in os.environ.get("VLLM_TRIAGE_RULES", "").split(os.pathsep) if folder]
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in sorted(names):
            if name.startswith("vllm_triage_") and name.endswith((".dist-info", ".egg-info")):
                folders += [
                    folder
                    for folder in _offered(os.path.join(place, name, "entry_points.txt"))
                    if folder not in folders
                ]
    return folders


def _offered(entry_points: str) -> list[str]:
    """Return the folders of the packages that an ``entry_points.txt`` lists under our group, importing none of them."""
    try:
        with open(entry_points, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError):
        return []
    from importlib.util import find_spec

    folders: list[str] = []
    group = ""
    for line in lines:
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group == "vllm_triage.rules" and "=" in line:
            package = line.partition("=")[2].partition(":")[0].strip()
            try:
                spec = find_spec(package)
            except (ImportError, ValueError):
                spec = None
            # A package that is gone is named all the same: loading reports it.
            missing = f"{package} (offered by {os.path.basename(os.path.dirname(entry_points))})"
            folders += list((spec and spec.submodule_search_locations) or [missing])
    return folders


def _user_files(folders: Iterable[str | os.PathLike[str]], problems: list[str]) -> list[Path]:
    folders = list(folders)
    if not folders:
        return []
    from pathlib import Path

    files: list[Path] = []
    for path in map(Path, folders):
        if path.is_file():
            files.append(path)
        elif path.is_dir():
            files += sorted(path.glob("*.toml"))
        else:
            problems.append(f"{path}: no such folder")
    return list(dict.fromkeys(files))


def _add_user_file(
    path: Path, rules: list[Rule], extra: dict[str, dict[str, Any]], problems: list[str], folder: str
) -> None:
    from .check import check_bucket
    from .compiler import index_rules, read_bucket, texts
    from .schema import CorpusError

    try:
        bucket = read_bucket(path)
        # What is good style in our own corpus is no reason to leave a user's rules out.
        complaints = [text for text in check_bucket(bucket, path.name) if "needs at least" not in text]
        rows = [] if complaints else [Rule(row) for row in index_rules(bucket)]
    except (CorpusError, OSError) as error:
        complaints = [str(error) if path.name in str(error) else f"{path.name}: {error}"]
    if complaints:
        problems.append("; ".join(complaints[:3]))
        return
    known = {rule.id for rule in rules}
    twice = [row.id for row in rows if row.id in known]
    if twice:
        problems.append(f"{path.name}: rule {twice[0]} stands in the corpus already; choose another id")
        return
    rules += rows
    own = texts(bucket)
    base = Corpus([], folder, [], extra, [])
    try:
        merged = dict(base.texts(bucket.id))
        merged["causes"] = {**merged["causes"], **own["causes"]}
    except KeyError:
        merged = own
    extra[bucket.id] = merged
