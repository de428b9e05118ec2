"""Lists the logs that folders, patterns, archives, files and URLs hold, lazily and in a steady order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

from ...classifier.errors import InputError
from . import remote
from .archives import members
from .log import Log
from .many import INSIDE, is_archive, is_beside, is_url


def find(sources: Sequence[str]) -> Iterator[Log]:
    """Yield every log of the sources; members of archives with their content, where they are small.

    Args:
        sources: Files, folders (walked, hidden files left out), patterns (``**`` for folders), archives (tar, zip), and URLs
            of any file system that fsspec knows (``s3://bucket/logs``).

    Raises:
        InputError: A source is not there, or cannot be listed.
    """
    for source in sources:
        archive, inside, _ = source.partition(INSIDE)
        if inside and is_archive(archive):
            yield from _member(archive, source)
            continue
        listed = remote.listed(source) if is_url(source) else _local(source)
        for log in listed:
            if is_archive(log.name):
                yield from members(log)
            else:
                yield log


def count(sources: Sequence[str]) -> int | None:
    """Return how many logs there are, where that is cheap to tell: not of URLs and archives."""
    total = 0
    for source in sources:
        if is_url(source) or INSIDE in source:
            return None
        for path in _paths(source):
            if is_archive(path):
                return None
            total += 1
    return total


def _member(archive: str, name: str) -> Iterator[Log]:
    listed = remote.listed(archive) if is_url(archive) else _local(archive)
    for log in members(next(iter(listed))):
        if log.name == name or log.problem:
            yield log
            return
    raise InputError(f"{name}: the archive has no such file")


def _local(source: str) -> Iterator[Log]:
    for path in _paths(source):
        yield local_log(path)


def local_log(path: str) -> Log:
    """Return a file of this machine as a log."""
    try:
        told = os.stat(path)  # noqa: PTH116
    except OSError as error:
        return Log(path, problem=f"cannot be opened ({error.strerror})")
    if os.path.isdir(path):  # noqa: PTH112
        return Log(path, problem="cannot be listed")
    return Log(path, told.st_size, str(told.st_mtime_ns), told.st_mtime)


def _paths(source: str) -> Iterator[str]:
    if os.path.isdir(source):  # noqa: PTH112
        yield from _walked(source)
    elif os.path.lexists(source) or not glob.has_magic(source):
        if not os.path.exists(source):  # noqa: PTH110
            raise InputError(f"{source}: no such file or folder")
        yield source
    else:
        found = sorted(glob.iglob(source, recursive=True))  # noqa: PTH207
        if not found:
            raise InputError(f"{source}: nothing has a name like this")
        for path in found:
            if os.path.isdir(path):  # noqa: PTH112
                # With ** the pattern names what lies in it as well.
                if "**" not in source:
                    yield from _walked(path)
            else:
                yield path


def _walked(folder: str) -> Iterator[str]:
    closed: list[str] = []

    def refuse(error: OSError) -> None:
        if error.filename == folder:
            raise InputError(f"{folder}: cannot be listed ({error.strerror})")
        closed.append(error.filename)

    for place, folders, files in os.walk(folder, onerror=refuse):
        # A subfolder that may not be read is reported, like a file that cannot be opened; the others are read.
        while closed:
            yield closed.pop()
        folders[:] = sorted(name for name in folders if not is_beside(name))
        for name in sorted(name for name in files if not is_beside(name)):
            path = os.path.join(place, name)  # noqa: PTH118
            if os.path.isfile(path):  # noqa: PTH113 - no pipes, no devices
                yield path
    yield from closed
