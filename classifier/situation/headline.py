"""The situation in one sentence, where it matters for what is read below it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .start import LoggedStart

SHOWN = 120
"""Characters of a writer's sentence that are quoted."""
_REFUSED = "client_connection"
"""The bucket of those who call a server and get no answer."""


def headline(start: LoggedStart, bucket: str) -> str:
    """Return whose log it is, or what its writer complains of; "" where neither matters for the answer.

    Args:
        start: With its situation made.
        bucket: Of the answer.
    """
    writer = start.situation.writer if start.situation is not None else None
    if bucket == _REFUSED and not start.sites:
        return "This is a client's log: why the server does not answer stands in the server's own."
    if writer is not None and writer.complains and writer.complaint != "fails":
        said = writer.said if len(writer.said) <= SHOWN else writer.said[:SHOWN].rstrip() + " …"
        return f"Its writer says: '{said}'"
    return ""
