"""The situation in one sentence, where it matters for what is read below it."""

from __future__ import annotations

from .programs import BUILD, CLIENT, FRAMEWORK, TEST
from .situate import situate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .start import LoggedStart

SHOWN = 120
"""Characters of a writer's sentence that are quoted."""
_REFUSED = "client_connection"
"""The bucket of those who call a server and get no answer."""
_TOLD = {
    CLIENT: "This is a client's log: why the server does not answer stands in the server's own.",
    FRAMEWORK: "{} makes the engine here: its settings are that program's to hand on.",
    TEST: "This is the log of a test run ({}).",
    BUILD: "This is the log of a build: no server was started yet.",
}
"""What is said of a program that is not vLLM's server."""


def headline(start: LoggedStart, bucket: str) -> str:
    """Return whose log it is, or what its writer complains of; "" where neither matters for the answer.

    Args:
        start: With its situation made.
        bucket: Of the answer.
    """
    if start.engine:
        return ""  # the note says whose log it is
    if not start.stages and not start.sites:
        program = situate(start).program
        if program.kind in _TOLD and (program.kind != CLIENT or bucket == _REFUSED):
            return _TOLD[program.kind].format(program.name)
    writer = situate(start).writer
    if writer.complains and writer.complaint != "fails":
        said = writer.said if len(writer.said) <= SHOWN else writer.said[:SHOWN].rstrip() + " …"
        return f"Its writer says: '{said}'"
    return ""
