"""The same start once more, with variables, options or a file for its output: every argument of the user's own is kept."""

from __future__ import annotations

from collections.abc import Mapping

from ...corpus.actions import OWN, Serve, SetOption, written
from ...corpus.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..fix import Fix

_ANY = frozenset({OWN, "MODEL"})
"""What stands for the user's model where a fix does not name it."""
_LONGEST = 1500
"""Characters of a command that people still read."""


def as_started(fix: Fix, facts: Mapping[str, object]) -> Fix:
    """Return a fix that starts the server once more with the whole start that the log tells of; where it tells none, with ``…``.

    Args:
        fix: Of a server that vLLM's own command starts.
        facts: Of the log: ``command``, ``arguments``, ``model``.
    """
    served = next((each for each in fix.actions if isinstance(each, Serve)), None)
    model = served.model.removesuffix(f" {OWN}") if served is not None else ""
    if (
        served is None
        or fix.kind not in ("command", "env")
        or len(fix.actions) - len(fix.options) - len(fix.variables) > 1
    ):
        return fix
    if model not in _ANY | {str(facts.get("model") or OWN)} or not (fix.variables or served.output) or fix.remark:
        return fix
    started = _started(facts)
    if not started:
        own = model if model == OWN else f"{model} {OWN}"
        actions = tuple(replace(each, model=own) if each is served else each for each in fix.actions)
        return replace(fix, actions=actions, whole=False)
    new = replace(served, model=str(facts.get("model") or model), command=started)
    kept = (each for each in fix.actions if not (isinstance(each, SetOption) and f" {written([each])}" in started))
    actions = tuple(new if each is served else each for each in kept)
    return replace(fix, actions=actions, whole=OWN not in started and "<" not in started)


def _started(facts: Mapping[str, object]) -> str:
    """Return the start command on one line, without what its shell does with the output; "" where the log tells none."""
    from .shell import shell
    from .source import start_of

    start, basis = start_of(facts)
    if start is None or basis == "configuration" or start.kind != "shell" or start.inner or start.manifest:
        return ""
    start = start.safe()
    start.after = []
    text = shell(start, facts)
    return "" if "\n" in text or len(text) > _LONGEST else text
