"""Where a model goes: the memory of the fullest GPU for one tensor-parallel size."""

from __future__ import annotations

from ..values.batch import default_max_num_batched_tokens, default_max_num_seqs
from ..values.computed import GIB, Computed, gib, number, release_at_least
from ..values.memory import default_utilization
from .architecture import Architecture, first_integer
from .kv_cache import layout
from .parameters import number_of_experts, weights_per_rank


class Setup:
    """What a server would be started with. Memory is in bytes; what is left out takes vLLM's default."""

    __slots__ = (
        "enforce_eager",
        "gpu_memory",
        "gpus",
        "kv_dtype",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_seqs",
        "overhead",
        "pipeline",
        "quantization",
        "tensor",
        "utilization",
        "version",
        "weights",
    )

    def __init__(self, gpu_memory: int, gpus: int = 1, version: str = "") -> None:
        self.gpu_memory = gpu_memory
        self.gpus = gpus
        self.version = version
        facts = self.facts()
        self.utilization = default_utilization(facts)
        self.max_num_seqs = default_max_num_seqs(facts)
        self.max_num_batched_tokens = 0
        self.max_model_len = 0
        self.tensor = 0
        self.pipeline = 1
        self.kv_dtype = "auto"
        self.quantization = ""
        self.weights = 0
        self.overhead = 0
        self.enforce_eager = False

    def facts(self) -> dict[str, object]:
        """Return the setup in the words of a log's facts."""
        return {"gpu_memory_total_gib": self.gpu_memory / GIB, "vllm_version": self.version}

    def changed(self, **values: object) -> Setup:
        """Return a copy with other values."""
        other = Setup(self.gpu_memory, self.gpus, self.version)
        for name in self.__slots__:
            setattr(other, name, values.get(name, getattr(self, name)))
        return other


class Fit:
    """One way to place the model: the memory of the fullest GPU."""

    __slots__ = ("batched", "kv_memory", "layout", "longest", "overhead", "tensor", "wanted", "weighed", "weights")

    def __init__(self, model: Architecture, setup: Setup, tensor: int) -> None:
        self.tensor = tensor
        self.wanted = setup.max_model_len or model.longest(setup.version)
        self.batched = setup.max_num_batched_tokens or default_max_num_batched_tokens(
            setup.facts() | {"max_model_len": self.wanted}
        )
        self.weighed = _weights(model, setup, tensor)
        self.weights = int(number(self.weighed.inputs, "bytes") or 0)
        self.overhead = setup.overhead or allowance(model, setup, tensor, self.batched)
        self.layout = layout(model, tensor, setup.pipeline, setup.kv_dtype, setup.version)
        self.kv_memory = int(setup.gpu_memory * setup.utilization) - self.weights - self.overhead
        in_flight = _in_flight(self.batched, setup)
        self.longest = self.layout.longest(self.kv_memory, self.wanted, in_flight) if self.kv_memory > 0 else 0
        self.batched = in_flight

    @property
    def fits(self) -> bool:
        """Whether one request of the context wanted fits: vLLM starts."""
        return self.longest >= self.wanted

    @property
    def needed(self) -> int:
        """Bytes of KV cache that one request of the context wanted needs."""
        return self.layout.request_bytes(self.wanted, self.batched)

    def concurrency(self, length: int) -> float:
        """Return how many requests of ``length`` tokens fit at a time."""
        return self.layout.concurrency(self.kv_memory, length, self.batched) if self.kv_memory > 0 and length else 0.0


def _in_flight(batched: int, setup: Setup) -> int:
    """Return the tokens in flight that windowed layers keep: from 0.26 on those of all concurrent batches.

    With asynchronous scheduling one more batch than pipeline stages (vllm/config/vllm.py, max_in_flight_tokens).
    """
    return batched if release_at_least(setup.version, 0, 26) is False else batched * (setup.pipeline + 1)


def _weights(model: Architecture, setup: Setup, tensor: int) -> Computed:
    if not setup.weights:
        return weights_per_rank(model, tensor, setup.pipeline, setup.quantization)
    ranks = tensor * setup.pipeline
    each = setup.weights // ranks
    text = f"{gib(setup.weights)} as given" + (f" ÷ {ranks} GPUs → {gib(each)}" if ranks > 1 else "")
    return Computed(f"{each / GIB:.2f}", text, {"bytes": each})


def allowance(model: Architecture, setup: Setup, tensor: int, batched: int) -> int:
    """Return an allowance for what is neither weights nor KV cache, in bytes.

    Hidden states and the MLP's intermediate results of one step (three of each, 16 bits), twice the logits of all
    sequences in 32 bits, 0.25 GiB of CUDA context, 0.75 GiB for communication between GPUs, and from 0.20 on 0.5 GiB
    for CUDA graphs, which the budget then includes.
    """
    config = model.config
    width = first_integer(config, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim") or 4 * model.hidden
    if number_of_experts(config):
        chosen = first_integer(config, "num_experts_per_tok", "num_experts_per_token", "moe_topk") or 2
        width = max(width, chosen * (first_integer(config, "moe_intermediate_size") or width))
    step = 2 * batched * 3 * (model.hidden + width // tensor)
    logits = 2 * 4 * setup.max_num_seqs * model.vocab
    fixed = 0.25 * GIB + (0.75 * GIB if tensor * setup.pipeline > 1 else 0)
    graphs = 0 if setup.enforce_eager or release_at_least(setup.version, 0, 20) is False else 0.5 * GIB
    return int(step + logits + fixed + graphs)
