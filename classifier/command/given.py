"""The start command that a user gives beside the log: known before the advice is made, so that it can be held against it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...corpus import options
from .parts import Part
from .source import read_text

if TYPE_CHECKING:
    from ..facts.types import Facts, FactValue
    from ..incidents.types import Incident
    from .start import Start

NO_START = "--command was left out: it starts no vLLM. Give a `vllm serve` or `docker run` command, or a manifest."


def know_command(incidents: Iterable[Incident], command: str) -> str:
    """Enter a start command into the facts of all starts of a log; return the note for the user where it is none.

    What vLLM itself lists of the arguments stays: it is what arrived.
    """
    start = read_text(command)
    if start is None:
        return NO_START
    for incident in incidents:
        facts = incident.facts
        release = str(facts.get("vllm_version") or options.releases()[-1])
        told = facts.get("arguments")
        facts["command"] = command
        joined = _joined(given_arguments(start, release), told if isinstance(told, dict) else {})
        if (named := start.model()) and ("model" in joined or "model_tag" in joined):
            # Who says what was run is believed: the log may hold another server's arguments.
            joined = {**{name: value for name, value in joined.items() if name != "model_tag"}, "model": named.value}
        facts["arguments"] = joined
        if model := start.model():
            facts.setdefault("model", model.value)
    return ""


def _joined(given: Facts, told: Facts) -> Facts:
    """Return what was given, with vLLM's own values but for objects of which it prints their Python form."""
    objects = {
        name for name, value in given.items() if isinstance(value, dict) and not isinstance(told.get(name), dict)
    }
    return {**given, **{name: value for name, value in told.items() if name not in objects}}


def given_arguments(start: Start, release: str) -> Facts:
    """Return the arguments of a start command by name with underscores, typed as the release's parser types them."""
    found: Facts = {}
    for part in start.others():
        name = part.name.lstrip("-").replace("-", "_")
        if "." not in name:
            found[name] = _value(part, release)
    return found


def _value(part: Part, release: str) -> FactValue:
    if not part.values:
        return not part.negative
    texts = [word.value for word in part.values]
    if len(texts) > 1:
        return list(texts)
    about = options.describe(part.name, release)
    text, kind = texts[0], about.kind if about is not None else ""
    try:
        if kind == "json" or text.startswith(("{", "[")):
            value: FactValue = json.loads(text)
            return value
        if kind in ("int", "float") or not kind:
            return float(text) if "." in text else int(text)
    except (ValueError, RecursionError):
        pass  # that is what the error is about
    return text
