"""Upgrades for what vLLM lacks for a model: to the first release that has it, and none where no release has."""

from __future__ import annotations

from ....corpus import architectures, model_types
from ....corpus.actions import Action, Install, UseImage
from ....corpus.options import version_key
from ....corpus.records import replace
from ...fix import Fix, because
from ..signs import plugin_of
from .lacks import CONFIG, Lack, Need, first_with, has_class, in_use, need_in, weight_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..context import Context

_FALLS_BACK = (0, 7, 2)
"""The release from which vLLM tries the Transformers backend by itself (``model_impl`` is ``auto``)."""


def adapt(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release that an upgrade must reach so that it has what the error says is lacking; or tell that none has.

    Args:
        fix: As it holds otherwise. One that was turned over to a plug-in, or to your own build, stays so.
        context: Of the failed start.
    """
    for step in (_by_weight, _by_class, _by_type):
        fitting, reason = step(fix, context)
        if fitting is None:
            return None, reason
        fix = fitting
    return fix, ""


def _by_weight(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release that an upgrade must reach so that vLLM's class of the model knows the weight that it refused."""
    checks = "checkpoint" in fix.tags
    if fix.fixed_in or not (checks or fix.upgrades_plainly or {"blind", "dated"}.intersection(fix.tags)):
        return fix, ""
    said = weight_named(context)
    if said is None:
        return fix, ""
    release, architecture, why = said
    if checks:
        return None, f"the release is at fault: {why}"
    if not context.from_registry:
        return replace(fix, why=why, fixed_in=release), ""
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


def _by_class(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release that an upgrade must reach so that vLLM has what the error says is lacking; or tell that none has."""
    if reason := _beside_the_class(fix, context):
        return None, reason
    backend = fix.option == "--model-impl" and fix.value == "transformers"
    if not backend and (not fix.upgrade or "settled" in fix.tags):
        return fix, ""
    lack = context.lack
    if lack is None and not backend and (name := context.fallen_back):
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
        and CONFIG.search(context.case.text)
        and context.lack is not None
    ):
        return "its transformers knows the configuration, and this vLLM has no class for the model"
    if "complete_class" in fix.tags and _backbone(context):
        return "the class is named before it"
    of_config = "config" in fix.tags or any(each.base == "--hf-overrides" for each in fix.options)
    if not of_config and not (pinned is not None and pinned.spec.startswith("==")):
        return ""
    name = context.fallen_back
    return (
        f"the release has no class of its own for {name}: the Transformers backend failed on it, not on its configuration"
        if name
        else ""
    )


def _backbone(context: Context) -> bool:
    """Return whether the unknown architecture is the backbone of a known one."""
    lack = context.lack
    return lack is not None and not lack.interface and bool(architectures.complete(lack.names[0]))


def _upgrade(fix: Fix, lack: Lack, context: Context) -> tuple[Fix | None, str]:
    newest = architectures.releases()[-1]
    has = {name: has_class(name, lack.interface, context.release) for name in lack.names}
    if context.told and any(has.values()):
        # The release has it: the words are those of a platform, a plug-in or a patched build.
        return fix, ""
    when = {name: first_with(name, lack.interface, context.release, has[name]) for name in lack.names}
    reached = [(release, name) for name, release in when.items() if release]
    if not reached:
        return _last(fix, lack, context, newest)

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
    names = in_use(context, all_of_file=True)
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


def _tried(lack: Lack, context: Context) -> bool:
    if lack.interface or context.arguments.get("model_impl") == "vllm":
        return False
    if any(has_class(name, "", context.release) for name in lack.names) and context.told:
        return False
    return (version_key(context.release) or ())[:3] >= _FALLS_BACK


def _by_type(fix: Fix, context: Context) -> tuple[Fix | None, str]:
    """Name the release of transformers, or of vLLM, that an upgrade must reach so that a model type is known; or tell that none is."""
    of_vllm, other = fix.upgrade, fix.installs("transformers")
    if not of_vllm and (other is None or other.spec.startswith("==")):
        return fix, ""
    need = need_in(context)
    if need is None:
        return fix, ""
    return _vllm(fix, need, context) if of_vllm else _transformers(fix, need, context)


def _transformers(fix: Fix, need: Need, context: Context) -> tuple[Fix | None, str]:
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
    for version in model_types.later_than(after):
        if need.served(version) is not False and (
            need.allowed(version) or model_types.own_class(need.model_type, version)
        ):
            return version
    return ""
