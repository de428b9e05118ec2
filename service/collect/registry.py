"""What a protocol is, and which there are. Names are read from the folder ``protocols/``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Protocol as Interface
from typing import cast

from . import protocols
from .entries import Entry


class FormError(Exception):
    """A body that is not what the protocol says; the text is for whoever set the collector up."""


class Protocol(Interface):
    """A protocol. Its module has its name."""

    PATH: str
    """Where collectors post to."""
    ABOUT: str
    """Who speaks it."""
    TYPES: tuple[str, ...]
    """Media types of a body."""
    STATUS: int
    """Of the answer to a body that was taken."""

    def read(self, body: bytes, media_type: str, query: Mapping[str, str], most: int) -> list[Entry]:
        """Return the records of a body.

        Args:
            body: As it came, unpacked where HTTP says that it is packed.
            media_type: One of ``TYPES``.
            query: Of the address.
            most: Bytes that it may have after unpacking.

        Raises:
            FormError: It holds none.
        """

    def reply(self, media_type: str) -> bytes:
        """Return the answer to a body that was taken."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all protocols, sorted."""
    files = [name for folder in protocols.__path__ for name in os.listdir(folder)]  # noqa: PTH208 - as render/interface.py
    return tuple(sorted(name[:-3] for name in files if name.endswith(".py") and not name.startswith("_")))


def load(name: str) -> Protocol:
    """Return a protocol by its name (one of ``names``).

    Raises:
        ModuleNotFoundError: What it is read with is not installed.
    """
    return cast("Protocol", import_module(f".protocols.{name}", __package__))
