"""Files that somebody else names: only regular ones, and only below a folder that may be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


def below(root: Path, name: str) -> Path | None:
    """Return the file of a name, absolute or relative to ``root``; None where it is not below it, or not there.

    Links are followed first: where one leads out of the folder, the file is not below it.
    """
    try:
        folder = root.resolve(strict=True)
        path = (folder / name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    return path if path.is_relative_to(folder) and path != folder else None


def open_regular(path: Path) -> BinaryIO:
    """Open a file whose links were followed already.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    # Not blocking: a pipe in the place of a log must not hold who reads. The last part was resolved and is no link.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("no regular file")
    return file
