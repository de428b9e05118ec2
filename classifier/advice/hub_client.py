"""The command of the Hugging Face client: ``hf`` came with 0.34 of huggingface_hub, before it was ``huggingface-cli``."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_CALLED = LazyPattern(r"\bhf (?=download\b|auth\b)")
_AUTH = LazyPattern(r"\bhuggingface-cli auth (?=login|whoami|logout)")
_OLD = LazyPattern(r"huggingface_hub[./]utils[./]_errors\b")
"""A module that later clients have elsewhere."""


def as_installed(fix: Advice, situation: Situation) -> Advice:
    """Return a fix with the command that the server's client has, where the log shows that it is too old for ``hf``.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start; releases before 0.10 are older than the command.
    """
    if not (_CALLED.search(fix.change) or _CALLED.search(fix.verify)):
        return fix
    if not _OLD.search(situation.words) and in_range(situation.release, "<0.10") is not True:
        return fix
    return replace(fix, change=_called(fix.change), verify=_called(fix.verify))


def _called(text: str) -> str:
    return _AUTH.sub("huggingface-cli ", _CALLED.sub("huggingface-cli ", text))
