"""The service's own log: one JSON object a line, or text. It never holds text of a log, a query or a key."""

from __future__ import annotations

import json
import logging
import logging.config
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .settings import Settings

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
"""What every record has; the rest are fields that we gave."""


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        return json.dumps({**_head(record), **_fields(record)}, ensure_ascii=False, default=str)


class Text(logging.Formatter):
    """One line, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text."""
        head = _head(record)
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items() if value not in ("", None))
        return f"{head['time']} {head['level']:<7} {head['message']} {fields}".rstrip()


def _head(record: logging.LogRecord) -> dict[str, Any]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
    if record.exc_info and record.exc_info[0] is not None:
        # The kind alone: messages of exceptions quote what they choked on.
        head["error"] = record.exc_info[0].__name__
    return head


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN}


class NoUpgrades(logging.Filter):
    """Leaves out uvicorn's advice to install a WebSocket library: there are none here, and the request is answered."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is anything else."""
        return not str(record.msg).startswith(("Unsupported upgrade request", "No supported WebSocket library"))


def log_config(settings: Settings) -> dict[str, Any]:
    """Return the configuration for uvicorn and for us."""
    level = settings.log_level.upper()
    form = JsonLines if settings.log_format == "json" else Text
    quiet = {"handlers": ["out"], "level": "WARNING" if level == "INFO" else level, "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{form.__module__}.{form.__qualname__}"}},
        "filters": {"no-upgrades": {"()": f"{NoUpgrades.__module__}.{NoUpgrades.__qualname__}"}},
        "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": {
            "vllm_triage": {"handlers": ["out"], "level": level, "propagate": False},
            "uvicorn": {"handlers": ["out"], "level": level, "propagate": False},
            "uvicorn.error": {"filters": ["no-upgrades"]},
            # Ours says the same with the request's id, and without its query.
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
            # It quotes what it does not understand.
            "python_multipart": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "asyncio": quiet,
            "sqlalchemy": quiet,
            "alembic": quiet,
        },
    }
