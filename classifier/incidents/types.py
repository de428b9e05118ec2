"""One server start with all that was read of it."""

from __future__ import annotations

from ...corpus.records import Mutable, field, record
from ..facts.types import Facts
from ..lines.context import Contexts
from ..lines.types import Line, Trace
from ..matching.types import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..serving.types import Records
    from ..situation.situate import Situation
    from ..standstill.types import Standstill


@record(slots=True)
class StageSpan(Mutable):
    """A start-up stage that the log shows."""

    stage: str
    line: int
    time: str = ""
    seconds: float | None = None
    process: str = ""
    """Who said so."""


@record(slots=True)
class Incident(Mutable):
    """One server start to its end."""

    first: int
    """First line."""
    hits: list[Hit] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    stages: list[StageSpan] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)
    reached: str = ""
    last: int = 0
    """Last line."""
    fired: set[str] = field(default_factory=set)
    """Fact rules that fired, by full id."""
    errors: list[Line] = field(default_factory=list)
    """First lines logged at ERROR or above, whatever they say."""
    sites: list[Line] = field(default_factory=list)
    """Lines of vLLM's logger that were read: where they were logged tells its release."""
    contexts: Contexts = field(default_factory=Contexts)
    server: str = ""
    """The container that printed it, where a log shows several servers."""
    foreign: bool = False
    """Whether nothing in the log is vLLM's, of its parts or of its clients."""
    unsigned: bool = False
    """The same where the log is too short to say so."""
    engine: str = ""
    """The other engine whose log it is (SGLang, llama.cpp …); "" for vLLM's."""
    source_text: bool = False
    """Whether it is a program or a configuration, no log: marks in it were never printed."""
    broken_off: bool = False
    """Whether the log went on where compressed data could be read no more."""
    serving: Records | None = None
    """What is kept of the lines that it printed periodically while it answered requests."""
    given_up: list[str] = field(default_factory=list)
    """What rules have not seen of it because that would have taken too long, in sentences."""
    tail: list[Line] = field(default_factory=list)
    """The server's last lines, where it is not the first one of its log."""
    ends: tuple[bytes, bytes] = (b"", b"")
    """The beginning and the end of the log, as far as they were kept: what stands around the lines that rules know."""
    situation: Situation | None = None
    """Made when it is first asked for (``situation.situate``), before any rule decides."""
    standstill: Standstill | None = None
    """What stood still until its log ended, for one that was followed while it was written."""
