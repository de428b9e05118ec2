"""Another process that holds the GPU's memory, by the words of an allocation that failed: it goes before all that takes from our own."""

from __future__ import annotations

from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from .pins import framework_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..matching.types import Hit
    from .situation import Situation

_BUCKETS = frozenset({"runtime_oom", "cuda_graph_crash", "model_load_oom"})
_TOLD = LazyPattern(
    r"total capacity of (?P<total>[\d.]{1,9}) GiB of which .{1,20} is free\.(?P<others>(?: Process \d{1,9} has [\d.]{1,9} [GM]iB memory in use\.){1,16})"
    r" (?:Including non-PyTorch memory, )?this process has "
)
"""What torch says where it sees itself among the processes of the GPU: in a container it takes itself for another one."""
_OTHER = LazyPattern(r"Process (?P<pid>\d+) has (?P<held>[\d.]+) GiB")
_LEAST_GIB = 3.0
_SHARE = 0.1
"""What another process must hold, in GiB and of the GPU, to be the one that is in the way."""


_MOST = 0.5
"""The share of the GPU from which on what this server gives up is too little."""


def in_the_way(hit: Hit | None, situation: Situation) -> list[Advice]:
    """Return the look at another process, and its end, where the failed allocation names one that holds much of the GPU.

    Args:
        hit: The one that decided; of other buckets than those of allocations that failed nothing is returned.
        situation: Of the server. Where a trainer makes the engine both are meant to share the GPU.
    """
    if hit is None or hit.rule.bucket not in _BUCKETS:
        return []
    pid, held, total = _largest(situation)
    if held < max(_LEAST_GIB, _SHARE * total) or framework_of(situation):
        return []
    change = (
        "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv; "
        f"ps -o pid,user,etime,args -p {pid}   # end it if nobody needs it"
    )
    why = f"By the message process {pid} holds {held:g} of the GPU's {total:g} GiB: what this server lacks is there."
    return [
        Advice(
            0, "Stop the other process, or wait until it is gone", "command", change, why,
            "What that process does is lost.", "nvidia-smi shows the memory as free.", exact=True,
        )
    ]  # fmt: skip


def too_little(fix: Advice, situation: Situation) -> str:
    """Tell that what a fix makes this server do without is too little beside what another process holds; "" elsewhere."""
    if fix.kind != "flag" or "out of memory" not in situation.text:
        return ""
    _, held, total = _largest(situation)
    if not total or held < _MOST * total or framework_of(situation):
        return ""
    return f"another process holds {held:g} of the GPU's {total:g} GiB"


def _largest(situation: Situation) -> tuple[str, float, float]:
    """Return number and GiB of the other process that holds most, and the GPU's GiB; zeros where the error names none."""
    said = situation.trace.message if situation.trace is not None else ""
    found = _TOLD.search(said) or _TOLD.search(situation.text)
    if found is None:
        return "", 0.0, 0.0
    others = [(float(other["held"]), other["pid"]) for other in _OTHER.finditer(found["others"])]
    held, pid = max(others, default=(0.0, ""))
    return pid, held, float(found["total"])
