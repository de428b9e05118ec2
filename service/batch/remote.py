"""Logs behind URLs: whatever file system fsspec knows (S3, GCS, Azure, HDFS, HTTP, memory)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any, cast

from ...classifier.errors import InputError
from ...classifier.extras import install
from .log import Log
from .many import MAGIC, is_beside


def listed(source: str) -> Iterator[Log]:
    """Yield the logs below a URL, or that a pattern names.

    Raises:
        InputError: There is none, or it cannot be listed.
    """
    system, path = file_system(source)
    try:
        if any(sign in path for sign in MAGIC):
            found = cast("dict[str, Any]", system.glob(path, detail=True))
        else:
            # A file is found as itself.
            found = cast("dict[str, Any]", system.find(path, detail=True))
    except Exception as error:  # noqa: BLE001 - every file system has errors of its own
        raise InputError(f"{source}: cannot be listed ({type(error).__name__}: {error})") from None
    if not found:
        raise InputError(f"{source}: nothing there")
    for name in sorted(found):
        told = found[name]
        if told.get("type") == "file" and not is_beside(name.rpartition("/")[2]):
            changed = _changed(told)
            yield Log(system.unstrip_protocol(name), int(told.get("size") or 0), _version(told, changed), changed)


def opened(name: str) -> IO[bytes]:
    """Return a file behind a URL, open for reading.

    Raises:
        InputError: It cannot be opened.
    """
    system, path = file_system(name)
    try:
        return cast("IO[bytes]", system.open(path, "rb"))
    except Exception as error:  # noqa: BLE001
        raise InputError(f"{name}: cannot be opened ({type(error).__name__}: {error})") from None


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        InputError: fsspec is not installed, does not know the protocol, or lacks its package.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(f"{url}: URLs need fsspec: {install('batch')}") from None
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url}: {error}") from None
    return system, str(path)


def _version(told: Mapping[str, Any], changed: float) -> str:
    tag = told.get("ETag") or told.get("etag") or told.get("content_md5") or told.get("md5Hash")
    return str(tag).strip('"') if tag else repr(changed)


def _changed(told: Mapping[str, Any]) -> float:
    for key in ("LastModified", "last_modified", "mtime", "modified", "updated", "created"):
        value = told.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except ValueError:
                continue
    return 0.0
