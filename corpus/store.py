# pathlib takes longer to import than the corpus to load:
# ruff: noqa: PTH100, PTH103, PTH104, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208
"""Loads the corpus: compiled where that is fresh, from TOML otherwise, users' own rule folders on top."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from time import time
from zlib import crc32

from .build import FORMAT, RULES, regex_build
from .gc_pause import Paused
from .packed_rules import PackedRules, Rows, opened
from .records import fields_of
from .types import Bucket, Cause, Fix, Rule, Traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from .clues import Clues
    from .compiler import Index
    from .effects import Effects
    from .guards import Guards
    from .messages.fragments import Fragments
    from .messages.matching import Matcher
    from .remedies.find import Remedies

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = 86_400
"""Seconds for which a checkout keeps what older sources made."""


class Corpus:
    """Rules for the scanner, and the words of the buckets on demand.

    Args:
        rules: All rules, in the order in which they are tried.
        folder: The folder of the compiled corpus.
        index: What the compiled corpus says besides.
        extra: Buckets of your own rule files, or with their causes added.
        problems: Rule files that were left out, each with the reason.
        own: What your own rule files added: ids of whole buckets, and of causes as ``bucket/cause``.
    """

    def __init__(
        self,
        rules: list[Rule] | PackedRules,
        folder: str,
        index: Index,
        extra: dict[str, Bucket],
        problems: list[str],
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.rules = rules
        self.problems = problems
        self.own = own
        self.releases = index["releases"]
        """The vLLM releases that are known, oldest first."""
        self._traits = _traits(index)
        self._concluded = index["concluded"]
        self._folder = folder
        self._read: dict[str, Bucket] = dict(extra)
        self._messages: Matcher | None = None
        self._fragments: Fragments | None = None
        self._remedies: Remedies | None = None
        self._guards: tuple[Guards, Effects] | None = None
        self._clues: Clues | None = None

    def bucket(self, name: str) -> Bucket:
        """Return a bucket with its causes, fixes and rules.

        Raises:
            KeyError: There is none of this name.
        """
        found = self._read.get(name)
        if found is None:
            if name not in self._traits:
                raise KeyError(name)
            found = self._read[name] = _read_bucket(self._folder, name, self._traits[name])
            found.rules = self.rules_of(name)
        return found

    def rules_of(self, bucket: str) -> tuple[Rule, ...]:
        """Return the rules of a bucket."""
        if isinstance(self.rules, PackedRules):
            return self.rules.of(bucket)
        return tuple(rule for rule in self.rules if rule.bucket == bucket)

    def buckets(self) -> list[str]:
        """Return all bucket ids, sorted."""
        return sorted({*self._traits, *self._read} - {"facts"})

    def traits(self, name: str) -> Traits:
        """Return what is peculiar to a bucket; what is usual where there is none of this name."""
        return self._read.get(name) or self._traits.get(name) or Traits()

    def concluded_from(self, finding: str) -> tuple[str, str]:
        """Return the bucket and the cause that answer a finding which needs no rule (``findings.FINDINGS``).

        Raises:
            KeyError: No cause does.
        """
        return self._concluded[finding]

    def messages(self) -> Matcher:
        """Return the catalogue's messages that may decide, to be looked for; read when first asked for."""
        if self._messages is None:
            from .messages.index import packed, unpacked
            from .messages.matching import Matcher

            try:
                data = opened(os.path.join(self._folder, "messages.marshal"))
            except FileNotFoundError:
                data = memoryview(packed(()))
            with Paused():
                self._messages = Matcher(*unpacked(data))
        return self._messages

    def fragments(self) -> Fragments:
        """Return what tells a message by a part of it; read when first asked for."""
        if self._fragments is None:
            from .messages.fragments import pack, unpacked

            try:
                with open(os.path.join(self._folder, "fragments.marshal"), "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                data = pack(())
            with Paused():
                self._fragments = unpacked(data)
        return self._fragments

    def remedies(self) -> Remedies:
        """Return what is advised for single messages, to be looked for; read when first asked for."""
        if self._remedies is None:
            from .remedies.find import Remedies

            self._remedies = Remedies(os.path.join(self._folder, "remedies.bin"))
        return self._remedies

    def guards(self) -> Guards:
        """Return what speaks against fixes; read when first asked for."""
        return self._against()[0]

    def effects(self) -> Effects:
        """Return what settings change; read when first asked for."""
        return self._against()[1]

    def _against(self) -> tuple[Guards, Effects]:
        if self._guards is None:
            from .effects import Effects
            from .guards import Guards

            with open(os.path.join(self._folder, "guards.marshal"), "rb") as file:
                rows, effects = marshal.loads(file.read())  # noqa: S302 - our own file
            self._guards = Guards(rows), Effects(effects)
        return self._guards

    def clues(self) -> Clues:
        """Return what errors tell by their words or places, whatever their causes; read when first asked for."""
        if self._clues is None:
            from .clues import Clues

            with open(os.path.join(self._folder, "clues.marshal"), "rb") as file:
                self._clues = Clues(marshal.loads(file.read()))  # noqa: S302 - our own file
        return self._clues

    def causes(self) -> list[str]:
        """Return all causes as ``bucket/cause``, by bucket."""
        return [f"{name}/{cause.id}" for name in self.buckets() for cause in self.bucket(name).causes]


def load(folders: Iterable[str | os.PathLike[str]] = ()) -> Corpus:
    """Load the corpus, with the rule files of ``folders`` added (a single file may be named, too).

    A broken file in one of ``folders`` is left out and named in ``Corpus.problems``; it never takes the others down.
    """
    with Paused():
        folder, index = _own()
    rows = Rows(opened(os.path.join(folder, RULES)), index["ends"])
    packed = PackedRules(rows, index["places"], index["regex"] == regex_build(), folder)
    problems: list[str] = list(index["problems"])
    extra: dict[str, Bucket] = {}
    if files := _user_files(folders, problems):
        rules = [*packed]
        shipped = Corpus(packed, folder, index, {}, [])
        own: set[str] = set()
        for path in files:
            own.update(_add_user_file(path, rules, extra, problems, shipped))
        return Corpus(rules, folder, index, extra, problems, frozenset(own))
    return Corpus(packed, folder, index, extra, problems)


@cache
def shipped_traits() -> Mapping[str, Traits]:
    """Return what is peculiar to each bucket of the corpus, your own rule files left out."""
    return _traits(_own()[1])


def compiled_folder() -> str:
    """Return the folder of the compiled corpus; a checkout makes it where a source is newer."""
    return _own()[0]


def _traits(index: Index) -> dict[str, Traits]:
    make: Callable[..., Traits] = Traits
    return {name: make(**told) for name, told in index["traits"].items()}


def _own() -> tuple[str, Index]:
    """Return the folder of the compiled corpus, and its index.

    A wheel holds it. A checkout makes it where a source has changed, beside Python's own caches; where that cannot be
    written, in a folder for this process alone.
    """
    shipped = os.path.join(HERE, "compiled")
    if os.path.isdir(shipped):
        return _read(shipped)
    # Its name says what it was made from, and it is complete from the moment at which it bears that name.
    folder = os.path.join(HERE, "__pycache__", f"rules-{crc32(_stamp().encode()):08x}")
    return _read(folder if os.path.isdir(folder) else _compiled(folder))


def _compiled(folder: str) -> str:
    """Compile a checkout's corpus into a folder; return where it is. Other processes may do the same at the same time."""
    import shutil
    import tempfile
    from contextlib import suppress
    from pathlib import Path

    from .compiler import compile_corpus

    beside = os.path.dirname(folder)
    try:
        os.makedirs(beside, exist_ok=True)
        made = tempfile.mkdtemp(prefix="making-", dir=beside)
    except OSError:
        made = beside = ""
    made = made or tempfile.mkdtemp(prefix="vllm-triage-")
    compile_corpus(Path(HERE), Path(made), strict=False)
    if not beside:
        return made
    with suppress(OSError):
        os.rename(made, folder)
    # Where that failed another process was first. What older sources made may still be read by whoever runs.
    shutil.rmtree(made, ignore_errors=True)
    old = [entry.path for entry in os.scandir(beside) if entry.is_dir() and entry.stat().st_mtime < time() - KEPT]
    for each in old:
        shutil.rmtree(each, ignore_errors=True)
    return folder


def _read(folder: str) -> tuple[str, Index]:
    with open(os.path.join(folder, "index.marshal"), "rb") as file:
        index: Index = marshal.loads(file.read())  # noqa: S302 - our own file
    return folder, index


def _read_bucket(folder: str, name: str, traits: Traits) -> Bucket:
    """Read the words of a bucket, as ``compiler.rows_of`` stored them, and give it its traits."""
    with open(os.path.join(folder, f"{name}.marshal"), "rb") as file:
        *words, causes = marshal.loads(file.read())  # noqa: S302 - our own file
    make_cause: Callable[..., Cause] = Cause
    make_fix: Callable[..., Fix] = Fix
    bucket = Bucket(*words)
    for trait in fields_of(Traits):
        setattr(bucket, trait.name, getattr(traits, trait.name))
    for *told, finding, also, fixes in causes:
        cause = make_cause(*told, concluded_from=finding, also=also)
        cause.fixes = tuple(make_fix(*fix) for fix in fixes)
        bucket.causes += (cause,)
    return bucket


def _stamp() -> str:
    # Size and time of every source, as Python itself judges its own caches.
    parts = [str(FORMAT), regex_build()]
    for folder in (os.path.join(HERE, "buckets"), os.path.join(HERE, "messages"), os.path.join(HERE, "remedies"), HERE):
        if not os.path.isdir(folder):  # a corpus of rules alone
            continue
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if entry.name.endswith((".toml", ".py", ".tsv")):
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
    path: Path, rules: list[Rule], extra: dict[str, Bucket], problems: list[str], shipped: Corpus
) -> list[str]:
    """Add a rule file; return the ids of what it adds: its causes, and its bucket where the corpus has none of that name."""
    from .check import check_rules
    from .compiler import complete, read_bucket
    from .places import CorpusError

    try:
        bucket = read_bucket(path)
        complaints = check_rules(bucket, path.name)
        needs = [] if complaints else complete(bucket, path.name)
    except (CorpusError, OSError) as error:
        complaints = [str(error) if path.name in str(error) else f"{path.name}: {error}"]
    if not complaints and (taken := next((cause for cause in bucket.causes if cause.concluded_from), None)):
        complaints = [
            f"{path.name}: cause {taken.id}: what is concluded without a rule is answered by the corpus alone"
        ]
    if complaints:
        problems.append("; ".join(complaints[:3]))
        return []
    known = {rule.id for rule in rules}
    if twice := [rule.id for rule in bucket.rules if rule.id in known]:
        problems.append(f"{path.name}: rule {twice[0]} stands in the corpus already; choose another id")
        return []
    for rule, needed in zip(bucket.rules, needs, strict=True):
        rule.prepare(needed, {})
    rules += bucket.rules
    added = [f"{bucket.id}/{cause.id}" for cause in bucket.causes]
    known_bucket = extra.get(bucket.id) or (shipped.bucket(bucket.id) if bucket.id in shipped.buckets() else None)
    if known_bucket is None:
        extra[bucket.id] = bucket
        return [bucket.id, *added]
    causes = {cause.id: cause for cause in (*known_bucket.causes, *bucket.causes)}
    known_bucket.causes = tuple(causes.values())
    known_bucket.rules += bucket.rules
    extra[bucket.id] = known_bucket
    return added
