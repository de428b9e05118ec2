"""What a fix is tried against: the release and platform, the settings in force, the error's words, what it refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..patterns.lazy import LazyPattern
from ..situation.releases import ReleaseBound
from ..situation.situate import situate
from .corrector.case import Case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incidents.types import Incident
    from ..lines.types import Line, Trace
    from ..matching.types import Hit
    from .signs import Signs

_LOCAL = LazyPattern(r"\+(?!cu\d|cpu\b|rocm|xpu)|\.dev|dirty|\+[^+]*\.d20\d\d")
"""Marks of a build that no registry has: local versions that name no platform, development versions."""
_PRINTED = LazyPattern(r"File \"?(?P<path>[^\"\n]{1,400}?\.py)")
_SOURCES = LazyPattern(
    r"^(?:~|/|[A-Za-z]:[/\\])[^\n]*[/\\]vllm[/\\](?:v1|engine|executor|worker|model_executor|attention|entrypoints|core|config|distributed|platforms|spec_decode|lora|multimodal|utils|transformers_utils)\b"
)
_INSTALLED = LazyPattern(
    r"(?:site|dist)-packages|\.egg|^/workspace/|/vllm-workspace/|\.\.\.|…|<[\w ]+>|xxx", re.IGNORECASE
)
"""Packages, the folders of vLLM's and vLLM-Ascend's own images, paths that somebody has shortened."""

_OF_CLIENTS = "client_connection"
"""The bucket of those who call a server."""


class Situation:
    """One start of a server, as far as the log tells of it.

    Attributes:
        case: The error.
        facts: Of the start.
        bound: The releases that can have written the log.
        release: The newest of them: the one whose options and defaults are asked for first.
        told: The release as the log prints it; "" where it does not.
        platform: ``cuda``, ``rocm``, ``cpu`` …; "" where the log does not tell.
        text: What the error and other conspicuous lines say.
        ranks: Tensor-parallel ranks that there are at least.
        words: What a fix's ``mentions`` is looked for in; "" where no failure is answered.
        trace: The exception that decided; None where a line did.
        stranger: Whether the stack of the error, and all around it, is another program's than vLLM.
        maker: Who makes the engine, once somebody asked (``caller``).
        asked: Whether a request failed, at a server that somebody else runs: who called it does not make the engine.
        sites: Lines of vLLM's logger, as far as they were kept.
    """

    __slots__ = (
        "asked", "bound", "case", "facts", "maker", "platform", "ranks", "release", "sites", "stranger", "text", "told", "trace", "words",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - what a log tells of a start
        self,
        case: Case,
        facts: Mapping[str, object],
        release: str,
        text: str = "",
        ranks: int = 1,
        words: str = "",
        trace: Trace | None = None,
        stranger: bool = False,
        asked: bool = False,
    ) -> None:
        self.case = case
        self.facts = facts
        self.release = release
        self.bound = ReleaseBound("", (release,), (), True)
        self.told = str(facts.get("vllm_version") or "")
        self.platform = str(facts.get("platform") or "").lower()
        self.text = text or case.text
        self.ranks = ranks
        self.words = words
        self.trace = trace
        self.stranger = stranger
        self.asked = asked
        self.maker: str | None = None
        self.sites: list[Line] = []

    @classmethod
    def of(cls, hit: Hit | None, incident: Incident, release: str, signs: Signs | None = None) -> Situation:
        """Gather it from an incident, the hit that decided, and what its words tell."""
        case = Case.of(hit, incident, release)
        if signs is None:
            made = cls(case, incident.facts, release)
            made.bound = situate(incident).release
            return made
        trace = hit.trace if hit is not None else None
        stranger = hit is not None and hit.rule.source != "vllm" and signs.strange(trace)
        asked = hit is not None and (hit.rule.scope == "request" or hit.rule.bucket == _OF_CLIENTS)
        said = f"{case.text}\n{signs.said}"
        made = cls(case, signs.facts, release, said, signs.ranks, signs.words, trace, stranger, asked)
        made.sites, made.bound = incident.sites, situate(incident).release
        return made

    @property
    def from_checkout(self) -> bool:
        """Whether vLLM's frames, as they were printed, lie in a folder of its sources and not among installed packages."""
        frames = self.trace.frames if self.trace is not None else ()
        printed = [
            found["path"]
            for frame in frames
            if frame.path.startswith("vllm/") and (found := _PRINTED.search(frame.raw))
        ]
        return bool(printed) and all(_SOURCES.search(path) and not _INSTALLED.search(path) for path in printed)

    @property
    def own_build(self) -> bool:
        """Whether the server is not a release of the registry: a fork, a checkout, a development build, a build with local changes."""
        from ...corpus import options

        if self.from_checkout:
            return True
        if not self.told:
            return False
        if _LOCAL.search(self.told):
            return True
        public = self.told.partition("+")[0]
        key, newest = options.version_key(public), options.version_key(options.releases()[-1])
        known = key is None or newest is None or key > newest or public in options.releases()
        return not known and not re.search(r"rc\d|(?:a|b)\d", public) and options.exists("--model", public) is True

    def in_force(self, option: str) -> object:
        """Return what an option is set to: as given, else as resolved, else the release's default; None where unknown."""
        from ...corpus import options

        name = option.partition(".")[0].lstrip("-").replace("-", "_")
        for place in (self.case.arguments, self.facts):
            if place.get(name) is not None:
                return place[name]
        if name == "tensor_parallel_size" and self.ranks > 1:
            return 1 << (self.ranks - 1).bit_length()  # sizes are powers of two, as good as always
        about = options.describe(option, self.release)
        return about.default if about is not None else None
