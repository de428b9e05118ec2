"""The log of an alert as a file below one folder. Nothing is executed or fetched; what is, stands in log_sources/."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from string import Formatter

from .log_sources.interface import named
from .platforms.alertmanager import AlertmanagerSettings
from .readers import Limited, Readable


def log_path(labels: Mapping[str, str], settings: AlertmanagerSettings) -> Path | None:
    """Return the file that belongs to an alert, or None where there is none that may be read.

    Values of labels are parts of a file's name and no more; where links lead out of the folder, the file is refused.
    """
    if settings.log_root is None:
        return None
    values = {}
    for _, name, _, _ in Formatter().parse(settings.log_template):
        if name is None:
            continue
        value = labels.get(name, "")
        if named({name: value}, name) is None:
            return None
        values[name] = value
    try:
        root = settings.log_root.resolve(strict=True)
        path = (root / settings.log_template.format_map(values)).resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return path if path.is_relative_to(root) and path != root else None


@contextmanager
def opened_tail(path: Path, size: int) -> Iterator[Readable]:
    """Yield the last ``size`` bytes of a regular file, from the start of a line.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    # Not blocking: a pipe in the place of a log must not hold the request. The last part was resolved and is no link.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("no regular file")
        if status.st_size > size:
            file.seek(status.st_size - size)
            file.readline(size)
        yield Limited(file, size, strict=False)
