"""What the verdict weighs, and what it is."""

from __future__ import annotations

from ...corpus.records import Mutable, Record, field, record
from ..incidents.types import Incident, StageSpan
from ..lines.types import Evidence
from ..matching.types import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..facts.types import Facts

_INNER = ("v1", "unit", "world_size_seen")
"""Facts that only serve to work out others."""


@record(slots=True)
class Candidate(Mutable):
    """A possible answer with what speaks for it."""

    bucket: str
    cause: str
    score: float
    hit: Hit
    reasons: list[str] = field(default_factory=list)


@record(slots=True, frozen=True)
class ServerStart(Record):
    """One server start of a log."""

    first: int
    """Number of its first line."""
    last: int
    reached: str
    """The furthest stage of it."""


@record(slots=True, frozen=True)
class Story(Record):
    """What happened, told apart from what is wrong."""

    first: int
    last: int
    """Lines of the start that the answer is about."""
    scope: str = "start"
    start: int = 1
    starts: int = 1
    starts_failed: int = 0
    requests_failed: int = 0
    died_first: Evidence | None = None
    overcome: tuple[Evidence, ...] = ()
    latent: tuple[str, ...] = ()
    head: str = ""
    """The situation in a sentence, where it matters."""


@record(slots=True, frozen=True)
class Verdict(Record):
    """What is wrong with a server, or that nothing is, and what proves it. What to do about it is for ``advice`` to say."""

    incident: Incident
    """The start that it is about."""
    bucket: str
    cause: str
    """With its bucket: ``bucket/cause``."""
    confidence: float
    decided_by: str
    title: str
    summary: str
    way: str = ""
    """How it was decided, more closely than ``decided_by``: a rule's strength, a finding, a kind of wrapper (docs/lab/accuracy.md)."""
    hit: Hit | None = None
    """What decided, a rule's or made of the exception that no rule knows; None where the log as a whole did."""
    captures: Mapping[str, str] = field(default_factory=dict)
    """What the deciding words and their stack tell, for texts and conditions."""
    confirm: str = ""
    refute: str = ""
    evidence: tuple[Evidence, ...] = ()
    symptoms: tuple[Evidence, ...] = ()
    chain: tuple[Evidence, ...] = ()
    context: tuple[Evidence, ...] = ()
    """Lines around the deciding one, that one included."""
    unread: tuple[Evidence, ...] = ()
    """Exceptions besides the deciding one that stand, and whose words no rule reads."""
    alternatives: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    weighed: tuple[str, ...] = ()
    """The candidates with their sums."""
    explanation: tuple[str, ...] = ()
    stages: tuple[StageSpan, ...] = ()
    starts: tuple[ServerStart, ...] = ()
    """All of the log."""
    story: Story | None = None
    filtered: tuple[str, tuple[str, ...]] | None = None
    """Where the question leaves the answer out: ``ignore`` or ``only``, and the ids."""

    @property
    def failed(self) -> bool:
        """Whether a failure was found."""
        return self.bucket != "no_failure"

    @property
    def rule(self) -> str:
        """Full id of the rule that decided; empty where none did."""
        return self.hit.rule.id if self.hit is not None else ""

    @property
    def strength(self) -> str:
        """That rule's strength; empty where none decided."""
        return self.hit.rule.strength if self.rule and self.hit is not None else ""

    @property
    def facts(self) -> Facts:
        """Facts of the start."""
        return {name: value for name, value in self.incident.facts.items() if name not in _INNER}

    @property
    def reached(self) -> str:
        """The furthest stage of the start."""
        return self.incident.reached or "launch"
