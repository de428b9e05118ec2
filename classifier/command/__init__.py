"""The start command with a fix applied: as it was run, for containers, for Python, and as a difference.

The forms are made when they are asked for; most answers need only the line to paste.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..fix import Fix
    from .start import Start

FORMS = ("shell", "docker", "compose", "kubernetes", "helm", "python", "diff")
"""The forms that a corrected command has."""


def corrected_command(facts: Mapping[str, object], fixes: Sequence[Fix]) -> str:
    """Return the start command that the log tells of with the first fix applied; "" where that cannot be done.

    Args:
        facts: Facts of the log: ``command`` (a command line seen), ``arguments`` (as vLLM lists those that were given),
            or what the engine's configuration line says.
        fixes: The fixes in their order; the first must set or leave out flags or variables whose values are all known.
    """
    if not fixes or not (fixes[0].exact or fixes[0].dropped):
        return ""
    from .change import best
    from .shell import shell
    from .source import start_of

    start, _ = start_of(facts)
    found = best(start, fixes) if start is not None else None
    return shell(found[0].safe(), facts) if found else ""


def corrected(command: str, facts: Mapping[str, object], fixes: Sequence[Fix]) -> dict[str, str | int] | None:
    """Return the corrected command in all forms; None where there is none.

    ``fix`` is the rank of the fix applied, ``basis`` what the command was made of: ``command``, ``arguments`` or
    ``configuration``.

    Args:
        command: What ``corrected_command`` gave.
        facts: Facts of the log, as a report has them.
        fixes: As there.
    """
    if not command:
        return None
    from .change import best
    from .source import start_of

    start, basis = start_of(facts)
    found = best(start, fixes) if start is not None else None
    if start is None or found is None:
        return None
    made, fix = found
    before, after = start.safe(), made.safe()
    from ..masking.mask import secret_words

    # Words are masked one by one in a start; which of them is a secret may show only in what stands before it.
    hidden = secret_words(command)
    forms = {}
    for form in FORMS:
        text = _form(form, before, after, facts)
        for word in hidden:
            text = text.replace(word, "<secret>")
        forms[form] = text
    return {**forms, "fix": fix.rank, "basis": basis}


def _form(form: str, before: Start, after: Start, facts: Mapping[str, object]) -> str:
    if form == "diff":
        from .shell import difference

        return difference(before, after, facts)
    if form == "shell":
        from .shell import shell

        return shell(after, facts)
    if form == "python":
        from .python import python

        return python(after)
    from . import containers

    return str(getattr(containers, form)(after, facts))
