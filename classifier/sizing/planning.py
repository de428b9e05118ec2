"""The arithmetic without a log: does a model fit, what context, how many requests, what to change.

Weights and KV cache follow the model's config; what activations, CUDA graphs and contexts take is an allowance, because
vLLM itself only knows it after a profiling run.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..values.batch import default_max_num_seqs
from ..values.computed import gib
from ..values.memory import HIGHEST, default_utilization
from ..values.parallel import divides, sizes_that_divide
from .architecture import FULL, NONE, STATE, Architecture, ConfigError
from .kv_cache import Layout, kv_heads_per_rank, layer_token_bytes
from .parameters import weight_bits
from .placement import Fit, Setup

LEAST_CONTEXT = 2048
"""A smallest change must leave room for a context of this length, or for the length asked for."""
RAISED = 0.95
"""gpu_memory_utilization up to which a change is proposed."""
_MOST_GPUS = 64


class Plan:
    """The answer: the placement chosen, the verdict, and what to change."""

    __slots__ = ("changes", "fit", "model", "notes", "problem", "setup", "verdict")

    def __init__(self, model: Architecture, setup: Setup) -> None:
        self.model = model
        self.setup = setup
        self.fit: Fit | None = None
        self.verdict = "unknown"
        """fits, fits_shorter (with a shorter context), does_not_fit, or unknown (a number is missing)."""
        self.problem = ""
        self.changes: list[tuple[str, str]] = []
        """What would help, smallest change first: the change, and what it gives."""
        self.notes: list[str] = []

    @property
    def context(self) -> int:
        """The context to start with."""
        return self.fit.longest if self.fit else 0

    def flags(self) -> list[tuple[str, str]]:
        """Return the options to start with: those that differ from vLLM's defaults."""
        setup, fit = self.setup, self.fit
        if fit is None or self.verdict not in ("fits", "fits_shorter"):
            return []
        found = [("--tensor-parallel-size", str(fit.tensor))] if fit.tensor > 1 else []
        found += [("--pipeline-parallel-size", str(setup.pipeline))] if setup.pipeline > 1 else []
        shortened = self.context // 16 * 16 or self.context
        if self.verdict == "fits_shorter":
            found.append(("--max-model-len", str(shortened)))
        elif setup.max_model_len:
            found.append(("--max-model-len", str(setup.max_model_len)))
        facts = setup.facts()
        if setup.utilization != default_utilization(facts):
            found.append(("--gpu-memory-utilization", f"{setup.utilization:g}"))
        found += [("--kv-cache-dtype", setup.kv_dtype)] if setup.kv_dtype != "auto" else []
        found += [("--quantization", setup.quantization)] if setup.quantization else []
        if setup.max_num_seqs != default_max_num_seqs(facts):
            found.append(("--max-num-seqs", str(setup.max_num_seqs)))
        if setup.max_num_batched_tokens:
            found.append(("--max-num-batched-tokens", str(setup.max_num_batched_tokens)))
        return [*found, ("--enforce-eager", "")] if setup.enforce_eager else found


def make_plan(config: Mapping[str, object], setup: Setup) -> Plan:
    """Return whether the model of ``config`` fits ``setup``, with the smallest tensor-parallel size that does."""
    model = Architecture(config)
    plan = Plan(model, setup)
    sizes = _sizes(model, setup)
    if setup.tensor and not _divides(model, setup.tensor):
        plan.verdict = "does_not_fit"
        plan.problem = f"{setup.tensor} ranks do not divide {_shape(model)}."
        plan.changes = [
            (f"--tensor-parallel-size {size}", "divides the model")
            for size in sizes_that_divide(setup.gpus, _facts(model))[-1:]
        ]
        return plan
    if (setup.tensor or 1) * setup.pipeline > setup.gpus:
        raise ConfigError(
            f"{(setup.tensor or 1) * setup.pipeline} ranks need as many GPUs; there are {setup.gpus} (--gpus)"
        )
    fits = [Fit(model, setup, size) for size in sizes]
    plan.fit = next((fit for fit in fits if fit.fits), None) or max(fits, key=lambda fit: (fit.longest, fit.kv_memory))
    if not plan.fit.weights:
        plan.problem = f"{plan.fit.weighed.formula}: give --weights SIZE (the sum of the checkpoint's files)."
        return plan
    if plan.fit.fits:
        plan.verdict = "fits"
    elif plan.fit.longest >= min(LEAST_CONTEXT, plan.fit.wanted):
        plan.verdict = "fits_shorter"
        plan.problem = (
            f"One request of {plan.fit.wanted} tokens needs {gib(plan.fit.needed)} of KV cache; "
            f"{gib(plan.fit.kv_memory)} are left."
        )
        plan.changes = _for_context(model, setup, plan.fit)
    else:
        plan.verdict = "does_not_fit"
        plan.problem = _why_not(setup, plan.fit)
        plan.changes = _for_weights(model, setup)
    _add_notes(plan)
    return plan


def _facts(model: Architecture) -> dict[str, int]:
    """Return the model's shape in the words of a log's facts; MLA has no KV heads to divide."""
    shape = {"num_attention_heads": model.heads, "vocab_size": model.vocab}
    return shape if model.mla else shape | {"num_key_value_heads": model.kv_heads}


def _divides(model: Architecture, size: int) -> bool:
    return divides(size, model.heads or None, None if model.mla else model.kv_heads or None, model.vocab or None)


def _shape(model: Architecture) -> str:
    return f"{model.heads} attention heads, {model.kv_heads} KV heads and a vocabulary of {model.vocab}"


def _sizes(model: Architecture, setup: Setup, gpus: int = 0) -> list[int]:
    if setup.tensor:
        return [setup.tensor]
    return sizes_that_divide(max(1, (gpus or setup.gpus) // setup.pipeline), _facts(model)) or [1]


def _why_not(setup: Setup, fit: Fit) -> str:
    ranks = fit.tensor * setup.pipeline
    whole, gpus = fit.weights * ranks, f"{setup.gpus} × {gib(setup.gpu_memory)}"
    if whole >= setup.gpu_memory * setup.gpus:
        return f"No flag fixes this: weights {gib(whole)}, GPUs {gpus}."
    budget = setup.gpu_memory * setup.utilization
    return (
        f"On each GPU {gib(budget)} ({setup.utilization:g} of {gib(setup.gpu_memory)}) are too little: "
        f"weights {gib(fit.weights)}, activations and contexts about {gib(fit.overhead)}."
    )


def _for_context(model: Architecture, setup: Setup, fit: Fit) -> list[tuple[str, str]]:
    """Return what would lengthen the context, each alone."""
    tried: list[tuple[str, Setup]] = []
    if setup.utilization < RAISED:
        tried.append((f"--gpu-memory-utilization {RAISED}", setup.changed(utilization=RAISED)))
    if setup.kv_dtype == "auto":
        tried.append(("--kv-cache-dtype fp8", setup.changed(kv_dtype="fp8")))
    changes = []
    for change, other in tried:
        longest = Fit(model, other, fit.tensor).longest
        if longest > fit.longest:
            changes.append((change, _gives(longest, fit.wanted)))
    return changes + _more_gpus(model, setup, fit.wanted)


def _for_weights(model: Architecture, setup: Setup) -> list[tuple[str, str]]:
    """Return what makes a model fit that does not, smallest change first."""
    wanted = setup.max_model_len or min(LEAST_CONTEXT, model.longest(setup.version))
    need = setup.changed(max_model_len=wanted)
    changes: list[tuple[str, str]] = []
    if setup.utilization < RAISED and (fit := _first(model, need.changed(utilization=RAISED))):
        changes.append(
            (f"--gpu-memory-utilization {RAISED}", _room(model, setup.changed(utilization=RAISED), fit.tensor))
        )
    bits = None if setup.weights else weight_bits(model, setup.quantization)
    for method, width, words in (
        ("fp8", 8, "an FP8 checkpoint of the model"),
        ("awq", 5, "a 4-bit checkpoint of the model (AWQ, GPTQ, w4a16)"),
    ):
        if bits and bits[0] > width + 1 and (fit := _first(model, need.changed(quantization=method))):
            parallel = f" with --tensor-parallel-size {fit.tensor}" if fit.tensor > 1 else ""
            changes.append((words + parallel, f"weights {gib(fit.weights)} on a GPU"))
            break
    return changes + _more_gpus(model, setup, wanted)


def _first(model: Architecture, setup: Setup, gpus: int = 0) -> Fit | None:
    fits = (Fit(model, setup, size) for size in _sizes(model, setup, gpus))
    return next((fit for fit in fits if fit.fits), None)


def _more_gpus(model: Architecture, setup: Setup, wanted: int) -> list[tuple[str, str]]:
    need = setup.changed(max_model_len=wanted, tensor=0)
    fit = _first(model, need, _MOST_GPUS * setup.pipeline)
    if fit is None:
        return []
    change = f"--tensor-parallel-size {fit.tensor}"
    ranks = fit.tensor * setup.pipeline
    if ranks > setup.gpus:
        change = f"{ranks} GPUs of {gib(setup.gpu_memory)}: {change}"
    return [(change, f"weights {gib(fit.weights)} on a GPU, {_room(model, setup.changed(tensor=0), fit.tensor)}")]


def _room(model: Architecture, setup: Setup, tensor: int) -> str:
    """Return the context that the model's own would be cut to, not the one that was asked for at least."""
    fit = Fit(model, setup.changed(max_model_len=0), tensor)
    return f"room for a context of {min(fit.longest, fit.wanted)} tokens"


def _gives(longest: int, wanted: int) -> str:
    return f"the full {wanted} tokens fit" if longest >= wanted else f"{longest} tokens fit"


def _add_notes(plan: Plan) -> None:
    setup, fit = plan.setup, plan.fit
    if fit is None:
        return
    used = fit.tensor * setup.pipeline
    if plan.verdict == "fits" and setup.gpus // used > 1:
        plan.notes.append(
            f"{used} of {setup.gpus} GPUs are enough; --data-parallel-size {setup.gpus // used} uses all of them."
        )
    if setup.utilization > HIGHEST:
        plan.notes.append(
            f"gpu_memory_utilization {setup.utilization:g} leaves no room for the driver; {HIGHEST} is about the most."
        )
    if "vision_config" in plan.model.whole or "audio_config" in plan.model.whole:
        plan.notes.append("Activations of the vision or audio encoder are not counted.")
    if not setup.overhead:
        plan.notes.append(
            "Activations, CUDA graphs and contexts are an allowance; vLLM measures them when it starts (--overhead)."
        )


def token_formula(model: Architecture, layout: Layout, tensor: int, kv_dtype: str) -> str:
    """Return how the bytes per token come about, in words."""
    each = layer_token_bytes(model, tensor, kv_dtype)
    kept = [kind for kind in model.kinds if kind not in (STATE, NONE)]
    total = f"{layout.token_bytes / 1024:g} KiB"
    if not kept:
        return "no layer keeps tokens"
    if model.mla:
        numbers, shape = model.head_dim, f"{model.head_dim} (MLA)"
    else:
        heads = kv_heads_per_rank(model, tensor)
        numbers = heads * (model.head_dim + model.head_dim_v)
        shape = f"{heads} KV heads × ({model.head_dim} + {model.head_dim_v})"
    text = f"{len(kept)} layers × {shape} × {each / numbers:g} bytes = {total}"
    if model.indexer_bytes:
        text += f", {model.indexer_bytes} bytes per layer for the indexer included"
    if len(layout.groups) > 1 and (windowed := sum(kind != FULL for kind in kept)):
        text += f"; {windowed} layers keep only a window of {model.window}"
    if STATE in model.kinds:
        text += f"; {model.kinds.count(STATE)} layers keep a state of fixed size"
    return text
