"""What is known of a server's processes, and what is said of a stage that takes long."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...corpus.records import Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.kinds import Finding

Verdict = Literal["slow", "stalled", "unclear", "moving"]
"""``slow``: it works. ``stalled``: something besides silence shows that nothing goes on. ``unclear``: silence alone.
``moving``: it went on after that."""
LABELS: dict[Verdict, str] = {
    "slow": "slow",
    "stalled": "stalled",
    "unclear": "cannot tell",
    "moving": "moving again",
}
"""How each is said."""


class ProcessState(NamedTuple):
    """One process of the server, as the kernel shows it."""

    pid: int
    name: str
    """As it calls itself: ``VLLM::EngineCore``."""
    state: str
    """One letter: R running, S sleeping, D waiting for a disk, T stopped, t traced, Z ended and not taken note of."""
    cpu_seconds: float
    """Computed so far."""
    read_bytes: int
    """Read so far, from files and pipes; 0 where that may not be seen."""


@record(frozen=True, slots=True, kw_only=True)
class Standstill(Record):
    """What is said of a stage that takes longer than its patience."""

    verdict: Verdict
    stage: str
    seconds: float
    """Since when nothing goes on; for ``slow``, how long the stage has taken so far."""
    usual: float
    """Seconds that the stage takes as a rule; 0 where that is not known."""
    patience: float
    """Seconds after which it was looked at."""
    evidence: tuple[str, ...]
    """Sentences, the strongest first."""
    next: tuple[str, ...] = ()
    """Commands to run next, the most telling first."""
    pids: tuple[int, ...] = ()
    """Processes to look into."""
    finding: Finding | Literal[""] = ""
    """What it is found to be where it stalled."""
    line: int = 0
    """Last line that showed progress; 0 where none did."""
