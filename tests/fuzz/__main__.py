"""Fuzzes all readers in turn, in one process; writes what crashes or hangs into a folder.

python -m tests.fuzz --seconds 3600 --out found
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import logging
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Hashable
from pathlib import Path

from .mutate import mutate
from .readers import READERS, Reader

TURN = 20.0
"""Seconds for a reader before the next one has its turn."""
LIMIT = 10.0
"""Seconds of processor time for one input of at most 256 KiB; what takes longer counts as a hang."""
WALL = 120.0
"""Seconds after which the process is ended: something waits, or does not come back from C. What it read lies in ``current``."""
MEMORY = 6 << 30
"""Bytes of address space."""
POOL = 400
"""Inputs of a reader that are kept to go on from."""


class HangError(BaseException):
    """An input took longer than ``LIMIT``. Nothing catches it on its way."""


class Campaign:
    """The inputs of one reader that did something new, and what it has come to.

    Args:
        name: Of the reader.
        reader: What is fuzzed.
        rng: Says what is tried.
        out: Folder for what crashes or hangs.
    """

    def __init__(self, name: str, reader: Reader, rng: random.Random, out: Path) -> None:
        self.name, self._reader, self._rng, self._out = name, reader, rng, out
        self._pool = list(reader.seeds())
        self._seen: set[Hashable] = set()
        self.count, self.slowest = 0, 0.0
        self.found: collections.Counter[str] = collections.Counter()

    def turn(self, seconds: float) -> None:
        """Try inputs for some seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.try_one(mutate(self._rng.choice(self._pool), self._pool, self._rng))

    def try_one(self, data: bytes) -> str:
        """Read one input; return what is wrong, "" where nothing is."""
        (self._out / "current").write_bytes(self.name.encode() + b"\n" + data)
        self.count += 1
        faulthandler.dump_traceback_later(WALL, exit=True)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            did = self._reader.read(data)
        except self._reader.refuses as error:
            did = type(error).__name__, str(error)[:20]
        except HangError:
            return self._keep(data, "hang", traceback.format_exc())
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            return self._keep(
                data, f"{type(error).__name__}-{Path(where.filename).stem}-{where.lineno}", traceback.format_exc()
            )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
        self.slowest = max(self.slowest, time.process_time() - begun)
        if did not in self._seen:
            self._seen.add(did)
            self._pool.append(data)
            if len(self._pool) > POOL:
                del self._pool[self._rng.randrange(len(self._pool))]
        return ""

    def _keep(self, data: bytes, what: str, told: str) -> str:
        self.found[what] += 1
        if self.found[what] <= 3:
            name = f"{self.name}-{what}-{self.found[what]}"
            (self._out / name).write_bytes(data)
            (self._out / f"{name}.txt").write_text(told)
        return what


def main() -> int:
    """Fuzz; return 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", action="append", choices=sorted(READERS), default=[])
    parser.add_argument("--again", type=Path, help="read one kept input again: its name begins with its reader's")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _hang)
    rng = random.Random(options.seed)
    names = options.only or sorted(READERS)
    if options.again:
        name = max((name for name in READERS if options.again.name.startswith(name)), key=len)
        READERS[name].read(options.again.read_bytes())
        return 0
    campaigns = [Campaign(name, READERS[name], rng, options.out) for name in names]
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        for campaign in campaigns:
            campaign.turn(min(TURN, max(0.1, until - time.monotonic())))
        sys.stdout.write(_told(campaigns, until - time.monotonic()) + "\n")
        sys.stdout.flush()
    return int(any(campaign.found for campaign in campaigns))


def _told(campaigns: list[Campaign], left: float) -> str:
    rows = [
        f"{one.name} {one.count} (slowest {one.slowest:.1f} s; {dict(one.found) or 'nothing'})" for one in campaigns
    ]
    return f"{sum(one.count for one in campaigns)} inputs, {left:.0f} s left\n  " + "\n  ".join(rows)


def _hang(*_: object) -> None:
    raise HangError


if __name__ == "__main__":
    sys.exit(main())
