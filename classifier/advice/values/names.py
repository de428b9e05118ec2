"""The model's name where a command needs it: a repository on the hub, or a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .worked import Worked

_REPOSITORY = re.compile(r"[\w][\w.\-]{0,95}/[\w][\w.\-]{0,95}")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./@+\-]{1,300}")


def hub_repository(facts: Mapping[str, object]) -> Worked:
    """Return the served model where its name is one of a hub's (``ORG/NAME``)."""
    name = str(facts.get("model") or "")
    if not name:
        return Worked("", "the log names no model")
    return Worked(name, "") if _REPOSITORY.fullmatch(name) else Worked("", f"{name!r} is no repository's name")


def model_folder(facts: Mapping[str, object]) -> Worked:
    """Return the served model where it is a folder."""
    name = str(facts.get("model") or "")
    if not name:
        return Worked("", "the log names no model")
    return Worked(name, "") if _PATH.fullmatch(name) else Worked("", f"{name!r} is no folder")
