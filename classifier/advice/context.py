"""What is known of a start that failed, for all who advise: frozen, worked out when asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property

from ...corpus.guards import ANY_CASE
from ..complaints.case import Case
from ..patterns.lazy import LazyPattern
from ..patterns.precompiled import compiled
from ..situation.releases import ReleaseBound, gone_from, reference
from ..situation.situate import situate
from ..situation.writer import SILENT, Writer
from .signs import Signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.store import Corpus
    from ...corpus.types import Cause
    from ..clues import Found
    from ..lines.types import Line, Trace
    from ..matching.types import Hit
    from ..repairs.failing_line import Failure
    from ..repairs.since import Since
    from ..verdict.types import Verdict
    from .adapters.lacks import Lack
    from .sources.message import Remedy

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
_OLD_HUB = ("huggingface_hub/utils/_errors", "huggingface_hub.utils._errors")
"""A module that later clients of the hub have elsewhere."""
_OF_CLIENTS = "client_connection"
"""The bucket of those who call a server."""
SERVED = ("api_ready", "serving", "shutdown")
"""Stages after which an error is about a request, not about how the server was started."""


def _shown(verdict: Verdict) -> str:
    """Return the lines that are the proof, with those around them."""
    around = verdict.incident.contexts.lines
    texts = [text for item in verdict.evidence for text in (item.text, *(text for _, text, _ in around(item.line)))]
    return "\n".join(dict.fromkeys(texts))


class Context:
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
        asked: Whether a request failed, at a server that somebody else runs: who called it does not make the engine.
        hit: The one that decided; None where none did.
        reached: The furthest stage of the start.
        sites: Lines of vLLM's logger, as far as they were kept.
        cause: What is advised on; None in tests of single parts.
        corpus: Holds what is advised for single messages.
        captures: What the deciding rule captured, and the place of the error.
        gone: The first release without the words that decided; "" where none is known.
        writer: What somebody wrote around the log.
        other_engine: Whose log it is, where it is another engine's than vLLM's.
        failed: Whether there is a failure; a healthy server's remarks are not corrected.
    """

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
        hit: Hit | None = None,
        reached: str = "",
        sites: tuple[Line, ...] = (),
        bound: ReleaseBound | None = None,
        cause: Cause | None = None,
        corpus: Corpus | None = None,
        captures: Mapping[str, object] | None = None,
        gone: str = "",
        failed: bool = False,
        writer: Writer = SILENT,
        other_engine: str = "",
    ) -> None:
        self.__dict__.update(
            case=case, facts=facts, release=release, told=str(facts.get("vllm_version") or ""), hit=hit, reached=reached, sites=sites,
            platform=str(facts.get("platform") or "").lower(), text=text or case.text, ranks=ranks, words=words, trace=trace,
            stranger=stranger, asked=asked, bound=bound or ReleaseBound("", (release,), (), True),
            cause=cause, corpus=corpus, captures=captures or {}, gone=gone, failed=failed, writer=writer, other_engine=other_engine,
        )  # fmt: skip

    case: Case
    facts: Mapping[str, object]
    release: str
    told: str
    platform: str
    text: str
    ranks: int
    words: str
    trace: Trace | None
    stranger: bool
    asked: bool
    hit: Hit | None
    reached: str
    sites: tuple[Line, ...]
    bound: ReleaseBound
    cause: Cause | None
    corpus: Corpus | None
    captures: Mapping[str, object]
    gone: str
    writer: Writer
    other_engine: str
    failed: bool

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: nobody writes into what others read."""
        raise AttributeError(f"{name}: a context is frozen")

    @classmethod
    def of(cls, verdict: Verdict, cause: Cause, corpus: Corpus) -> Context:
        """Gather it from a verdict.

        Args:
            verdict: What is wrong, with the start that it is about.
            cause: What is advised on.
            corpus: Holds what is advised for single messages, and what speaks against fixes.
        """
        hit, incident = verdict.hit, verdict.incident
        situation = situate(incident)
        bound = situation.release
        release = reference(bound, corpus.releases)
        case = Case.of(hit, incident, release)
        gone = gone_from(hit.rule.versions, bound) if hit is not None and hit.rule.source == "vllm" else ""
        captures: dict[str, object] = dict(verdict.captures)
        if any(item.role == "telling" for item in verdict.evidence):
            captures["death_told"] = True
        if not verdict.failed:
            return cls(
                case, incident.facts, release, hit=hit, reached=incident.reached, bound=bound, cause=cause, corpus=corpus, captures=captures, gone=gone,
            )  # fmt: skip
        signs = Signs(hit, incident)
        facts = signs.facts
        if release and not facts.get("vllm_version"):
            # What a release's defaults are is asked of the one that the log can have been written by.
            facts = {**facts, "assumed_release": release}
        if any(name in signs.words for name in _OLD_HUB):
            captures["old_hub_client"] = True
        trace = hit.trace if hit is not None else None
        # Where no line decided, what is shown as the proof is all that there is to go by.
        shown = "" if hit is not None else _shown(verdict)
        return cls(
            case, facts, release, f"{case.text or shown}\n{signs.said}", signs.ranks, f"{signs.words}\n{shown}", trace, hit=hit, reached=incident.reached, bound=bound,
            stranger=hit is not None and hit.rule.source != "vllm" and signs.strange(trace),
            asked=hit is not None and (hit.rule.scope == "request" or hit.rule.bucket == _OF_CLIENTS),
            sites=tuple(incident.sites), cause=cause, corpus=corpus, captures=captures, gone=gone, failed=True, writer=situation.writer, other_engine=incident.engine,
        )  # fmt: skip

    def say(self, pattern: str) -> bool:
        """Whether the words hold a pattern, whatever the case; False where no failure is answered."""
        if not self.failed:
            return False
        if plain := _plain(pattern):
            return any(word in self.lowered for word in plain)
        return compiled(pattern, ANY_CASE).search(self.words) is not None

    @cached_property
    def lowered(self) -> str:
        """The words in lower case."""
        return self.words.lower()

    @cached_property
    def lack(self) -> Lack | None:
        """What the error says that this release lacks for the model; None where it says something else, or names no model."""
        from .adapters.lacks import lack_in

        return lack_in(self)

    @cached_property
    def fallen_back(self) -> str:
        """The architecture on which the Transformers backend failed, and for which a later release has a class; "" elsewhere."""
        from .adapters.lacks import fallen_back

        return fallen_back(self)

    @cached_property
    def failure(self) -> Failure:
        """What failed, as vLLM's sources are asked about it."""
        from ..repairs.failing_line import Failure

        return Failure(
            self.trace, self.case.text, self.bound, self.release, self.told, self.platform, lambda: self.own_build
        )

    @cached_property
    def clues(self) -> list[Found]:
        """What the error's words and place tell of any cause, surest first; none without a corpus."""
        if self.corpus is None:
            return []
        from ..clues import clues_of

        trace = self.trace
        error = f"{trace.kind}: {trace.message}" if trace is not None and trace.kind else self.case.text or self.text
        return clues_of(self.corpus.clues(), error, self.stack, self.text, self.words)

    @cached_property
    def mended(self) -> Since | None:
        """The change to vLLM that mended what failed; None where none is known."""
        from ..repairs.since import repaired

        return repaired(self.failure)

    @cached_property
    def values(self) -> Mapping[str, object]:
        """What slots of the cause's texts and conditions may ask for."""
        return {**self.captures, **self.facts}

    @cached_property
    def remedy(self) -> Remedy | None:
        """What is advised for the very message; None where nothing is, or where the cause's own fixes fit this log better."""
        from .sources.message import remedy_of

        return remedy_of(self) if self.failed else None

    @property
    def arguments(self) -> Mapping[str, object]:
        """As given, by name with underscores."""
        return self.case.arguments

    @property
    def bucket(self) -> str:
        """What is answered; "" where no hit decided."""
        return self.hit.rule.bucket if self.hit is not None else ""

    @property
    def of_request(self) -> bool:
        """Whether a request failed and not the start."""
        return (self.hit is not None and self.hit.rule.scope == "request") or self.reached in SERVED

    @cached_property
    def stack(self) -> str:
        """The frames of the exception that decided, as rules search them; "" where there are none."""
        return self.trace.stack() if self.trace is not None else ""

    @cached_property
    def caller(self) -> str:
        """Who makes the engine: ``script``, the name of a trainer or framework; "" for vLLM's own server, and where nothing tells."""
        from .adapters.caller import caller_of

        return caller_of(self)

    @cached_property
    def framework(self) -> str:
        """The trainer or framework that makes the engine, by the stack and the words; "" where they show none."""
        from .signs import framework_of

        return framework_of(self)

    @cached_property
    def pinned_by(self) -> str:
        """The plug-in or framework in whose hands this vLLM is; "" where none is shown."""
        from .signs import pinned_by

        return pinned_by(self)

    @cached_property
    def from_registry(self) -> bool:
        """Whether this vLLM can be replaced by another wheel of the registry."""
        return not self.own_build and self.platform in ("", "cuda") and not self.pinned_by

    @cached_property
    def from_checkout(self) -> bool:
        """Whether vLLM's frames, as they were printed, lie in a folder of its sources and not among installed packages."""
        frames = self.trace.frames if self.trace is not None else ()
        printed = [
            found["path"]
            for frame in frames
            if frame.path.startswith("vllm/") and (found := _PRINTED.search(frame.raw))
        ]
        return bool(printed) and all(_SOURCES.search(path) and not _INSTALLED.search(path) for path in printed)

    @cached_property
    def changed_at(self) -> str:
        """Where the error's stack shows code that no release has: ``vllm/v1/engine/core.py:step``; "" where it shows none."""
        from ..facts.changed import INDEXED, changed_in

        return changed_in(self.trace.frames) if self.trace is not None and self.bound.within(INDEXED) else ""

    @cached_property
    def own_build(self) -> bool:
        """Whether the server is not a release of the registry: a fork, a checkout, a development build, a build with local changes."""
        from ...corpus import options

        if self.from_checkout or self.changed_at:
            return True
        if not self.told:
            return False
        if _LOCAL.search(self.told):
            return True
        public = self.told.partition("+")[0]
        key, newest = options.version_key(public), options.version_key(options.releases()[-1])
        known = key is None or newest is None or key > newest or public in options.releases()
        return not known and not re.search(r"rc\d|(?:a|b)\d", public) and options.exists("--model", public) is True

    @cached_property
    def one_gpu(self) -> bool:
        """Whether the server runs on one GPU, by its own settings: nothing is exchanged between GPUs then."""
        facts = self.facts
        sizes = (
            facts.get("tensor_parallel_size"),
            facts.get("pipeline_parallel_size") or 1,
            facts.get("data_parallel_size") or 1,
        )
        return sizes == (1, 1, 1) and self.ranks == 1

    def in_force(self, option: str) -> object:
        """Return what an option is set to: as given, else as resolved, else the release's default; None where unknown."""
        from ...corpus import options

        name = option.partition(".")[0].lstrip("-").replace("-", "_")
        for place in (self.arguments, self.facts):
            if place.get(name) is not None:
                return place[name]
        if name == "tensor_parallel_size" and self.ranks > 1:
            return 1 << (self.ranks - 1).bit_length()  # sizes are powers of two, as good as always
        about = options.describe(option, self.release)
        return about.default if about is not None else None


@cache
def _plain(pattern: str) -> tuple[str, ...]:
    """Return the words of an expression that only lists words, in lower case: looking for these takes a tenth of the time."""
    listed = pattern.isascii() and all(part and part.translate(_SPOKEN) == "" for part in pattern.split("|"))
    return tuple(pattern.lower().split("|")) if listed else ()


_SPOKEN = str.maketrans("", "", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-/:=,'\"<>&%@!#;~`")
"""Leaves of a text what means something to ``re``."""
