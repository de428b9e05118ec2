"""The same answer within an event loop: the log may come as it is received, the analysis runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterator
from typing import TYPE_CHECKING, cast

from .api import shared
from .question import Question

if TYPE_CHECKING:
    from .log_source import Source
    from .report.model import Report


async def atriage(
    source: Source | AsyncIterable[str] | AsyncIterable[bytes], question: Question | None = None
) -> Report:
    """Read a vLLM log without blocking the event loop; ``triage`` with ``await``.

    Args:
        source: As for ``triage``, or an asynchronous iterable of lines. One line is asked for at a time.
        question: As for ``triage``.

    Raises:
        InputError: As for ``triage``.
    """
    if hasattr(source, "__aiter__"):
        lines = cast("AsyncIterable[str] | AsyncIterable[bytes]", source)
        source = cast("Source", _in_thread(lines, asyncio.get_running_loop()))
    return await asyncio.to_thread(shared().report, source, question)


def _in_thread(
    lines: AsyncIterable[str] | AsyncIterable[bytes], loop: asyncio.AbstractEventLoop
) -> Iterator[str | bytes]:
    """Yield what an asynchronous iterable gives, to a thread beside its loop."""
    found = lines.__aiter__()

    async def following() -> str | bytes | None:
        # A StopAsyncIteration cannot cross from one thread to the other.
        async for line in found:
            return line
        return None

    while (line := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
        yield line
