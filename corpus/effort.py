"""What a fix asks for besides its cost: a new start of the server, the superuser."""

from __future__ import annotations

from .types import Cause

_BESIDE = frozenset({"wait", "request", "beside"})
"""Tags of what is done beside the running server."""


def tell_effort(cause: Cause) -> None:
    """Fill in ``restart`` and ``root`` of the fixes of a cause where their file does not say: by kind and tags.

    Args:
        cause: The cause; its fixes are changed.
    """
    for fix in cause.fixes:
        if fix.restart is None:
            fix.restart = fix.kind in ("flag", "env") or not _BESIDE.intersection(fix.tags)
        if fix.root is None:
            fix.root = "root" in fix.tags
