"""What workers have finished: one file for each chunk of logs, written by the worker that read it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from ..log import Chunk
from ..row import COLUMNS, Row
from .folder import Folder
from .formats import Data, Format
from .layout import PENDING


def name_of(chunk: Chunk, form: Format) -> str:
    """Return the file of a chunk: a worker that is tried again writes over what its forerunner wrote."""
    told = "\n".join(log.id for log in chunk)
    return f"{PENDING}/{hashlib.blake2b(told.encode(), digest_size=16).hexdigest()}{form.suffix}"


def keep(folder: Folder, form: Format, chunk: Chunk, rows: Iterable[Row]) -> str:
    """Write the rows of a chunk, all or none; return the file's name."""
    name = name_of(chunk, form)
    folder.write(name, form.encode(plain(row) for row in rows))
    return name


def plain(row: Row) -> Data:
    """Return a row as plain values."""
    # asdict of the whole row would copy each of its texts: ten times the time.
    values = ((name, getattr(row, name)) for name in COLUMNS)
    return {name: [asdict(own) for own in value] if isinstance(value, tuple) else value for name, value in values}


def pending(folder: Folder, form: Format) -> Sequence[str]:
    """Return the files that wait to be published."""
    return [name for name in folder.names(PENDING) if name.endswith(form.suffix)]
