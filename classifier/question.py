"""What is asked about a log: one object, whoever asks (command line, HTTP, chat, library)."""

from __future__ import annotations

from collections.abc import Sequence

from ..corpus.records import Record, record
from .errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .decides import Decides

ENGINES: tuple[Decides, ...] = ("auto", "rules", "model")
"""What decides: rules first and the text model where none does; rules alone; the model alone."""


@record(frozen=True, slots=True, kw_only=True)
class Question(Record):
    """What is asked about a log. Without arguments: what is wrong, by all means?

    Args:
        command: The start command, where the log does not have it: ``vllm serve …``, ``docker run …``, a compose file or
            a manifest.
        vllm_version: The release to advise for, whatever the log says; empty: the log's.
        min_confidence: Below this (0 to 1) the answer is ``unknown``.
        only: Buckets, or causes (``bucket/cause``), that count; empty: all do.
        ignore: Buckets, causes or rules (``bucket/rule``) that do not count.
        engine: What decides, one of ``ENGINES``.

    Raises:
        InputError: A value is not possible; the message says which and why. (Whether ``only`` and ``ignore`` name what
            there is depends on the rule files: ``Triage`` checks that.)
    """

    command: str = ""
    vllm_version: str = ""
    min_confidence: float = 0.0
    only: Sequence[str] = ()
    ignore: Sequence[str] = ()
    engine: Decides = "auto"

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(f"engine {self.engine!r} is none of {', '.join(ENGINES)}")
        if not isinstance(self.command, str):
            raise InputError(f"command is a text (vllm serve MODEL …), not {type(self.command).__name__}")
        if isinstance(self.min_confidence, bool) or not isinstance(self.min_confidence, (int, float)):
            raise InputError(f"min_confidence is a number from 0 to 1, not {type(self.min_confidence).__name__}")
        if not 0 <= self.min_confidence <= 1:
            raise InputError(f"min_confidence {self.min_confidence!r} is not a number from 0 to 1")
        for name in ("only", "ignore"):
            object.__setattr__(self, name, _ids(name, getattr(self, name)))
        if self.vllm_version:
            object.__setattr__(self, "vllm_version", _release(self.vllm_version))


def _ids(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InputError(f"{name} is a list of buckets, causes or rules: give [{value!r}], not {value!r}")
    try:
        found: tuple[object, ...] = tuple(value)  # type: ignore[arg-type] # whatever it is: this is what finds out
    except TypeError:
        raise InputError(f"{name} is a list of buckets, causes or rules, not {type(value).__name__}") from None
    names = tuple(item for item in found if isinstance(item, str))
    if len(names) < len(found):
        raise InputError(f"{name} names buckets, causes or rules as texts; one of them is none")
    return names


def _release(text: object) -> str:
    from .facts.versions import version_key

    if not isinstance(text, str) or version_key(text) is None:
        raise InputError(f"{text!r} is not a vLLM release such as 0.19.1")
    return text.strip().removeprefix("v")
