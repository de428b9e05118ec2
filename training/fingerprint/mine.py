"""Takes up one release after the other: its logging calls, and the files that tracebacks go through."""

from __future__ import annotations

import ast
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ...classifier.facts.fingerprint_index import INDEX
from .pack import pack
from .sites import Site, sites_of
from .spots import is_trunk
from .weave import Weave

FILE = INDEX
_WORDS = (b"log", b"_once(")
"""A file without any of these has no logging call; to parse it would be the most of the work."""


class Miner:
    """Collects what the index holds."""

    def __init__(self) -> None:
        self.releases: list[str] = []
        self._sites: dict[str, list[tuple[int, Site]]] = {}
        self._weaves: dict[str, Weave] = {}
        self._now: dict[str, bytes] = {}
        self._calls: dict[str, list[Site]] = {}

    def add(self, version: str, archive: Path) -> None:
        """Read a release's Python files; releases come oldest first."""
        number = len(self.releases)
        self.releases.append(version)
        with zipfile.ZipFile(archive) as opened:
            files = {name: opened.read(name) for name in opened.namelist() if name.endswith(".py")}
        changed = [path for path in files if self._now.get(path) != files[path]]
        gone = self._now.keys() - files.keys()
        for path in changed:
            self._calls[path] = _calls(files[path])
            if is_trunk(path):
                self._weaves.setdefault(path, Weave()).add(number, _lines(files[path]))
        for path in gone:
            if path in self._weaves:
                self._weaves[path].add(number, [])
        for path in files:
            calls = self._sites.setdefault(path.rpartition("/")[2], []) if self._calls[path] else []
            calls += [(number, site) for site in self._calls[path]]
        self._now = files

    def packed(self) -> bytes:
        """Return the index of all releases taken up so far."""
        return pack(self.releases, self._sites, self._weaves)


def made(archives: Mapping[str, Path]) -> bytes:
    """Return the index of these releases, oldest first."""
    miner = Miner()
    for version, archive in archives.items():
        miner.add(version, archive)
    return miner.packed()


def _calls(content: bytes) -> list[Site]:
    if not any(word in content for word in _WORDS):
        return []
    with warnings.catch_warnings():
        # Other people's invalid escapes are no news.
        warnings.simplefilter("ignore")
        try:
            return sites_of(ast.parse(content))
        except (SyntaxError, ValueError):
            # Templates are shipped as .py.
            return []


def _lines(content: bytes) -> list[str]:
    # Not splitlines: a form feed ends no line for Python.
    return content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
