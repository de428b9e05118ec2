"""The model's name where a command needs it: a repository on the hub, or a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .worked import Worked

_REPOSITORY = re.compile(r"[\w][\w.\-]{0,95}/[\w][\w.\-]{0,95}")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./@+\-]{1,300}")


def hub_repository(facts: Mapping[str, object]) -> Worked:
    """Return the served model where its name is one of a hub's (``ORG/NAME``), else the repository that the error names."""
    return _named(facts, _REPOSITORY, "repository's name")


def model_folder(facts: Mapping[str, object]) -> Worked:
    """Return the served model where it is a folder, else the folder that the error names."""
    return _named(facts, _PATH, "folder")


def into_model_folder(facts: Mapping[str, object]) -> Worked:
    """Return ``--local-dir`` with the model's folder; nothing where the model is served from the hub's cache."""
    folder = model_folder(facts)
    return Worked(f" --local-dir {folder.value}", "") if folder else folder


def _named(facts: Mapping[str, object], shape: re.Pattern[str], what: str) -> Worked:
    names = [str(facts[key]) for key in ("model", "repo") if facts.get(key)]
    if not names:
        return Worked("", "the log names no model")
    fitting = next((name for name in names if shape.fullmatch(name)), "")
    return Worked(fitting, "" if fitting else f"{names[0]!r} is no {what}")
