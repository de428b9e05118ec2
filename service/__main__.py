"""The command ``vllm-triage``; also ``python -m vllm_triage.service``."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; return the exit code."""
    try:
        # In here: Ctrl-C while modules are imported ends like any other.
        from .cli.main import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
