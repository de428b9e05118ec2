"""The command ``vllm-triage``; also ``python -m vllm_triage.service``."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command; return the exit code."""
    try:
        # In here: Ctrl-C while modules are imported ends like any other.
        from .cli.main import main as command

        code = command()
    except KeyboardInterrupt:
        return 130
    _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process at once, where nothing else runs in it: taking all objects apart takes a twentieth of a first answer."""
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return
    import atexit

    try:
        atexit._run_exitfuncs()  # noqa: SLF001 - what others registered still counts
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        # Another Python, or a stream that is closed: Python's own end tells what there is to tell.
        return
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
