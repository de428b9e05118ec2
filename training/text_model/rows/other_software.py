"""Logs of other software: written lines with their blanks filled in, as rows and as whole logs."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...examples.row import Row
from .recorded import LabelledLog

COPIES, TRACEBACKS = 3, 16
"""Rows of each written line, and of each Python package."""
CALM_WEIGHT = 0.5
FAIR = ("no_failure",)
"""What is as fair as "unknown" on a log that vLLM did not write."""
_BLANKS = {
    "n": ("3", "17", "42", "128", "901", "2048"),
    "w": ("orders", "harbor", "invoice", "worker", "session", "catalog", "metrics", "profile"),
    "p": ("/srv/app", "/home/anna/project", "/opt/shop/api", "/var/lib/build"),
    "h": ("db.example", "api.internal", "cache-2.example", "git.example"),
}
_FUNCTIONS = ("main", "run", "load", "handle", "process", "fetch", "save", "update", "build", "<module>")
_CALM = ("{w}: started", "{w}: {n} items processed")


class Program(NamedTuple):
    """One program: its failures, what it prints when all is well, and failures that vLLM could have as well."""

    name: str
    lines: tuple[str, ...]
    calm: tuple[str, ...] = ()
    border: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    """Of a Python package: frames above its errors."""

    def failure(self, seed: random.Random, border: bool = False) -> str:
        """Return one of its failures, or of those that vLLM could have as well."""
        text = _filled(seed.choice(self.border if border else self.lines), seed)
        return _traceback(self, text, seed) if self.frames else text


def other_rows(seed: random.Random) -> Iterator[Row]:
    """Yield the rows of logs that vLLM did not write."""
    for program in programs():
        group = group_of(program)
        if program.frames:
            for _ in range(TRACEBACKS):
                yield Row(program.failure(seed), "unknown", group, "other")
            continue
        for line in program.lines:
            for _ in range(COPIES):
                yield Row(_filled(line, seed), "unknown", group, "other")
        for line in program.calm:
            yield Row(_filled(line, seed), "no_failure", group, "other", weight=CALM_WEIGHT)


def other_logs(seed: random.Random, count: int = 12, border: bool = False) -> Iterator[LabelledLog]:
    """Yield whole logs of other software, ``count`` a program: quiet lines, then one or more failures.

    Args:
        seed: Source of chance.
        count: Logs of each program.
        border: Of the failures that vLLM could have as well, instead of the others.
    """
    for program in programs():
        if border and not program.border:
            continue
        for number in range(count):
            calm = program.calm or _CALM
            lines = [_filled(seed.choice(calm), seed) for _ in range(seed.randint(0, 40))]
            for _ in range(seed.choice((1, 1, 1, 2, 3))):
                lines.insert(seed.randint(len(lines) // 2, len(lines)), program.failure(seed, border))
            name = f"{program.name}-{number}"
            yield LabelledLog("\n".join(lines) + "\n", "unknown", group_of(program), also=FAIR, id=name)


def group_of(program: Program) -> str:
    """Return what programs share that are validated together: those with like words."""
    return f"other/{_families().get(program.name, program.name)}"


@cache
def _families() -> dict[str, str]:
    return {name: family for family, names in _data()["families"].items() for name in names}


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "other_software.toml").read_text(encoding="utf-8"))


@cache
def programs() -> tuple[Program, ...]:
    """Return all programs; their order is that of the file."""
    data = _data()
    found = [
        Program(item["name"], *(tuple(item.get(part, ())) for part in ("lines", "calm", "border")))
        for item in data["program"]
    ]
    errors = tuple(data["python"]["errors"])
    for item in data["python"]["packages"]:
        # What Python itself raises stands beside the package's own errors, each of which counts for more.
        lines = tuple(item["errors"]) * 4 + errors
        found.append(Program(f"python-{item['name']}", lines, frames=tuple(item["frames"])))
    return tuple(found)


def _traceback(program: Program, error: str, seed: random.Random) -> str:
    if seed.random() < 0.1:
        return error
    lines = ["Traceback (most recent call last):"]
    for _ in range(seed.randint(1, 3)):
        name, function = _filled("{p}/{w}.py", seed), seed.choice(_FUNCTIONS)
        lines += [f'  File "{name}", line {seed.randint(3, 400)}, in {function}', _filled("    {w} = {w}({w})", seed)]
    for frame in program.frames[: seed.randint(0, len(program.frames))]:
        path, _, function = frame.partition(":")
        lines.append(f'  File "/usr/lib/python3.11/site-packages/{path}", line {seed.randint(20, 900)}, in {function}')
    return "\n".join([*lines, error])


def _filled(line: str, seed: random.Random) -> str:
    return re.sub(r"\{([nwph])\}", lambda found: seed.choice(_BLANKS[found.group(1)]), line)
