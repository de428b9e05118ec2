"""The start command for a shell: corrected, or as it was run, for reports of a bug."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .start import Start
from .words import Word, join


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
