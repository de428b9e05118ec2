"""A ``logging.Handler`` that can say what went wrong."""

from __future__ import annotations

import logging
import time
import traceback
from typing import TYPE_CHECKING

from .kept import Kept

if TYPE_CHECKING:
    from ..question import Question
    from ..report.model import Report

SHAPE = "%(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s"
"""As vLLM's own logger writes a line."""


class TriageHandler(logging.Handler):
    """Keeps the lines that are logged, the first and the last of them, for a report.

    Args:
        level: As for every handler.
        kept: Where the lines go besides; for whoever gathers them from several places.

    Example:
        >>> handler = TriageHandler()
        >>> logging.getLogger("vllm").addHandler(handler)
    """

    def __init__(self, level: int = logging.NOTSET, kept: Kept | None = None) -> None:
        super().__init__(level)
        self._kept = kept or Kept()
        self.setFormatter(logging.Formatter(SHAPE, "%m-%d %H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        try:
            self._kept.add((self.format(record) + "\n").encode("utf-8", "replace"))
        except Exception:  # noqa: BLE001 - as every handler does: the program is not to fail because of its log
            self.handleError(record)

    def report(self, error: BaseException | None = None, question: Question | None = None) -> Report:
        """Return what is wrong, by the lines so far.

        Args:
            error: An exception that was raised after them.
            question: What is asked besides.

        Raises:
            InputError: Nothing was logged, and there is no exception.
        """
        from ..api import shared

        log = self._kept.log()
        if error is not None:
            log += traceback_of(error)
        return shared().report(log, question)


def traceback_of(error: BaseException) -> bytes:
    """Return an exception as Python would print it at the end of the program."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    text = "".join(traceback.format_exception(error))
    return f"ERROR {stamp} [vllm_triage] raised here:\n{text}".encode("utf-8", "replace")
