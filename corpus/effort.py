"""What a fix asks for besides its cost: a new start of the server, the superuser."""

from __future__ import annotations

import re

from .kinds import Side
from .types import Cause

_ROOT = re.compile(
    r"(?<!-iE )\b(?:sudo|modprobe|rmmod|reboot|apt|apt-get|dnf|systemctl|sysctl|swapoff|nvidia-smi -[a-z]|nvidia-ctk|"
    r"fabricmanager|fallocate|ldconfig$|kernel param|BIOS)|/etc/ld|NVIDIA driver|(?:^|; )mount |IOMMU"
)
_ASKING = re.compile(
    r"^(?:Ask|Call|Check|Confirm|Correct|Debug|Find|Give exactly|Leave out the request|Let vLLM cut|Limit the concurrency|Log in|Look|Nothing|"
    r"Raise the client|Read|Reuse|Rule out|Run the job|Search|See|Send|Shorten|Simplify|Stream|Test|Trim|Unload|Wait|Wake|Free the)\b"
)
"""Titles of fixes that look at something, or that whoever sends the requests carries out."""
_LOOK = re.compile(
    r"^(?:grep|dmesg|curl|py-spy|nvidia-smi|ls|ss|lsof|find|df|du|cat|strings|kubectl (?:logs|describe|get)|docker manifest|"
    r"journalctl|ray status|free|until curl|vllm serve --help|ip |ping|nc )"
)


def tell_effort(cause: Cause, side: Side) -> None:
    """Work out ``restart`` and ``root`` of the fixes of a cause where their file does not say.

    Args:
        cause: The cause; its fixes are changed.
        side: Who carries out the steps of its bucket.
    """
    for fix in cause.fixes:
        if fix.restart is None:
            beside = _LOOK.match(fix.change) or _ASKING.match(fix.title) or (fix.kind == "step" and side == "client")
            fix.restart = fix.kind in ("flag", "env") or not beside
        if fix.root is None:
            fix.root = bool(_ROOT.search(f"{fix.title} {fix.change}")) and "nvidia-smi -q" not in fix.change
