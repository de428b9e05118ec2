"""Opens a listed log, wherever it lies, as what the library reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.input.read import LogFile
from . import remote
from .archives import open_member
from .log import Log
from .many import is_url

if TYPE_CHECKING:
    from ...classifier.log_source import Source


@contextmanager
def source_of(log: Log) -> Iterator[Source]:
    """Give the log's content, to be read once.

    Raises:
        InputError: It cannot be opened.
    """
    if log.problem:
        raise InputError(f"{log.name}: {log.problem}")
    if log.data is not None:
        yield log.data
    elif log.archive or is_url(log.name):
        with open_member(log) if log.archive else remote.opened(log.name) as file:
            yield file
    else:
        yield LogFile(log.name)
