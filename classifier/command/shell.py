"""The start command for a shell: corrected, as it was run, started once more, and as a difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .start import Start, takes_no_word
from .words import Word, is_assignment, join


def shell(start: Start, facts: Mapping[str, object]) -> str:
    """Return one line to paste: the command as it was run, or ``vllm serve …`` where it stood in a manifest."""
    del facts
    return join(shell_words(start))


def shell_words(start: Start) -> list[Word]:
    """Return the command's words; of a manifest, or of arguments alone, as ``vllm serve`` takes them."""
    if start.manifest is None and (start.before or start.inner is not None):
        return start.words()
    assigned = []
    for name, value in start.variables():
        word = Word(f"{name}={value.value}")
        assigned.append(Word(word.value, f'{name}="{value.value}"') if value.expands else word)
    model = start.model()
    words = [*assigned, Word("vllm"), Word("serve"), *([model] if model is not None else [])]
    return words + [word for part in start.others() for word in part.words]


FRONT = (
    "--host", "--port", "--uds", "--api-key", "--served-model-name", "--root-path", "--ssl-keyfile", "--ssl-certfile",
    "--ssl-ca-certs", "--ssl-cert-reqs", "--allowed-origins", "--allowed-methods", "--allowed-headers", "--allow-credentials",
    "--uvicorn-log-level", "--disable-uvicorn-access-log", "--disable-log-requests", "--enable-log-requests", "--max-log-len",
    "--log-config-file", "--disable-fastapi-docs", "--enable-request-id-headers",
)  # fmt: skip
"""Options of the HTTP server in front of the engine, and of what it logs."""


def as_run(facts: Mapping[str, object], keep: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the start command that a log tells of, masked, and the options of ``FRONT`` that were left out of it.

    Args:
        facts: Facts of the log, as a report has them.
        keep: Options of ``FRONT`` that stay.

    Returns:
        "" and nothing where the log tells of no command.
    """
    from .source import start_of

    start, _ = start_of(facts)
    if start is None:
        return "", ()
    start = start.safe()
    given = {part.name for part in start.arguments()}
    dropped = tuple(name for name in FRONT if name in given and name not in keep)
    for name in dropped:
        start = start.without_option(name)
    return shell(start, facts), dropped


_LONGEST = 1500
"""Characters of a command that people still read."""


def started(facts: Mapping[str, object]) -> str:
    """Return the start command on one line, without what its shell does with the output; "" where the log tells none."""
    from .source import start_of

    start, basis = start_of(facts)
    if start is None or basis == "configuration" or start.kind != "shell" or start.inner or start.manifest:
        return ""
    start = start.safe()
    start.after = []
    text = shell(start, facts)
    return "" if "\n" in text or len(text) > _LONGEST else text


CONTEXT = 3
"""Lines shown around the change."""


def difference(before: Start, after: Start, facts: Mapping[str, object]) -> str:
    """Return the diff between two commands, or between the manifests that they stand in."""
    del facts
    return "\n".join(["--- as run", "+++ corrected", *hunk(_lines(before), _lines(after))]) + "\n"


def hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the one hunk that turns ``old`` into ``new``; difflib takes longer to import than all forms to make."""
    shorter = min(len(old), len(new))
    first = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    last = next((count for count in range(shorter - first) if old[-count - 1] != new[-count - 1]), shorter - first)
    begin, behind = max(0, first - CONTEXT), max(0, last - CONTEXT)
    spans = [
        f"{begin + 1 if length else begin},{length}"
        for length in (len(old) - behind - begin, len(new) - behind - begin)
    ]
    return [
        f"@@ -{spans[0]} +{spans[1]} @@",
        *(f" {line}" for line in old[begin:first]),
        *(f"-{line}" for line in old[first : len(old) - last]),
        *(f"+{line}" for line in new[first : len(new) - last]),
        *(f" {line}" for line in old[len(old) - last : len(old) - behind]),
    ]


def _lines(start: Start) -> list[str]:
    if start.manifest is not None:
        return start.manifest.text(start).splitlines()
    lines = _head(start)
    if start.inner is not None:
        lines += [f"    {line}" for line in _lines(start.inner)]
    else:
        parts = list(start.parts)
        if lines and parts and not parts[0].name and len(parts[0].words) == 1 and start.image < 0:
            lines[-1] += " " + parts.pop(0).words[0].raw
        lines += [f"    {join(part.words)}" for part in parts]
    return [line for whole in [*lines, *([join(start.after)] if start.after else [])] for line in whole.splitlines()]


def _head(start: Start) -> list[str]:
    words = list(start.before)
    lines: list[str] = []
    place = 0
    while place < len(words) and is_assignment(words[place]):
        lines.append(words[place].raw)
        place += 1
    if start.image < 0:
        return [*lines, join(words[place:])] if place < len(words) else lines
    run = next(index for index in range(place, start.image) if words[index].value in ("run", "create"))
    lines.append(join(words[place : run + 1]))
    lines += _options(words[run + 1 : start.image])
    lines.append(f"    {join(words[start.image :])}")
    return lines


def _options(words: Sequence[Word]) -> list[str]:
    lines = []
    place = 0
    while place < len(words):
        count = 1 if takes_no_word(words[place].value) else 2
        lines.append(f"    {join(words[place : place + count])}")
        place += count
    return lines
