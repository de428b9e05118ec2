"""A folder of reports: on this machine, or behind a URL of fsspec's. A file is there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any, Protocol

from .. import remote
from ..many import is_url


class Folder(Protocol):
    """Files by their names relative to the folder, ``/`` between their parts."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, also over one that is there."""

    def read(self, name: str) -> bytes:
        """Return a file's content."""

    def names(self, below: str = "") -> list[str]:
        """Return the names of all files below a sub-folder, sorted."""

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""


def folder_at(place: str) -> Folder:
    """Return the folder at a path or URL; it need not be there yet.

    Raises:
        InputError: Its file system is not known.
    """
    return Remote(place) if is_url(place) else Local(place)


class Local:
    """A folder of this machine."""

    def __init__(self, place: str) -> None:
        self._place = Path(place)

    def write(self, name: str, data: bytes) -> None:
        """Write a file beside its place, have it on the disk, and move it there."""
        path = self._place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return (self._place / name).read_bytes()

    def names(self, below: str = "") -> list[str]:
        """Return the names of all files; what a killed process left half written begins with a dot and is left out."""
        found = (path for path in (self._place / below).rglob("*") if path.is_file() and not path.name.startswith("."))
        return sorted(path.relative_to(self._place).as_posix() for path in found)

    def delete(self, name: str) -> None:
        """Delete a file."""
        (self._place / name).unlink(missing_ok=True)


class Remote:
    """A folder behind a URL: object stores write a file as a whole."""

    def __init__(self, place: str) -> None:
        self._system: Any
        self._system, path = remote.file_system(place)
        self._place = path.rstrip("/")
        # What others write in the meantime counts.
        self._system.invalidate_cache()

    def write(self, name: str, data: bytes) -> None:
        """Write a file."""
        path = self._path(name)
        self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(path, data)

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return bytes(self._system.cat_file(self._path(name)))

    def names(self, below: str = "") -> list[str]:
        """Return the names of all files."""
        self._system.invalidate_cache()
        found = self._system.find(self._path(below))
        return sorted(str(path).removeprefix(f"{self._place}/") for path in found)

    def delete(self, name: str) -> None:
        """Delete a file."""
        path = self._path(name)
        if self._system.exists(path):
            self._system.rm_file(path)

    def _path(self, name: str) -> str:
        return f"{self._place}/{name}" if name else self._place
