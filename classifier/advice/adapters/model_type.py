"""Upgrades for a model type that transformers does not know: to the release that does, where vLLM's own bound allows it."""

from __future__ import annotations

import re

from ....corpus.actions import Action, Install
from ....corpus.records import Record, record, replace
from ...facts.versions import in_range
from ...fix import Fix
from ...patterns.lazy import LazyPattern
from .model_class import to_release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

_UNKNOWN = LazyPattern(
    r"model type `?'?(?P<type>[\w.\-]{1,80}?)'?`? but Transformers does not recognize this architecture"
)
_KEY = LazyPattern(r"^KeyError: '(?P<type>[\w.\-]{1,80})'\s*$", re.MULTILINE)
_MAPPING = "transformers/models/auto/configuration_auto.py"
_HEADS = r"(?:for(?:causallm|conditionalgeneration|sequenceclassification)|model|lmheadmodel)"


@record(frozen=True)
class Need(Record):
    """What a model type takes.

    Attributes:
        model_type: As config.json has it.
        transformers: The releases that know it, oldest first; empty where none does.
        architectures: Of vLLM, by the type's name; empty where no release has one of this name.
    """

    model_type: str
    transformers: tuple[str, ...]
    architectures: tuple[str, ...]

    def allowed(self, release: str) -> str:
        """Return the first release of transformers that knows the type and that a release of vLLM allows; "" where none."""
        from ....corpus import model_types

        asked = model_types.asked_by(release)
        return next((version for version in self.transformers if in_range(version, asked)), "") if asked else ""

    def served(self, release: str) -> bool | None:
        """Tell whether a release of vLLM serves the model; None where no release has an architecture of the type's name."""
        from ....corpus import architectures

        return any(architectures.serves(name, release) for name in self.architectures) if self.architectures else None


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release of transformers, or of vLLM, that an upgrade must reach so that a model type is known; or tell that none is.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
    """
    of_vllm, other = fix.upgrade, fix.installs("transformers")
    if not of_vllm and (other is None or other.spec.startswith("==")):
        return fix, ""
    need = need_in(context)
    if need is None:
        return fix, ""
    return _vllm(fix, need, context) if of_vllm else _transformers(fix, need, context)


def need_in(context: Context) -> Need | None:
    """Return what the model type takes that the error says transformers does not know; None where it names none."""
    found = _UNKNOWN.search(context.case.text)
    if found is None and context.trace is not None and _MAPPING in context.trace.stack():
        found = _KEY.search(context.case.text)
    if found is None:
        return None
    from ....corpus import architectures, model_types

    kind = found["type"]
    plain = re.sub(r"\W|_", "", kind).lower()
    named = tuple(name for name in architectures.names() if re.fullmatch(plain + _HEADS, name.lower().replace("_", "")))
    return Need(kind, tuple(model_types.transformers_with(kind)), named)


def _transformers(fix: Fix, need: Need, context: Context) -> tuple[Fix | None, str]:
    from ....corpus import model_types

    kind, release = need.model_type, context.release
    if not need.transformers:
        newest = model_types.newest_transformers()
        return replace(
            fix,
            title="Install transformers from its repository",
            actions=(Install("git+https://github.com/huggingface/transformers"),),
            remark="",
            why=f"No release of transformers up to {newest} knows the model type {kind}: it is newer, or the checkpoint brings code of its own.",
            whole=True,
        ), ""  # fmt: skip
    if not context.told:
        first = need.transformers[0]
        return _to(fix, need, first, f">={first}", "Check with `pip check` that this vLLM allows it."), ""
    if need.served(release) is False:
        return None, f"vLLM {release} does not serve the model: a newer transformers alone only moves the error"
    allowed = need.allowed(release)
    if not allowed:
        return (
            None,
            f"vLLM {release} asks for transformers {model_types.asked_by(release)}, and {kind} is known from {need.transformers[0]} on",
        )
    upper = [part for part in model_types.asked_by(release).split(",") if part.startswith("<")]
    return _to(fix, need, allowed, ",".join([f">={allowed}", *upper]), f"vLLM {release} allows it."), ""


def _to(fix: Fix, need: Need, version: str, wanted: str, bound: str) -> Fix:
    return replace(
        fix,
        title=f"Upgrade transformers to {version} or later, which knows {need.model_type}",
        actions=(Install("transformers", wanted, True),),
        remark="",
        why=f"The model type is in transformers from {need.transformers[0]} on. {bound}",
        whole=True,
    )


def _vllm(fix: Fix, need: Need, context: Context) -> tuple[Fix | None, str]:
    from ....corpus import model_types

    kind, release = need.model_type, context.release
    if not context.from_registry:
        return fix, ""
    if context.told and need.served(release) and need.allowed(release):
        return None, f"vLLM {release} serves the model and allows a transformers that knows it"
    reached = _reaching(need, release if context.told else "")
    if not reached:
        newest = model_types.later_than("")[-1]
        if need.architectures or context.told:
            return None, f"no release of vLLM up to {newest} brings what the model type {kind} takes"
        return fix, ""
    own = model_types.own_class(kind, reached)
    more: tuple[Action, ...] = () if own else (Install("transformers", f">={need.allowed(reached)}", True),)
    said = (
        "has a configuration class of its own for it"
        if own
        else f"allows transformers {need.allowed(reached)}, which knows it"
    )
    serves = f" and serves {need.architectures[0]}" if need.served(reached) else ""
    return replace(
        fix,
        title=f"Upgrade vLLM to {reached} or later, the first that goes with {kind}",
        actions=to_release(reached, *more),
        remark="",
        why=f"vLLM {reached} {said}{serves}.",
        fixed_in=reached,
        whole=True,
    ), ""  # fmt: skip


def _reaching(need: Need, after: str) -> str:
    """Return the first later release of vLLM that reads the model type and, where its architecture is known, serves it."""
    from ....corpus import model_types

    for version in model_types.later_than(after):
        if need.served(version) is not False and (
            need.allowed(version) or model_types.own_class(need.model_type, version)
        ):
            return version
    return ""
