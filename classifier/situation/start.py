"""What the situation is made of: a server start, as far as it is looked at here (``incidents.types.Incident``)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from ..facts.types import Facts
    from ..lines.types import Line, Trace
    from ..matching.types import Hit
    from .situate import Situation

    class LoggedStart(Protocol):
        """A start with what was read of it; it keeps its situation."""

        first: int
        last: int
        facts: Facts
        hits: list[Hit]
        errors: list[Line]
        sites: list[Line]
        traces: list[Trace]
        engine: str
        ends: tuple[bytes, bytes]
        situation: Situation | None

        @property
        def stages(self) -> Sequence[object]:
            """What it came to."""
