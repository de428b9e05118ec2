"""The argument parser of all commands: help that fits the terminal, and a short word about what was probably meant."""

from __future__ import annotations

import argparse
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# argparse looks for translations of its own words in the system's folders, at every start; ours would stay English.
argparse._ = str  # type: ignore[attr-defined]

WIDTH = 100
"""Columns of help at most."""
ALIASES = {
    "k8s": "kubernetes", "kube": "kubernetes", "md": "markdown", "gha": "github", "txt": "text", "ndjson": "jsonl",
    "bash": "shell", "sh": "shell", "docker-compose": "compose",
}  # fmt: skip
"""What people call some choices."""
_HANGING = r"^ +\S+(?: \S+)*? {2,}(?=\S)|^ *"
_COLORED = ((r"(?m)^[a-z][a-z ]*(?: \(-h after each\))?:(?=\s)", "1"), (r"(?<=[\s\[,])--?[A-Za-z][\w-]*", "36"))


class Parser(argparse.ArgumentParser):
    """As ``argparse`` has it, in the manner of this command."""

    def __init__(self, **told: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, **told})
        # Python 3.14 has colours of its own.
        self.color = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Read the words, those for choices by their aliases too."""
        for action in self._actions:
            if action.choices and action.type is None:
                known = frozenset(map(str, action.choices))
                action.type = lambda word, known=known: word if word in known else _alias(word, known)
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = near(str(value), choices) or f"it is one of {', '.join(choices)}"
            raise argparse.ArgumentError(action, f"{str(value)!r} is not one of its values; {hint}")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what was probably meant, and end with 2."""
        from .messages import EXIT_USAGE, warn

        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            word = unknown.split()[0].partition("=")[0]
            hint = near(word, [option for action in self._actions for option in action.option_strings])
            kind = "option" if word.startswith("-") else "argument"
            message = f"there is no {kind} {word}" + (f"; {hint}" if hint else "")
        warn(message)
        print(f"{self.prog} -h lists what it takes", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def format_help(self) -> str:
        """Return the help, coloured for a terminal."""
        from ..render.colors import use_color

        text = super().format_help()
        for pattern, code in _COLORED if use_color("auto") else ():
            text = re.sub(pattern, f"\x1b[{code}m\\g<0>\x1b[0m", text)
        return text


def near(word: str, known: list[str]) -> str:
    """Return a question for the known word that is all but this one; "" where none is."""
    from difflib import get_close_matches

    found = get_close_matches(word, known, 1, 0.6)
    return f"did you mean {found[0]}?" if found else ""


def columns() -> int:
    """Return the columns that text may take: the terminal's, at most ``WIDTH``."""
    told = os.environ.get("COLUMNS", "")
    if told.isdigit() and int(told):
        return min(int(told), WIDTH)
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH, WIDTH)
    except (AttributeError, OSError, ValueError):
        return WIDTH


def wrapped(line: str, width: int) -> str:
    """Return a line in rows that hang below its second column, where it has two."""
    import textwrap

    found = re.match(_HANGING, line)
    indent = " " * min(len(found[0]) if found else 0, width // 2)
    own = line[: len(line) - len(line.lstrip())]
    # A blank of its own keeps the columns of the first row apart.
    rows = textwrap.wrap(
        line.strip().replace("  ", " \xa0"), width, initial_indent=own, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(rows).replace("\xa0", " ")


def _alias(word: str, known: frozenset[str]) -> str:
    alias = ALIASES.get(word.lower(), word.lower())
    return alias if alias in known else word


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(wrapped(indent + line, width) for line in text.split("\n"))
