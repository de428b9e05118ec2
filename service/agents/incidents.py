"""Where incidents are looked up: in a history of this machine, or with a service that runs elsewhere."""

from __future__ import annotations

import os
import re

from ...classifier.report.model import Report
from ...classifier.report.pack.model import LARGEST
from ...corpus.records import replace
from .desk import Lookup
from .interface import CannotError

KEY = "VLLM_TRIAGE_KEY"
"""Variable with the API key for the service."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def in_database(url: str) -> Lookup:
    """Return a look-up in the history's database, which is opened when first asked for.

    Raises:
        CannotError: The parts that the history needs are not installed.
    """
    try:
        from ..history import History, HistoryError
    except ModuleNotFoundError as error:
        from ...classifier.extras import install

        raise CannotError(f"the history needs {error.name}: {install('service')}") from None

    def find(name: str) -> Report | None:
        try:
            history = History(url, retention_days=0)
        except (HistoryError, ValueError) as error:
            raise CannotError(f"the history cannot be opened: {error}") from None
        try:
            found = history.incident(name) if _ID.fullmatch(name) else None
        except HistoryError as error:
            raise CannotError(f"the history cannot be read: {error}") from None
        finally:
            history.close()
        return found.report if found is not None else None

    return find


def of_service(url: str) -> Lookup:
    """Return a look-up with a running service (``vllm-triage serve``); its key is in the variable ``KEY``."""
    from ..client import Client, ClientError, ProblemError

    def find(name: str) -> Report | None:
        if not _ID.fullmatch(name):
            return None
        try:
            with Client(url, os.environ.get(KEY, "")) as client:
                return replace(client.incident(name).report, kept=client.pack(name, LARGEST))
        except ProblemError as error:
            if error.status == 404:
                return None
            raise CannotError(f"the service answers: {error}") from None
        except ClientError as error:
            raise CannotError(f"the service cannot be reached: {error}") from None

    return find
