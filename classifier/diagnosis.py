"""The answer as it is put together, before it is masked."""

from __future__ import annotations

from ..corpus.records import Draft, field, record
from .facts.types import Facts
from .incidents.types import StageSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Start(TypedDict):
        """One server start of a log."""

        first: int
        """Number of its first line."""
        last: int
        reached: str
        """The furthest stage of it."""


@record(slots=True)
class Evidence(Draft):
    """A line that proves something."""

    line: int
    text: str
    process: str = ""
    role: str = "cause"
    count: int = 1


@record(slots=True)
class Advice(Draft):
    """A fix with this log's values filled in; the fields of the output contract."""

    rank: int
    title: str
    kind: str
    change: str
    why: str
    cost: str
    verify: str
    option: str = ""
    value: str = ""
    safety: str = "safe"
    versions: str = ""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault, or the words that decided, are gone."""
    restart: bool = False
    root: bool = False
    source: str = ""
    exact: bool = False
    """Whether every value in ``change`` is known: it can be pasted as it stands."""
    moves: str = ""
    """``up`` or ``down``: which way the value must differ from what is in force."""


@record(slots=True)
class Story(Draft):
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
    overcome: list[Evidence] = field(default_factory=list)
    latent: list[str] = field(default_factory=list)


@record(slots=True)
class Diagnosis(Draft):
    """The whole answer; every output format is made from it."""

    bucket: str
    cause: str
    confidence: float
    decided_by: str
    title: str
    summary: str
    evidence: list[Evidence] = field(default_factory=list)
    symptoms: list[Evidence] = field(default_factory=list)
    alternatives: list[tuple[str, float]] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    reached: str = ""
    stages: list[StageSpan] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)
    fixes: list[Advice] = field(default_factory=list)
    withheld: list[tuple[str, str]] = field(default_factory=list)
    """Fixes that were left out, by title, each with the reason."""
    corrected_command: str = ""
    incidents: list[Start] = field(default_factory=list)
    confirm: str = ""
    refute: str = ""
    notes: list[str] = field(default_factory=list)
    chain: list[Evidence] = field(default_factory=list)
    context: list[Evidence] = field(default_factory=list)
    """Lines around the deciding one, that one included."""
    explanation: list[str] = field(default_factory=list)
    lines: int = 0
    bytes: int = 0
    tail: list[Evidence] = field(default_factory=list)
    """For ``unknown``: the most telling lines."""
    rule: str = ""
    """Full id of the rule that decided; empty where none did."""
    way: str = ""
    """How it was decided, more closely than ``decided_by``: a rule's strength, a finding, a kind of wrapper (docs/accuracy.md)."""
    strength: str = ""
    """That rule's strength; empty where none decided."""
    unread: list[Evidence] = field(default_factory=list)
    """Exceptions besides the deciding one that stand, and whose words no rule reads."""
    story: Story | None = None
    filtered: tuple[str, tuple[str, ...]] | None = None
    """Where the question leaves the answer out: ``ignore`` or ``only``, and the ids."""

    @property
    def failed(self) -> bool:
        """Whether a failure was found."""
        return self.bucket != "no_failure"
