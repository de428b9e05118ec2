"""What a source of logs is; and how one that does not answer is left alone for a while."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

log = logging.getLogger("vllm_triage.chat")

REST = 30.0
"""Seconds for which a source that has failed is not asked: a flood of alerts does not wait for it one by one."""
VALUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}")
"""What a label may be that names a pod, a namespace, a file."""


class SourceError(Exception):
    """A source does not answer, or refuses; the text is a word for our log."""


class LogSource(Protocol):
    """A place that logs are fetched from."""

    name: str

    def log_of(self, labels: Mapping[str, str], since: datetime | None) -> bytes | None:
        """Return the log that belongs to an alert; None where the alert does not say which, or there is none.

        Args:
            labels: Of the alert. Their values are anybody's.
            since: When the alert began to fire; None where it does not tell.

        Raises:
            SourceError: The source does not answer, or refuses.
        """
        ...


class Sources:
    """Asks sources in their order.

    Args:
        sources: Which.
        clock: For tests.
    """

    def __init__(self, sources: Sequence[LogSource], clock: Callable[[], float] = time.monotonic) -> None:
        self._sources = sources
        self._clock = clock
        self._rests: dict[str, float] = {}

    def log_of(self, labels: Mapping[str, str], since: datetime | None) -> bytes | None:
        """Return the first log that there is.

        Raises:
            SourceError: There is none, and a source could not be asked.
        """
        failed = ""
        for source in self._sources:
            if self._clock() < self._rests.get(source.name, float("-inf")):
                failed = f"{source.name} rests"
                continue
            try:
                if found := source.log_of(labels, since):
                    return found
            except SourceError as error:
                failed = f"{source.name}: {error}"
                log.warning("the log of an alert cannot be fetched from %s: %s", source.name, error)
                self._rests[source.name] = self._clock() + REST
        if failed:
            raise SourceError(failed)
        return None


def named(labels: Mapping[str, str], *names: str) -> list[str] | None:
    """Return the values of labels, or None where one is missing or is no name."""
    values = [labels.get(name, "") for name in names]
    return values if all(VALUE.fullmatch(value) and ".." not in value for value in values) else None
