"""Upgrades for a weight that vLLM's class of a model does not know: to the release whose file of the model names it."""

from __future__ import annotations

import re

from ....corpus.actions import Install
from ....corpus.records import replace
from ...fix import Fix
from ...patterns.lazy import LazyPattern
from ..owners import plugin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

_WEIGHT = LazyPattern(
    r"^KeyError: ['\"](?P<key>[\w.\-]{3,200})['\"]|There is no module or parameter named ['\"]?(?P<name>[\w.\-]{3,200})['\"]? in (?P<cls>\w{1,100})",
    re.MULTILINE,
)
_MODEL_FILE = LazyPattern(r"vllm/model_executor/models/(?P<name>[\w/]+)\.py:(?:_?load_|.*params_dict\[)")
_FALLBACK = LazyPattern(r"Transformers\w*(?:Model|For\w+)")
"""vLLM's classes for models that it has no class of its own for."""
_MODULE = LazyPattern(r"belonging to \S{1,300} \((?P<type>[A-Z]\w{2,100})")
_FAMILY = LazyPattern(r"[A-Z][a-z]+\d*")


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release that an upgrade must reach so that vLLM's class of the model knows the weight that it refused.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
    """
    checks = "checkpoint" in fix.tags
    if fix.fixed_in or not (checks or fix.upgrades_plainly or {"blind", "dated"}.intersection(fix.tags)):
        return fix, ""
    said = _knows(context)
    if said is None:
        return fix, ""
    release, architecture, why = said
    if checks:
        return None, f"the release is at fault: {why}"
    if not context.from_registry:
        return replace(fix, why=why, fixed_in=release), ""
    from ....corpus import architectures

    until = architectures.served_until(architecture) if architecture else ""
    wanted = f">={release},<={until}" if until else f">={release}"
    title = f"Upgrade vLLM to {release} or later, which knows these weights"
    if until:
        title = f"Install vLLM {release} to {until}, which know these weights"
        why = f"{why} {until} is the last that serves {architecture}."
    return replace(
        fix, title=title, kind="command", actions=(Install("vllm", wanted, True),), remark="", why=why, fixed_in=release, whole=True,
        tags=(*fix.tags, "settled"),
    ), ""  # fmt: skip


def _knows(context: Context) -> tuple[str, str, str] | None:
    """Return the release that knows the weight, the architecture that later ones gave up, or "", and the reason."""
    found = _WEIGHT.search(context.case.text)
    if found is None or plugin_of(context):
        return None
    cls = found["cls"] or ""
    return _of_fallback(context) if _FALLBACK.fullmatch(cls) else _of_files(found["key"] or found["name"], cls, context)


def _of_files(weight: str, cls: str, context: Context) -> tuple[str, str, str] | None:
    """Return the release whose model file names the weight, the architecture that the file serves, and the reason."""
    from ....corpus import architectures
    from ....corpus.options import releases, version_key
    from ....corpus.weight_names import first_naming

    stack = context.stack
    files = list(dict.fromkeys(_MODEL_FILE.made.findall(stack)))
    if not files and cls and (model := architectures.model_class(cls, context.release)) is not None:
        files = [model.module]
    after = context.release if context.told or context.release != releases()[-1] else ""
    named = [(*told, file) for file in files if (told := first_naming(file, weight, after)) is not None]
    if not named:
        return None
    release, part, file = max(named, key=lambda each: version_key(each[0]) or ())
    served = architectures.of_module(file, _before(release))
    # A file holds several: as long as one of them is served, that may be the one.
    gone = served[0] if served and all(map(architectures.served_until, served)) else ""
    if gone and (version_key(architectures.served_until(gone)) or ()) < (version_key(release) or ()):
        return None
    return release, gone, f"vllm/model_executor/models/{file}.py names {part} from {release} on."


def _before(release: str) -> str:
    from ....corpus import architectures

    known = architectures.releases()
    return known[max(0, known.index(release) - 1)] if release in known else release


def _of_fallback(context: Context) -> tuple[str, str, str] | None:
    """Return the first release with a class of its own for a model that vLLM ran by transformers' code."""
    from ....corpus import architectures
    from ....corpus.options import version_key

    module = _MODULE.search(context.text)
    family = _FAMILY.match(module["type"]) if module is not None else None
    if family is None:
        return None
    named = [name for name in architectures.names() if re.match(rf"{family[0]}(?=For)", name)]
    firsts = [release for name in named if (release := architectures.first_serving(name))]
    if not firsts:
        return None
    release = min(firsts, key=lambda each: version_key(each) or ())
    told = version_key(context.told) if context.told else None
    if told is not None and told >= (version_key(release) or ()):
        return None
    why = f"{family[0]} ran by transformers' code here, for which vLLM has no names of weights; from {release} on it has a class of its own."
    return release, "", why
