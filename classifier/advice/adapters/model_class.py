"""Upgrades for what vLLM's class of a model lacks: to the first release that has it, and none where no release has."""

from __future__ import annotations

import re

from ....corpus.actions import Action, Install, UseImage
from ....corpus.records import Record, record, replace
from ...fix import Fix, because
from ...patterns.lazy import LazyPattern
from ..owners import plugin_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

_UNKNOWN = LazyPattern(
    r"Model architectures? \[?(?P<listed>['\"]?\w[\w, '\"]{0,400}?)\]? (?:are|is) not supported (?:for now|by ROCm)|"
    r"\b(?P<untold>\w{1,100}) has no vLLM implementation and the Transformers implementation is not compatible|"
    r"The Transformers implementation of '?(?P<backend>\w{1,100})'? is not compatible|"
    r"Cannot find model module\. '?(?P<module>\w{1,100})'? is not a registered model"
)
_CONFIG = LazyPattern(r"'(?P<stem>[A-Z]\w{2,60}?)(?:Text)?Config' object has no attribute")
"""A configuration without a field that vLLM reads: one whose model the release does not know has it elsewhere."""
_REFUSED = (
    ("SupportsLoRA", "LoRA adapters", LazyPattern(
        r"(?:\b(?P<cls>(?!Model\b)\w{1,80})|<class '[\w.]{1,200}?(?P<path>\w{1,80})'>|\bModel|modeling) (?:does not support LoRA(?: yet\b|, but)|is not supported for LoRA)|No supported LoRA modules found in (?P<cls2>\w{1,80})"
    )),
    ("SupportsPP", "pipeline parallelism", LazyPattern(r"Pipeline parallelism is (?:not supported for this model|only supported for the following)")),
    ("SupportsEagle3", "EAGLE3 heads", LazyPattern(r"Model does not support EAGLE3")),
    ("SupportsTranscription", "transcriptions", LazyPattern(r"model does not support (?:the )?(?:Transcriptions?|Translations?) API")),
    ("SupportsMRoPE", "M-RoPE", LazyPattern(r"M-RoPE support is not implemented")),
)  # fmt: skip
"""Interfaces that vLLM asks a model's class for, what each is for, and the words that refuse a class without."""
_MODEL_FILE = LazyPattern(r"vllm/model_executor/models/(?P<name>\w+)\.py:")
_NO_MODELS = frozenset({"interfaces", "interfaces_base", "registry", "utils", "adapters", "vision", "__init__", "config", "module_mapping"})  # fmt: skip
_OF_MODEL = LazyPattern(r"\w{1,120}(?:ForCausalLM|ForConditionalGeneration|Model|LMHeadModel|For\w+)")
_FALLS_BACK = (0, 7, 2)
"""The release from which vLLM tries the Transformers backend by itself (``model_impl`` is ``auto``)."""
_FALLEN = LazyPattern(r"\b(?P<name>\w{1,100}) has no vLLM implementation, falling back to Transformers")
_FALLEN_SIGN = "has no vLLM implementation, falling back"
_BACKEND = LazyPattern(r"vllm/model_executor/models/transformers(?:/\w+)?\.py:|\bTransformers\w*For\w+")
"""Frames of the Transformers backend, and its classes."""


@record(frozen=True)
class Lack(Record):
    """What a release lacks for a model."""

    names: tuple[str, ...]
    """Architectures, any of which would do."""
    interface: str = ""
    """That the class lacks; "" where there is no class."""
    use: str = ""
    """What the interface is for."""


def lack_in(context: Context) -> Lack | None:
    """Return what the error says that this release lacks for the model; None where it says something else, or names no model."""
    text = context.case.text
    if found := _UNKNOWN.search(text):
        listed = found["listed"] or found["untold"] or found["backend"] or found["module"]
        return Lack(tuple(dict.fromkeys(re.findall(r"\w+", listed))))
    for interface, use, words in _REFUSED:
        if told := words.search(text):
            groups = told.groupdict()
            cls = groups.get("cls") or groups.get("path") or groups.get("cls2") or ""
            names = _served_by(cls) if cls else _in_use(context)
            return Lack(names, interface, use) if names else None
    names = _of_config(found["stem"], context.release) if (found := _CONFIG.search(text)) else ()
    return Lack(names) if names else None


def _of_config(stem: str, release: str) -> tuple[str, ...]:
    """Return the architectures that go with a configuration's class, where a later release serves them and this one serves none."""
    from ....corpus import architectures

    kinds = re.compile(rf"{re.escape(stem)}(?:Thinker)?(?:For[A-Z]\w+|Model)")
    names = tuple(name for name in architectures.names() if kinds.fullmatch(name))
    return () if any(architectures.serves(name, release) is not False for name in names) else names


def fallen_back(context: Context) -> str:
    """Return the architecture on which the Transformers backend failed, and for which a later release has a class of its own.

    Args:
        context: Of the failed start; "" where the error is another part's, or where no later release has such a class.
    """
    trace = context.trace
    if trace is None or not _BACKEND.search(f"{trace.stack()}\n{trace.message}"):
        return ""
    found = _FALLEN.search(context.words) if _FALLEN_SIGN in context.words else None
    told = context.facts.get("architecture")
    name = found["name"] if found else told if isinstance(told, str) else ""
    if not name or _has(name, "", context.release):
        return ""
    return name if _first(name, "", context.release, has=False) else ""


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release that an upgrade must reach so that vLLM has what the error says is lacking; or tell that none has.

    Args:
        fix: As it holds otherwise. One that was turned over to a plug-in, or to a build of one's own, stays so.
        context: Of the failed start.
    """
    if reason := _beside_the_class(fix, context):
        return None, reason
    backend = fix.option == "--model-impl" and fix.value == "transformers"
    if not backend and (not fix.upgrade or "settled" in fix.tags):
        return fix, ""
    lack = lack_in(context)
    if lack is None and not backend and (name := fallen_back(context)):
        lack = Lack((name,))
    if lack is None:
        return (fix, "") if backend else _given_up(fix, context)
    if backend:
        return (None, "vLLM tried the Transformers backend by itself") if _tried(lack, context) else (fix, "")
    if plugin_of(context):
        return fix, ""  # its own classes are in no release of vLLM
    return _upgrade(fix, lack, context)


def _beside_the_class(fix: Fix, context: Context) -> str:
    """Tell why a fix of config.json is none: the class is named already, or it is the one that failed; "" elsewhere."""
    pinned = fix.installs("transformers")
    if (
        pinned is not None
        and pinned.spec.startswith("==")
        and _CONFIG.search(context.case.text)
        and lack_in(context) is not None
    ):
        return "its transformers knows the configuration, and this vLLM has no class for the model"
    if "complete_class" in fix.tags and _backbone(context):
        return "the class is named before it"
    of_config = "config" in fix.tags or any(each.base == "--hf-overrides" for each in fix.options)
    if not of_config and not (pinned is not None and pinned.spec.startswith("==")):
        return ""
    name = fallen_back(context)
    return (
        f"the release has no class of its own for {name}: the Transformers backend failed on it, not on its configuration"
        if name
        else ""
    )


def _backbone(context: Context) -> bool:
    """Tell whether the unknown architecture is the backbone of a known one."""
    from ....corpus import architectures

    lack = lack_in(context)
    return lack is not None and not lack.interface and bool(architectures.complete(lack.names[0]))


def _upgrade(fix: Fix, lack: Lack, context: Context) -> tuple[Fix | None, str]:
    from ....corpus import architectures

    newest = architectures.releases()[-1]
    has = {name: _has(name, lack.interface, context.release) for name in lack.names}
    if context.told and any(has.values()):
        # The release has it: the words are those of a platform, a plug-in or a patched build.
        return fix, ""
    when = {name: _first(name, lack.interface, context.release, has[name]) for name in lack.names}
    reached = [(release, name) for name, release in when.items() if release]
    if not reached:
        return _last(fix, lack, context, newest)
    from ....corpus.options import version_key

    release, name = min(reached, key=lambda item: version_key(item[0]) or ())
    found = architectures.model_class(name, release)
    file, cls = ("", name) if found is None else (found.file, found.name)
    if lack.interface:
        what = f"in which {name} supports {lack.use}"
        why = f"{cls} has {lack.interface} from {release} on ({file})."
    else:
        what = f"the first that serves {name}"
        why = f"vLLM's registry has {name} from {release} on ({file})."
    if not context.from_registry:
        return replace(fix, why=because(fix, why)), ""
    return replace(
        fix, title=f"Upgrade vLLM to {release} or later, {what}", kind="command", actions=to_release(release), remark="", why=why,
        fixed_in=release, whole=True,
    ), ""  # fmt: skip


def to_release(release: str, *more: Action) -> tuple[Action, ...]:
    """Return the actions that bring a release of vLLM, or a later one."""
    return (Install("vllm", f">={release}", True), *more, UseImage(f"vllm/vllm-openai:v{release}"))


def _given_up(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Return an upgrade as it is where the newest release serves the model in use; else none, or the last release that does."""
    from ....corpus import architectures
    from ....corpus.options import version_key

    names = _in_use(context, all_of_file=True)
    # A file holds several: as long as one of them is served, that may be the one.
    until = architectures.served_until(names[0]) if names and all(map(architectures.served_until, names)) else ""
    release = version_key(context.release)
    if not until or release is None or context.own_build or context.pinned_by or plugin_of(context):
        return fix, ""
    if release >= (version_key(until) or ()):
        return None, f"vLLM serves {names[0]} up to {until} only"
    last, reason = _last(fix, Lack((names[0],), "", ""), context, until)
    if last is None or fix.fixed_in or fix.versions:
        return last, reason
    # The server's own release serves it as well: nothing says yet that a later one helps.
    title = f"Try vLLM {until}, the last that serves {names[0]}, without knowing that it helps"
    return replace(last, title=title, tags=(*last.tags, "try")), ""


def _last(fix: Fix, lack: Lack, context: Context, newest: str) -> tuple[Fix | None, str]:
    """Return the way back to the last release that served a model; None where no release has what it lacks."""
    from ....corpus import architectures

    name = lack.names[0]
    if lack.interface:
        return None, f"no release of vLLM up to {newest} has {lack.interface} in its class for {name} ({lack.use})"
    until = architectures.served_until(name)
    if not until:
        return None, f"no release of vLLM up to {newest} serves {name}"
    if context.own_build or context.pinned_by:
        return None, f"vLLM serves {name} up to {until} only"
    address = architectures.plugin(name)
    also = f"   # or the plug-in {address}" if address else ""
    return replace(
        fix, title=f"Install vLLM {until}, the last that serves {name}", kind="command", actions=(Install("vllm", f"=={until}"),), remark=also,
        why=f"vLLM's registry has {name} up to {until} and no more.", cost="An old release without later fixes.", whole=True,
        tags=tuple(tag for tag in fix.tags if tag != "blind"),
    ), ""  # fmt: skip


def _has(name: str, interface: str, release: str) -> bool:
    from ....corpus import architectures

    found = architectures.model_class(name, release)
    return found is not None and (not interface or interface in found.interfaces)


def _first(name: str, interface: str, release: str, has: bool) -> str:
    """Return the first release, later than the log's, that has it; where the log does not tell its own, the first of the last run."""
    from ....corpus import architectures

    if not has:
        return architectures.first_serving(name, release, interface)
    runs = [version for version in architectures.releases() if not _has(name, interface, version)]
    return architectures.first_serving(name, runs[-1] if runs else "", interface)


def _tried(lack: Lack, context: Context) -> bool:
    from ....corpus.options import version_key

    if lack.interface or context.arguments.get("model_impl") == "vllm":
        return False
    if any(_has(name, "", context.release) for name in lack.names) and context.told:
        return False
    return (version_key(context.release) or ())[:3] >= _FALLS_BACK


def _served_by(cls: str) -> tuple[str, ...]:
    """Return the architectures of a class; its own name where no release has the class, and nothing for what is no model's."""
    from ....corpus import architectures

    found = architectures.of_class(cls)
    return found[:1] if found else ((cls,) if _OF_MODEL.fullmatch(cls) else ())


def _in_use(context: Context, all_of_file: bool = False) -> tuple[str, ...]:
    """Return the architecture that the log says was loaded: by vLLM's own line, or by the frames of its file."""
    from ....corpus import architectures

    told = context.facts.get("architecture")
    if isinstance(told, str) and told:
        return (told,)
    stack = context.stack
    files = [file for file in _MODEL_FILE.made.findall(stack) if file not in _NO_MODELS]
    found = architectures.of_module(files[-1], context.release) if files else ()
    return found if all_of_file else found[:1]
