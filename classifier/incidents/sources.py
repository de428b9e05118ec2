"""Who wrote a line, told from its bytes before it is decoded: what stood before the messages of lines that were read."""

from __future__ import annotations

from ..lines.prefix import split_line
from .plain_lines import LONGEST, PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..lines.tracebacks import TraceReader
    from ..lines.types import Line, Trace

REMEMBERED = 5_000
"""Prefixes remembered, and whole lines, and exceptions of one line; when there are more of a kind, all of it is forgotten."""
_USUAL = b"(IEW"


class Source:
    """Who wrote a line, as told from its first bytes, or from all of them."""

    __slots__ = ("key", "level", "logged", "plain", "process", "silent")

    def __init__(self, key: tuple[str, str], line: Line, plain: bool) -> None:
        self.key, self.process, self.level, self.logged = key, line.process, line.level, line.logged
        self.plain = plain
        """Whether what is left of the line is its message."""
        self.silent: bool | None = None
        """Whether no rule waits for anything in the prefix; None where nobody has looked yet."""


class Sources:
    """Remembers who wrote what, by vLLM's own prefixes and by whole lines."""

    def __init__(self) -> None:
        self._prefixes: dict[bytes, Source] = {}
        self.whole: dict[bytes, Source] = {}
        """Of lines that are told as a whole."""

    def known(self, raw: bytes) -> tuple[Source | None, bytes]:
        """Return who wrote a line, and the line without its prefix where that is vLLM's own."""
        at = raw.find(b"] ", 0, PREFIX) + 2
        source = self._prefixes.get(raw[:at]) if at > 1 else None
        if source is None:
            return self.whole.get(raw), raw
        # A process may be named behind the prefix; at a line's end Ray says how often it has seen it.
        if raw[at : at + 1] == b"(" or b"across cluster]" in raw:
            return None, raw
        return source, raw[at:]

    def learn(self, raw: bytes, number: int, traces: TraceReader) -> None:
        """Find out who wrote a line, and remember it."""
        if len(raw) <= LONGEST:
            self.of_line(raw, split_line(number, raw.decode("utf-8", "replace")), traces)

    def of_line(self, raw: bytes, line: Line, traces: TraceReader) -> tuple[Source, bytes]:
        """Return who wrote a line that was read, and remember how to tell."""
        body = line.text.encode("utf-8", "replace")
        at = len(raw) - len(body)
        prefix = raw[:at]
        usual = line.logged and prefix[:1] in _USUAL and raw.endswith(body) and raw.find(b"] ", 0, PREFIX) + 2 == at
        if usual and prefix and not body.startswith(b"("):
            source = self._prefixes.get(prefix)
            if source is None:
                forget(self._prefixes)
                source = self._prefixes[prefix] = Source(traces.key_of(line), line, True)
            return source, body
        source = self.whole.get(raw)
        if source is None:
            forget(self.whole)
            source = self.whole[raw] = Source(traces.key_of(line), line, body == raw)
        return source, raw


def forget(remembered: dict[bytes, Source] | dict[tuple[tuple[str, str], bytes], Trace]) -> None:
    """Forget all, where it is more than is kept."""
    if len(remembered) >= REMEMBERED:
        remembered.clear()
