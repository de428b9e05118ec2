"""The evidence pack as a prompt: the lines and facts that count, the question, and the form of a good answer (docs/pack.md)."""

from __future__ import annotations

from collections.abc import Sequence

from ....classifier.report.shown import shown
from ..interface import Options, Result

ABOUT = "the evidence with the question, to paste into an assistant (docs/pack.md)"
MEDIA_TYPE = "text/vnd.vllm-triage.prompt"
COMPLETE = True


def render(results: Sequence[Result], options: Options) -> str:
    """Return a prompt for each input, one after the other."""
    parts = []
    for result in results:
        pack = result.report.pack(options.budget, candidates=options.candidates)
        parts.append((f"log file: {shown(result.name)}\n" if len(results) > 1 else "") + pack.prompt())
    return "\n".join(parts)
