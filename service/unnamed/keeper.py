"""Has what nobody has named worked out in a process of its own, one at a time, and keeps it until the history has changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from ...corpus.records import replace
from ..wire import Unnamed, loads

MODULE = f"{__package__}.worker"
SECONDS = 120.0
"""Wall-clock time after which the process is killed."""
PAUSE = 60.0
"""Seconds between two attempts for a tenant, at least, however much the history changes meanwhile."""
SHARE = 20
"""One part in so many of the time goes into it at most, for each tenant that somebody looks at."""
REMEMBERED = 64
"""Tenants whose groups are kept; who was not asked for longest is forgotten first."""
WAITING = 16
"""Tenants that may wait for the process."""
_log = logging.getLogger("vllm_triage.http")


@dataclass(frozen=True, slots=True)
class _Kept:
    found: Unnamed
    mark: str
    again: float
    """By the loop's clock: not worked out anew before."""


class Keeper:
    """What nobody has named, of each tenant.

    Args:
        url: Of the database; it goes to the process on its standard input, as it may hold a password.
        rules: Folders with your own rules.
        command: What is run.
        seconds: Time that it may take.
    """

    def __init__(
        self,
        url: str,
        rules: Sequence[str] = (),
        command: Sequence[str] = (sys.executable, "-m", MODULE),
        seconds: float = SECONDS,
    ) -> None:
        self._asked = {"url": url, "rules": list(rules)}
        self._command = command
        self._seconds = seconds
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._work: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Semaphore(1)

    async def find(self, tenant: str, mark: str, wait: float) -> Unnamed:
        """Return what is known; where that is nothing yet, wait a while for it.

        Args:
            tenant: Whose.
            mark: What changes with the tenant's history (`History.mark`).
            wait: Seconds.
        """
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(tenant)
        if kept is not None and (kept.mark == mark or now < kept.again):
            return kept.found
        work = self._work.get(tenant)
        if work is None and len(self._work) < WAITING:
            work = self._work[tenant] = asyncio.create_task(self._refresh(tenant, mark))
        if kept is None and work is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(work), wait)
            if (kept := self._kept.get(tenant)) is not None:
                return kept.found
        return replace(kept.found if kept is not None else Unnamed(), pending=True)

    async def close(self) -> None:
        """End what is under way."""
        for work in [*self._work.values()]:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def _refresh(self, tenant: str, mark: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with self._turn:
                began = loop.time()
                found = await self._run(tenant)
            took = loop.time() - began
            _log.info("what nobody has named", extra={"groups": len(found.groups), "seconds": round(took, 1)})
            if found.made is None and (before := self._kept.get(tenant)) is not None:
                # What was known stays, and says what is wrong now.
                found, mark = replace(before.found, problem=found.problem), ""
            self._kept[tenant] = _Kept(found, mark, loop.time() + max(PAUSE, SHARE * took))
            self._kept.move_to_end(tenant)
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        finally:
            del self._work[tenant]

    async def _run(self, tenant: str) -> Unnamed:
        # A session of its own: Ctrl-C in a terminal is for the service, which then ends it.
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        try:
            question = json.dumps(self._asked | {"tenant": tenant}).encode()
            told, _ = await asyncio.wait_for(process.communicate(question), self._seconds)
        except TimeoutError:
            return Unnamed(problem=f"It took longer than {self._seconds:g} seconds.")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await asyncio.shield(process.wait())
        if process.returncode:
            return Unnamed(problem="The process that works it out has died; the log of the service says why.")
        return loads(Unnamed, told)
