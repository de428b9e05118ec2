"""Command lines that need no argument parser: files, an output format, switches.

``argparse`` takes as long to import and to fill as a tenth of a first answer. What is not plain is left to it, and so is all that
is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

DEFAULTS: dict[str, object] = {
    "files": [], "format": "text", "verbose": False, "explain": False, "join": False, "only": [], "ignore": [],
    "min_confidence": 0.0, "rules": [], "engine": "auto", "model": "", "command": "", "vllm_version": "", "follow": False,
    "tee": False, "quiet": False, "no_keep": False, "patience": [], "form": "shell", "only_command": False, "jobs": 0, "exit_zero": False,
    "color": "auto", "budget": 14_000, "no_candidates": False, "lines": "", "find": "", "process": "", "debug": False, "version": False,
}  # fmt: skip
"""What the parser of the main command returns for no words at all; a test compares the two."""
SWITCHES = {
    "-v": "verbose", "--verbose": "verbose", "--explain": "explain", "--join": "join", "--follow": "follow", "--tee": "tee",
    "--quiet": "quiet", "--no-keep": "no_keep", "--exit-zero": "exit_zero", "--debug": "debug", "-V": "version",
    "--version": "version", "--only-command": "only_command", "--no-candidates": "no_candidates",
}  # fmt: skip


class Plain:
    """The options, as ``argparse.Namespace`` has them."""

    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update(values)


def plain(words: Sequence[str]) -> Namespace | None:
    """Return the options that ``words`` say; None where they are for the argument parser."""
    values = {name: value.copy() if isinstance(value, list) else value for name, value in DEFAULTS.items()}
    files: list[str] = []
    left = iter(words)
    before = ""
    for word in left:
        if word in SWITCHES:
            values[SWITCHES[word]] = True
        elif word in ("-f", "--format"):
            from ..render.interface import names

            values["format"] = next(left, "")
            if values["format"] not in names():
                return None
        elif not word or (word.startswith("-") and word != "-"):
            return None
        elif files and before != "file":
            # argparse takes files that stand apart for a mistake.
            return None
        else:
            files.append(word)
            before = "file"
            continue
        before = "option"
    values["files"] = files
    return Plain(values)  # type: ignore[return-value] # it has the same attributes
