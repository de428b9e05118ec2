"""Several servers in one log, as `docker compose logs`, `kubectl logs --prefix` and supervisor-stdout show them: whose lines are whose.

Containers of one server (the nodes of a Ray cluster, a proxy, a database) stay together: only a container that starts an
API server, or prints an engine's statistics, is a server of its own.
"""

from __future__ import annotations

import re

from ..input.read import Block
from ..lines.traceback_state import origin

_MARKS = (
    b"vLLM API server version", b" non-default args: {", b"Avg prompt throughput: ",
    b"(APIServer pid=", b"/vllm/entrypoints/", b"/vllm/__init__.py", b"vllm: error: ", b"vllm serve: error: ",
)  # fmt: skip
"""What only a server of its own prints, also one that fails before it says its version."""
_LOOKED_AT = 64
"""Marks of each kind that are looked at in one block: those of a server at work are all alike."""
_MOST = 16
"""Servers told apart; further ones are taken for the first."""


class Servers:
    """The servers that a log has shown so far, by the containers that they print from."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """In the order of appearance; lines that bear none of these names are the first one's."""
        self._keep: dict[str, re.Pattern[bytes]] = {}
        self._drop: re.Pattern[bytes] | None = None

    def split(self, block: Block) -> tuple[Block, dict[str, Block]]:
        """Return the block as the first server printed it, and as each of the others did, by name.

        The lines of others are empty in it, so that line numbers stay. Only from the block on that shows a second server.
        """
        data = block.data
        if b"|" in data[:4096] or b"[pod/" in data[:4096]:
            self._look(data)
        if self._drop is None:
            return block, {}
        others = {name: Block(pattern.sub(b"", data), block.number, 0) for name, pattern in self._keep.items()}
        return Block(self._drop.sub(b"", data), block.number, block.size), others

    def _look(self, data: bytes) -> None:
        """Note the containers that print what only servers do, in the order of the lines."""
        found: dict[str, int] = {}
        for mark in _MARKS:
            at = -1
            for _ in range(_LOOKED_AT):
                at = data.find(mark, at + 1)
                if at < 0:
                    break
                start = data.rfind(b"\n", 0, at) + 1
                name = origin(data[start : start + 256].decode("utf-8", "replace"))
                if name and name not in self.names:
                    found[name] = min(start, found.get(name, start))
        if not found:
            return
        self.names = [*self.names, *sorted(found, key=found.__getitem__)][:_MOST]
        others = self.names[1:]
        if others:
            self._keep = {name: re.compile(rb"(?m)^(?!" + _begin(name) + rb")[^\n]+") for name in others}
            self._drop = re.compile(rb"(?m)^(?:" + b"|".join(map(_begin, others)) + rb")[^\n]*")


def _begin(name: str) -> bytes:
    """Return an expression for how the lines of a container begin."""
    escaped = re.escape(name.encode())
    return escaped if name.startswith("[") else escaped + rb"(?: std(?:out|err))? {1,60}\|"
