"""What helps a model whose architecture this release does not know, or that fell to the Transformers backend."""

from __future__ import annotations

import json

from ....corpus.actions import Install, SetOption, Step
from ....corpus.records import replace
from ...fix import AHEAD, Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..context import Context

_OWN_CLASS = Fix(
    "Upgrade vLLM", "command", (Install("vllm", "", True),), "", "Other defaults and flags change with the release.", restart=True,
    tags=("blind",),
)  # fmt: skip
"""For a model that fell to the Transformers backend and failed there."""


_SIGNS = ("support", "implement", "registered model", "object has no attribute", "ransformers")
"""Without one of these nothing is said of a model's class; most errors say nothing of it."""


def propose(context: Context) -> Iterator[Fix]:
    """Yield the right name or class first of all, and the model's own plug-in behind the cause's fixes."""
    if not context.failed or context.hit is None or context.of_request:
        return
    if not any(sign in text for text in (context.case.text, context.stack) for sign in _SIGNS):
        return
    lack = context.lack
    if lack is None and context.fallen_back:
        yield replace(_OWN_CLASS, tier=AHEAD)
    if lack is None or lack.interface or any(_known(name) for name in lack.names):
        return
    from ....corpus import architectures

    name = lack.names[0]
    if full := architectures.complete(name):
        yield replace(_whole(name, full, context.release), tier=AHEAD)
    elif meant := architectures.nearest(name, context.release):
        yield replace(_respelt(name, meant), tier=AHEAD)
    else:
        yield _elsewhere(name)


def _known(name: str) -> bool:
    from ....corpus import architectures

    return bool(architectures.spans(name) or architectures.served_until(name))


def _respelt(name: str, meant: str) -> Fix:
    value = json.dumps({"architectures": [meant]})
    return Fix(
        f"Correct the architecture's name: {meant}", "flag", (SetOption("--hf-overrides", (value,)),),
        f"vLLM serves {meant}; {name}, which config.json names, is not an architecture of any release. Correct it in config.json for good.",
        "none", "The log prints 'Resolved architecture'.", "--hf-overrides", value, whole=True, restart=True,
    )  # fmt: skip


def _whole(name: str, full: str, release: str) -> Fix:
    """Return the class that serves a checkpoint which names its backbone, and the release that has it where this one does not."""
    from ....corpus import architectures

    value = json.dumps({"architectures": [full]})
    since = "" if architectures.serves(full, release) else architectures.first_serving(full, release)
    why = f"{name}, which config.json names, is the backbone of {full} without its head: a checkpoint saved from it has this name. Correct it in config.json for good."
    cost = "Weights that were saved under the backbone's names, or without the head, have to be saved anew from the complete class."
    verify = "The log prints 'Resolved architecture'."
    if since:
        return Fix(
            f"Name the complete class, {full}, in vLLM {since} or later", "command", (Install("vllm", f">={since}", True),),
            f"{why} vLLM's registry has {full} from {since} on.", cost, verify, fixed_in=since, whole=True, restart=True,
            remark=f"   # then --hf-overrides '{value}'", tags=("settled",),
        )  # fmt: skip
    actions = (SetOption("--hf-overrides", (value,)),)
    return Fix(
        f"Name the complete class, {full}", "flag", actions, why, cost, verify, "--hf-overrides", value, whole=True, restart=True,
    )  # fmt: skip


def _elsewhere(name: str) -> Fix:
    return Fix(
        f"Look on the model card for the plug-in or the build of vLLM that brings {name}", "step",
        (Step("Install what the model card names: a plug-in (vLLM loads those of the entry point vllm.general_plugins), a fork, or a build of vLLM's main branch"),),
        "No release of vLLM has a class of this name.", "Code that vLLM's releases do not test.",
        "The log prints 'Resolved architecture'.", restart=True, tags=("look",),
    )  # fmt: skip
