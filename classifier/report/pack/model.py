"""The pack: frozen, masked, the same for everybody who shows it; its text is made in ``text.py``."""

from __future__ import annotations

from ....corpus.records import field, record, replace
from ..model import OPTIONAL, SHARE, Node, Withheld

PACK_SCHEMA_VERSION = "1.0"
"""Raised in its second number when fields are added, in its first when one changes or goes."""
BUDGET = 14_000
"""Characters of a pack where nobody asks for another size: about 4,000 tokens."""
LEAST, LARGEST = 500, 60_000
"""The smallest and the largest budget; the largest is what a history keeps."""


@record(frozen=True, slots=True, kw_only=True)
class PackPart(Node):
    """What one part of the pack says besides lines: a heading with its sentences."""

    part: str
    """`situation`, `release`, `arguments`, `facts`, `sums` or `series`"""
    text: tuple[str, ...]


@record(frozen=True, slots=True, kw_only=True)
class Candidate(Node):
    """A cause that rules or the text model propose; nobody has checked it."""

    cause: str
    confidence: float = field(metadata=SHARE)
    title: str = ""
    decided_by: str = ""
    pro: tuple[str, ...] = ()
    """what speaks for it"""
    contra: tuple[str, ...] = ()
    """what speaks against it"""
    fixes: tuple[str, ...] = ()
    """what would be tried, best first"""


@record(frozen=True, slots=True, kw_only=True)
class PackLine(Node):
    """A line of the log."""

    line: int
    """1-based line number in the raw input"""
    last: int = field(default=0, metadata=OPTIONAL)
    """number of the last line that says the same in a row; 0 where it stands alone"""
    text: str
    process: str = field(default="", metadata=OPTIONAL)
    time: str = field(default="", metadata=OPTIONAL)
    level: str = field(default="", metadata=OPTIONAL)
    source: str = field(default="", metadata=OPTIONAL)
    """where vLLM logged it: `core.py:708`"""
    count: int = 1
    """how often it was printed, by all processes together"""
    kind: str = ""
    """why it is shown: `deciding`, `first death`, `exception`, `frame`, `near` …"""
    worth: int = 0
    """lines of little worth are the first to be left out"""


@record(frozen=True, slots=True, kw_only=True)
class Gap(Node):
    """Lines that are left out."""

    first: int
    last: int
    lines: int
    kinds: dict[str, int] = field(default_factory=dict)
    """how many of them are of which kind, as far as they were kept"""

    def __str__(self) -> str:
        kinds = sorted(self.kinds.items(), key=lambda item: (-item[1], item[0]))[:3] if self.lines > 2 else []
        told = ", ".join(f"{count} {kind}" for kind, count in kinds)
        return f"… {self.lines} {'lines' if self.lines > 1 else 'line'}" + (f": {told}" if told else "")


@record(frozen=True, slots=True, kw_only=True)
class Pack(Node):
    """What a reader needs who concludes for himself, within a budget of characters."""

    schema_version: str = PACK_SCHEMA_VERSION
    budget: int
    """characters that the text of the pack may have"""
    lines_of_log: int
    whole: bool
    """whether all lines of the log are in it"""
    told: tuple[PackPart, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """what rules and the text model propose, unchecked; empty where it was asked for without them"""
    withheld: tuple[Withheld, ...] = ()
    """fixes that cannot help here, each with the fact that rules it out"""
    lines: tuple[PackLine, ...] = ()
    gaps: tuple[Gap, ...] = ()
    cut: tuple[str, ...] = ()
    """what had to be left out besides lines"""

    def text(self) -> str:
        """Return the pack as text, its lines fenced."""
        from .text import as_text

        return as_text(self)

    def _repr_markdown_(self) -> str:
        return self.text()

    def prompt(self) -> str:
        """Return the pack with the question and the form of a good answer."""
        from .text import as_prompt

        return as_prompt(self)

    def without_candidates(self) -> Pack:
        """Return the pack with what the log says alone: nothing that rules concluded."""
        return replace(self, candidates=(), withheld=())
