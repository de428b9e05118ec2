"""A fix applied to a start command: actions become the options, variables and words that a command is made of."""

from __future__ import annotations

from collections.abc import Sequence

from ...corpus.actions import DropOption, DropVariable, DropWords, Serve, SetOption, SetVariable
from .parts import Part, long_name
from .start import Start
from .words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..fix import Fix


def applied(start: Start, fix: Fix) -> Start | None:
    """Return the command with a fix applied; None where the fix cannot be pasted, or changes nothing."""
    made = _applied(start, fix) if not fix.destructive else None
    return made if made is not None and _said(made) != _said(start) else None


def _applied(start: Start, fix: Fix) -> Start | None:
    settings = (SetOption, DropOption, DropVariable, DropWords, SetVariable, Serve)
    if not all(isinstance(each, settings) for each in fix.actions):
        return None
    takes = any(isinstance(each, (DropOption, DropVariable, DropWords)) for each in fix.actions)
    sets = bool(fix.options or fix.variables)
    dropped = {each.name for each in fix.dropped}
    there = {part.name for part in start.arguments()}
    if (
        (sets and not fix.exact)
        or (not takes and (not sets or fix.kind not in ("flag", "env")))
        # What is to be left out may stand in a file.
        or (dropped and "--config" in there and not there.intersection(dropped))
    ):
        return None
    # What is taken out goes first: what is set in its place may have the same name.
    for action in fix.actions:
        if isinstance(action, DropWords):
            start = start.without_words(list(action.words))
        elif isinstance(action, DropOption):
            start = start.without_option(action.name)
        elif isinstance(action, DropVariable):
            start = start.without_variable(action.name)
    for action in fix.actions:
        if isinstance(action, SetVariable):
            start = start.with_variable(action.name, Word(action.value))
        elif isinstance(action, SetOption):
            start = start.with_option(part_of(action))
    return start


def best(start: Start, fixes: Sequence[Fix]) -> tuple[Start, Fix] | None:
    """Return the command with the first fix applied; None where that cannot be pasted.

    A later fix is not taken in its place: who pastes the command expects what the answer advises first.
    """
    made = applied(start, fixes[0]) if fixes else None
    return (made, fixes[0]) if made is not None else None


def part_of(option: SetOption) -> Part:
    """Return an option as a part of a command."""
    values = [Word(value) for value in option.values]
    spelled = f"--no-{option.name[2:]}" if option.negative else option.name
    name, _ = long_name(option.name)
    if option.joined:
        return Part(name, [Word(f"{spelled}={option.value}")], values, negative=option.negative, joined=True)
    return Part(name, [Word(spelled), *values], values, negative=option.negative)


def option_of(part: Part) -> SetOption:
    """Return a part of a command as the action that gives it."""
    return SetOption(part.name, tuple(value.value for value in part.values), part.negative, part.joined)


def _said(start: Start) -> list[str]:
    variables = [f"{name}={value.value}" for name, value in start.variables()]
    return variables + [word.value for word in start.words()]
