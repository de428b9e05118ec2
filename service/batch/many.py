"""Recognises names that stand for any number of logs. It is asked about every word of the command line, so it loads nothing."""

# Importing pathlib or glob would cost more than all this.
# ruff: noqa: PTH112, PTH113

from __future__ import annotations

import os

TARS = (".tar", ".tgz", ".txz", ".tbz2", ".tzst", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst")
ZIPS = (".zip",)
MAGIC = "*?["
"""What makes a pattern of a name."""


INSIDE = "!/"
"""Parts an archive from its member in a log's name."""
BESIDE = (".times", ".md", ".toml", ".yaml", ".yml", ".csv", ".parquet", ".png", ".jpg", ".pdf", ".py", ".sh")
"""Ends of names of what may lie beside logs in folders and archives and is none. What is named itself is always read."""


def is_beside(name: str) -> bool:
    """Return whether a file of a folder or an archive is hidden, or evidently no log."""
    return name.lower().endswith(BESIDE) or any(part[:1] == "." and part.strip(".") for part in name.split("/"))


def is_archive(name: str) -> bool:
    """Return whether a file holds several others."""
    return name.lower().endswith(TARS + ZIPS)


def is_url(source: str) -> bool:
    """Return whether a source names a file system of fsspec's: ``s3://…``."""
    return "://" in source


def is_many(source: str) -> bool:
    """Return whether a source stands for any number of logs: a folder, an archive (or a member of one), a pattern, a URL."""
    if os.path.isfile(source):
        return is_archive(source)
    inside = INSIDE in source and is_archive(source.partition(INSIDE)[0])
    return os.path.isdir(source) or is_url(source) or inside or any(sign in source for sign in MAGIC)
