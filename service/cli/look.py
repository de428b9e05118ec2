"""``vllm-triage LOG --lines 100-180`` and ``--find TEXT``: lines of a log, for whoever wants to read on from a pack."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.input.read import LogFile, join_sources, read_blocks
from ...classifier.report.pack.look import look
from ..render.encoding import encodable
from .messages import EXIT_CLEAN, EXIT_USAGE, complain

if TYPE_CHECKING:
    from argparse import Namespace


def show_lines(files: Sequence[str], options: Namespace) -> int:
    """Print the lines that were asked for; return the exit code: 2 where there are none.

    Raises:
        InputError: The log cannot be read, or what is asked for makes no sense.
    """
    if len(files) > 1 and not options.join:
        raise InputError("--lines and --find show one log (several as one: --join)")
    sources = [sys.stdin.buffer if name == "-" else LogFile(name) for name in files]
    blocks = read_blocks(join_sources(sources) if len(sources) > 1 else sources[0])
    found = look(blocks, options.lines, options.find, options.process, options.budget)
    if options.format in ("json", "pack"):
        import json

        sys.stdout.write(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) + "\n")
        return EXIT_CLEAN if found.lines else EXIT_USAGE
    if not found.lines:
        return complain("the log has no such lines")
    sys.stdout.write(encodable(found.text(), sys.stdout.encoding or "utf-8"))
    return EXIT_CLEAN
