"""What a repair changed, as a sentence; and what a log's failure has from it."""

from __future__ import annotations

from .error import ATTRIBUTE, GIVEN, IMPORT, LACKING, NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .match import Match

TRACKER = "vllm-project/vllm"


def number_of(match: Match) -> str:
    """Return the pull request as people write it."""
    return f"{TRACKER}#{match.repair.number}"


def sentence(match: Match, kind: str) -> str:
    """Return what a repair changed about what failed: "vllm-project/vllm#1, in 0.10.1, catches KeyError around …".

    Args:
        match: The repair.
        kind: Class of the exception.
    """
    where = f", in {match.repair.release}," if match.repair.release else " (in no release yet)"
    return f"{number_of(match)}{where} {changed(match, kind)}."


def changed(match: Match, kind: str) -> str:  # noqa: C901, PLR0911 - one for each kind of change
    """Return what a repair changed, as the end of a sentence.

    Args:
        match: The repair.
        kind: Class of the exception.
    """
    from ...corpus.repairs import ARGUMENT, ERROR, KEY, LINE, MESSAGE, TITLE
    from ...corpus.repairs import NAME as NAMED

    error, found, place = match.wrong, match.found, match.place
    if found.kind == MESSAGE:
        return "takes out the check that refuses this"
    if found.kind == TITLE:
        return f"mends this {kind} of {place}"
    if found.kind == ERROR:
        return "was made for this error: its own text quotes it"
    if found.kind == ARGUMENT:
        return f"makes {error.owner} {'take' if found.how == '+' else 'do without'} {error.name}"
    if found.kind == NAMED:
        owner = next(iter(found.lost), "")
        return f"imports {error.name} there" if error.way == NAME else f"gives {error.owner or owner} its {error.name}"
    if found.kind == KEY:
        return f"makes {next(iter(found.lost), 'the file')} know {error.name!r}"
    if found.kind != LINE or error.way == IMPORT:
        return "no longer imports it where the module is loaded"
    if found.how == "t":
        return f"catches {kind} around the failing line of {place}"
    if found.how == "g":
        return f"puts a test before the failing line of {place}{_of(found.gained)}"
    if found.how == "s":
        return f"sets {' and '.join(sorted(found.gained)[:2])} otherwise before the failing line of {place}"
    if error.name and error.name in found.lost and error.way in (ATTRIBUTE, GIVEN, NAME):
        return f"no longer uses {error.name} on the line of {place} that failed"
    if error.way == LACKING:
        return f"gives {error.name} in the failing call of {place}"
    return f"rewrites the failing line of {place}{_of(found.gained)}"


def _of(names: frozenset[str]) -> str:
    own = sorted((name for name in names if "_" in name), key=lambda name: (-len(name), name))[:2]
    return f" (about {' and '.join(own)})" if own else ""
