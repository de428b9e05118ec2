"""Gets the Python files of a release, and nothing else of it, into one small archive.

A source distribution is read as a stream: nothing of it is written but the files that are kept. Of a wheel, which is
half a gigabyte of compiled kernels, only the parts that hold Python files are asked for.
"""

from __future__ import annotations

import io
import os
import tarfile
import time
import urllib.error
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .index import PROJECT, Files, open_url

CACHE = Path.home() / ".cache" / "vllm-triage" / "releases"
BLOCK = 1 << 20
"""Bytes that are read at a time."""
TRIES = 4
"""For one release: package indexes are away now and then."""
PAUSE = 2.0
"""Seconds before the first new try; each further one waits that much longer again."""


class FetchError(Exception):
    """A release could not be downloaded; run the command again, what is there is kept."""


def fetch(files: Files, cache: Path) -> Path:
    """Return the archive of the release's Python files, downloaded where the cache does not have it."""
    target = cache / f"{PROJECT}-{files.version}.zip"
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    for attempt in range(1, TRIES + 1):
        try:
            _write(part, _members(files))
            break
        except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
            part.unlink(missing_ok=True)
            if attempt == TRIES:
                raise FetchError(f"{files.version}: {error}") from error
            time.sleep(PAUSE**attempt)
    # Whole or not at all: an interrupted run leaves no archive that looks finished.
    part.replace(target)
    return target


def _members(files: Files) -> Iterator[tuple[str, bytes]]:
    if files.sdist:
        return sdist_members(files.sdist)
    if not files.wheels:
        raise FetchError(f"{files.version}: the index offers neither source nor wheel")
    # All platforms carry the same Python files.
    return wheel_members(min(files.wheels))


def _write(target: Path, members: Iterator[tuple[str, bytes]]) -> None:
    count = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            # A fixed date: the same release always gives the same archive.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            count += 1
    if not count:
        target.unlink()
        raise FetchError(f"{target.stem}: no Python files in what the index offers")


def sdist_members(address: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the package's Python files in a source distribution."""
    with open_url(address) as answer, tarfile.open(fileobj=answer, mode="r|gz", bufsize=BLOCK) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            content = archive.extractfile(member) if member.isfile() and _wanted(name) else None
            if content is not None:
                yield name, content.read()


def wheel_members(address: str, wanted: Callable[[str], bool] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of a wheel's files without downloading the rest of it: of vLLM's Python files, or those ``wanted``."""
    wanted = wanted or _wanted
    with zipfile.ZipFile(io.BufferedReader(_Remote(address), BLOCK)) as archive:
        # In the order in which they stand in the file, so that one block serves many.
        for member in sorted(archive.infolist(), key=lambda info: info.header_offset):
            if wanted(member.filename):
                yield member.filename, archive.read(member)


def _wanted(name: str) -> bool:
    return name.startswith(f"{PROJECT}/") and name.endswith(".py")


class _Remote(io.RawIOBase):
    """A file on a server that answers requests for parts (HTTP ranges)."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._place = 0
        with open_url(address, {"Range": "bytes=0-0"}) as answer:
            told = str(getattr(answer, "headers", {}).get("Content-Range") or "")
        if "/" not in told:
            raise urllib.error.URLError(
                "the server sends wheels only whole; this needs one that answers range requests"
            )
        self._size = int(told.rpartition("/")[2])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        last = min(self._place + len(buffer), self._size) - 1
        if last < self._place:
            return 0
        with open_url(self._address, {"Range": f"bytes={self._place}-{last}"}) as answer:
            block = answer.read()
        buffer[: len(block)] = block
        self._place += len(block)
        return len(block)
