"""The copy of a log that is kept in a file while it passes through."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

START = 256 << 20
"""Bytes of a log that is kept unasked: its start; of the rest the last ``START`` to twice as many bytes are kept beside it."""
FILES = 20
"""Logs that are kept unasked; the oldest goes when another one comes."""


class Kept:
    """A file to which a log is written. What goes wrong with it is told once, and never stops anything.

    Args:
        path: The file; appended to never, written anew.
        limited: Whether it was not asked for: then it takes bounded space (``START``).
    """

    def __init__(self, path: Path, limited: bool = False) -> None:
        self.path = path
        self.problem = ""
        """Why nothing more is written; "" where all is well."""
        self._limited, self._size = limited, 0
        self._file = -1
        self._open(path)

    def write(self, data: bytes) -> None:
        """Add a piece of the log."""
        if self._file < 0:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self._fail(error)
            return
        self._size += len(data)
        if self._limited and self._size >= START:
            self._turn()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.problem = f"{self.path}: the log is not kept any further ({error.strerror})"
        self.close()

    def _turn(self) -> None:
        """Go on in ``NAME.latest``, of which the one before becomes ``NAME.latest.1``."""
        self.close()
        latest = self.path.with_suffix(self.path.suffix + ".latest")
        with contextlib.suppress(OSError):
            latest.replace(latest.with_suffix(latest.suffix + ".1"))
        self._size = 0
        self._open(latest)


def folder() -> Path:
    """Return where logs are kept unasked: below XDG_STATE_HOME, else below the home directory."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    return Path(home) / "vllm-triage" / "logs"


def keep_unasked() -> Kept | None:
    """Return a new file in the folder for logs, of which the oldest are removed; None where there can be none."""
    import tempfile

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    for place in (folder(), Path(tempfile.gettempdir()) / f"vllm-triage-{os.getuid()}"):
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            _thin(place)
        except OSError:
            continue
        kept = Kept(place / name, limited=True)
        if not kept.problem:
            return kept
    return None


def _thin(place: Path) -> None:
    logs = sorted(place.glob("*.log"))
    for old in logs[: max(0, len(logs) - FILES + 1)]:
        for path in place.glob(f"{old.name}*"):
            with contextlib.suppress(OSError):
                path.unlink()
