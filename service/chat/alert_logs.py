"""The log of an alert as a file below one folder. Nothing is executed or fetched; what is, stands in log_sources/."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from string import Formatter

from ..log_file import below, open_regular
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
    return below(settings.log_root, settings.log_template.format_map(values))


@contextmanager
def opened_tail(path: Path, size: int) -> Iterator[Readable]:
    """Yield the last ``size`` bytes of a regular file, from the start of a line.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > size:
            file.seek(status.st_size - size)
            file.readline(size)
        yield Limited(file, size, strict=False)
