"""What a fix presumes by what it sets, and what in the log speaks against it.

A fix's own conditions stand in its rule file. These hold for all fixes: vLLM's options are of no use where the failing program
is not vLLM, nor an option of a feature that is not in use, nor what a client could send where the start failed.
"""

from __future__ import annotations

import re

from ...corpus.records import replace
from ..diagnosis import Advice
from ..patterns.lazy import LazyPattern
from ..values.worked import number
from .backend_reasons import not_the_reason
from .peers import too_little
from .pins import UPGRADE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command.parts import Part
    from .situation import Situation

_OPTION = LazyPattern(r"(?<![\w-])--[a-z][a-z0-9-]+")
_OF_VLLM = LazyPattern(r"\bVLLM_[A-Z]|\bvllm serve\b|\binstall [^#;]*\bvllm\b|^(?:Upgrade|Update) ")
_FEATURES = (
    ("LoRA", LazyPattern(r"--(?:enable-lora|lora-|max-(?:cpu-)?loras?|fully-sharded-lora)"), LazyPattern(r"lora|adapter|peft", re.IGNORECASE)),
    ("speculative decoding", LazyPattern(r"--(?:num-)?(?:speculative|spec)-"), LazyPattern(r"spec|draft|eagle|mtp|medusa|ngram|proposer|multi_step_worker", re.IGNORECASE)),
    ("a second node", LazyPattern(r"--(?:master-(?:addr|port)|nnodes|node-rank)"), LazyPattern(r"nnodes|node[-_ ]rank|master[-_ ](?:addr|port)|multi-?node|nNodes [2-9]", re.IGNORECASE)),
    ("a mixture of experts", LazyPattern(r"--(?:moe-backend|enable-expert-parallel|enable-eplb|all2all-backend)"), LazyPattern(r"moe|expert|eplb|mixtral|deepseek|\dx\d+b|a\d+b|all2all|deep_?ep|pplx", re.IGNORECASE)),
    ("a KV connector", LazyPattern(r"--kv-transfer-config"), LazyPattern(r"kv_?-?transfer|connector|nixl|lmcache|mooncake|disagg|prefill", re.IGNORECASE)),
)  # fmt: skip
"""Features that are off unless somebody asks for them: their options, and the words without which a log does not show them in use."""
_GRAPHS = LazyPattern(r"cudagraph|cuda-graph|--max-seq-len-to-capture")
_ALL_REDUCE = LazyPattern(r"--disable-custom-all-reduce|\bNCCL_(?:P2P|NVLS|CUMEM)\w*=")
_PYTHON = frozenset({
    "AssertionError", "AttributeError", "FileNotFoundError", "ImportError", "IndexError", "KeyError", "ModuleNotFoundError", "NameError", "NotImplementedError", "OSError",
    "PermissionError", "TypeError", "UnboundLocalError", "ValidationError", "ValueError", "ZeroDivisionError",
})  # fmt: skip
"""Exceptions of Python code: the same is raised with and without compiled kernels."""
_COMPILED = LazyPattern(r"compil|graph|captur|inductor|dynamo|triton|torch/fx|functorch|warm_?up|jit", re.IGNORECASE)
"""Frames and words of what eager mode leaves out."""
_GENERATED = LazyPattern(r"vllm/model_executor/models/\w+\.py:forward: NameError")
"""Released models miss no name: such a frame is of code that torch.compile made."""
_START = LazyPattern(
    r":(?:profile_run|_dummy_run|_dummy_sampler_run|determine_(?:available_memory|num_available_blocks)|profile_num_available_blocks|load_model|load_weights|init_device|"
    r"capture_model|compile_or_warm_up_model|_initialize_kv_caches|initialize_cache|from_engine_args): "
)
"""Frames that only a start has."""
_BY_REQUESTS = LazyPattern(r"\b(?:requests?|prompts?|messages|clients?)\b|max_tokens|top_p|logprobs|image_url")
_DUMMY = LazyPattern(
    r":(?:_?get_dummy_\w+|dummy_data_for_profiling|get_decoder_dummy_data|get_encoder_dummy_data|_get_dummy_mm_inputs|get_mm_max_tokens|get_mm_limits_per_prompt): "
    r"|vllm/multimodal/(?:profiling|encoder_budget|budget)\.py:"
)
"""Frames in which vLLM makes media of its own, to see how much memory they take."""
_PROCESSED = LazyPattern(r"vllm/(?:multimodal/processing|inputs/(?:registry|processing)|multimodal/registry)")
_OF_MEDIA = LazyPattern(r"(?i:\b(?:media|images?|videos?|audios?|placeholders?|chat endpoint|prompts?|requests?)\b)")
_BY_CHAT = LazyPattern(
    r"(?is)\b(?:placeholders?|markers|image tokens|media tokens)\b.*(?:/v1/chat/completions|\bthe chat endpoint\b)|"
    r"(?:/v1/chat/completions|\bthe chat endpoint\b).*\b(?:placeholders?|markers|image tokens|media tokens)\b"
)
_CHATTED = LazyPattern(r"POST /v1/chat/completions|serving_chat|\bcreate_chat_completion\b|\bchatcmpl-")
_NEWER = LazyPattern(r"(?i:^(?:upgrade|update|install|pin|match)\b)")
_ONE_GPU = LazyPattern(
    r"\b(?:Jetson|AGX Orin|Orin N[Xx]|Jetson Thor|DGX Spark|GB10|Tegra)\b|\bNvMapMem|\btegra(?:stats|_)|\[METAL\]|\bMetal memory\b|\bMacBook\b"
)
"""Machines with one GPU that uses the host's memory."""
_ONE_GPU_SIGNS = ("Jetson", "Orin", "DGX Spark", "GB10", "Tegra", "tegra", "NvMapMem", "METAL", "Metal", "MacBook")
"""Of which each match of that holds one: most logs hold none, and looking for these takes a hundredth of the time."""
_MORE_GPUS = LazyPattern(r"--(?:tensor|pipeline|data)-parallel-size (?!1\b)|--cpu-offload-gb|--swap-space")
_BEFORE = LazyPattern(r"\bbefore|^Start|\bserver\b")
_CONTAINER = LazyPattern(r"\bcontainers?\b")
_BEFORE_AMPERE = LazyPattern(
    r"\bTesla (?:T4|V100|P\d+)|\b(?:T4|V100)\b|\bsm_[67]\d\b|[Cc]ompute [Cc]apability:? (?:of )?[67]\.|\bRTX ?20\d0\b|\bGTX ?1\d{3}\b|\b(?:Volta|Turing)\b|Quadro RTX"
)
"""GPUs that compute no bfloat16."""
_BEFORE_TURING = LazyPattern(
    r"\b(?:Tesla )?(?:V100|P100|P40)\b|\bsm_(?:6\d|70)\b|[Cc]ompute [Cc]apability:? (?:of )?(?:6\.|7\.0)|\bVolta\b|\bGTX ?10\d0\b"
)
"""GPUs on which quantised layers have no Marlin kernels, in any release."""
_DOCKER = LazyPattern(r"docker run [^;]*$")
_AT_HOME = LazyPattern(
    r"(?:/home/\w[\w.-]*|/Users/\w[\w.-]*|[A-Z]:\\+\w[^\n]*?)[/\\][^\n]*?(?:site-packages|envs|venv)"
)
_CONTAINED = LazyPattern(r"docker|container|kube|compose|podman|apptainer|singularity|\bpod\b", re.IGNORECASE)
_ALREADY = (
    (LazyPattern(r"^VLLM_LOGGING_LEVEL=DEBUG(?: vllm serve [^;&]*)?$"), LazyPattern(r"\bDEBUG \d\d-\d\d \d\d:\d\d:\d\d"), "the log has vLLM's DEBUG lines already"),
    (LazyPattern(r"^(?:export )?NCCL_DEBUG=INFO(?: vllm serve [^;&]*)?$"), LazyPattern(r"\bNCCL INFO\b"), "the log has NCCL's INFO lines already"),
)  # fmt: skip
"""Switches that make a log say more, and the lines that only come with them."""


_LATE = LazyPattern(r"\b(?:CUDA|HIP|NPU) error|AcceleratorError|device-side assert")
"""Errors of kernels that ran before: they come to light in any later call."""
_OUTSIDE_GRAPHS = (
    (LazyPattern(r":(?:set_lora|slice_lora_[ab]|activate_adapter|_?load_adapter|from_local_checkpoint|from_lora_tensors): [^\n]*\Z"), "the weights of an adapter are read or copied there, which is not part of CUDA graphs"),
    (LazyPattern(r":_get_prompt_logprobs\w*: |:_get_logits: "), "the error was raised where logits are worked out, which is not part of CUDA graphs"),
    (LazyPattern(r":_?(?:reshape|allocate)_kv_caches?(?:_\w+)?: [^\n]*\Z"), "the KV cache gets its shape there, which is the same with and without CUDA graphs"),
    (LazyPattern(r"triton/(?:runtime/build|backends/\w+/driver)\.py"), "Triton builds its own driver there, for kernels that eager mode uses as well"),
)  # fmt: skip
"""Frames of what eager mode does not leave out: what the runner calls outside the graphs, and what comes before them."""
_SMALL_GIB = 1.5
"""Weights on one GPU below which memory is not short for their sake."""
_MANY = 8
"""Ranks of which all are full while weights are made: the model is too large by much, as a rule."""
_LOADING = LazyPattern(r":(?:create_weights|load_model|initialize_model|_initialize_model|make_layers): ")
_OF_WEIGHTS = LazyPattern(
    r"^Split the (?:weights|model) over|\b(?:quantised|4-bit|8-bit) checkpoint|checkpoint that is already quantised|"
    r"checkpoint of fewer bits|--cpu-offload-gb"
)


def unfounded(fix: Advice, situation: Situation) -> str:
    """Tell what speaks against what a fix presumes; "" where nothing does.

    Args:
        fix: As its rule file has it.
        situation: Of the failed start.
    """
    for check in (
        _vllms_own,
        _in_use,
        _eager,
        _of_a_request,
        _of_media,
        _in_container,
        _newer,
        _marlin,
        _bfloat16,
        _one_machine,
        _loud,
        not_the_reason,
        _of_small_weights,
        too_little,
        _of_many_full_gpus,
    ):
        if reason := check(fix, situation):
            return reason
    return ""


def asked_so(fix: Advice, situation: Situation) -> str:
    """Tell that a request came through the endpoint to which a fix sends it; "" where the log does not show it.

    Args:
        fix: Of the cause, or of the message itself.
        situation: Of the failed request.
    """
    if fix.kind != "step" or not _BY_CHAT.search(f"{fix.title} {fix.change}") or not _CHATTED.search(situation.words):
        return ""
    return "the request came through the chat endpoint, which writes the placeholders itself"


def without_idle_parts(fix: Advice, situation: Situation) -> Advice | None:
    """Return a fix without those of its options that cannot matter to this server; None where none is left.

    Args:
        fix: Sets options.
        situation: Of the failed start.
    """
    from ..command.change import read_change

    read = read_change(fix.change)
    parts = read[1] if read is not None and not read[0] else []
    if not parts:
        return None if _ALL_REDUCE.search(fix.change) and _one_gpu(situation) else fix
    idle = [part for part in parts if _idle(part, situation)]
    if not idle:
        return fix
    if len(idle) == len(parts):
        return None
    change = " ".join(word.value for part in parts if part not in idle for word in (*part.words[:1], *part.values))
    return replace(fix, change=change) if read_change(change) is not None else None


def _idle(part: Part, situation: Situation) -> bool:
    if part.name == "--disable-custom-all-reduce":
        return _one_gpu(situation)
    if part.name != "--max-num-batched-tokens" or len(part.values) != 1 or not part.values[0].value.isdigit():
        return False
    # Without chunked prefill a step must take the longest prompt: vLLM refuses a smaller limit.
    facts = situation.facts
    chunked = situation.case.arguments.get("enable_chunked_prefill")
    if chunked is True or (chunked is None and facts.get("engine") != "V0"):
        return False
    length = facts.get("max_model_len")
    return not isinstance(length, int) or length > int(part.values[0].value)


def _one_gpu(situation: Situation) -> bool:
    """Tell whether the server runs on one GPU, by its own settings: nothing is exchanged between GPUs then."""
    facts = situation.facts
    sizes = (
        facts.get("tensor_parallel_size"),
        facts.get("pipeline_parallel_size") or 1,
        facts.get("data_parallel_size") or 1,
    )
    return sizes == (1, 1, 1) and situation.ranks == 1


def _vllms_own(fix: Advice, situation: Situation) -> str:
    if not situation.stranger:
        return ""
    if fix.kind == "flag" or _OF_VLLM.search(fix.change):
        return "the program that failed is not vLLM: it has no such setting"
    return ""


def _in_use(fix: Advice, situation: Situation) -> str:
    if fix.kind != "flag" or not situation.words:
        return ""
    for name, options, words in _FEATURES:
        if options.search(fix.change) and not words.search(situation.words):
            return f"nothing in the log shows {name}"
    if _GRAPHS.search(fix.change) and situation.in_force("--enforce-eager") is True:
        return "CUDA graphs are off already (--enforce-eager)"
    return ""


def _eager(fix: Advice, situation: Situation) -> str:
    trace = situation.trace
    if "--enforce-eager" not in fix.change or trace is None or not trace.frames:
        return ""
    stack = trace.stack()
    late = _LATE.search(f"{trace.kind}: {trace.message}") is not None
    reason = "" if late else next((why for where, why in _OUTSIDE_GRAPHS if where.search(stack)), "")
    if _GENERATED.search(f"{trace.frames[-1].path}:{trace.frames[-1].function}: {trace.kind}"):
        return ""
    if reason or trace.kind not in _PYTHON or _COMPILED.search(stack) or _COMPILED.search(trace.message):
        return reason
    return "the error is one of Python code, raised outside compilation and CUDA graphs"


def _of_a_request(fix: Advice, situation: Situation) -> str:
    trace = situation.trace
    if fix.kind != "step" or trace is None or not _START.search(trace.stack()):
        return ""
    said = f"{fix.title} {fix.change}"
    if not _BY_REQUESTS.search(said) or _BEFORE.search(said):
        return ""
    return "the start failed: there was no request yet"


def _of_media(fix: Advice, situation: Situation) -> str:
    """Tell that nobody sent the media on which a start failed: vLLM profiles with its own, in the engine's process."""
    trace = situation.trace
    if (
        fix.kind != "step"
        or trace is None
        or not _OF_MEDIA.search(f"{fix.title} {fix.change}")
        or _NEWER.match(fix.title)
    ):
        return ""
    # Requests' media are processed by the API server.
    in_engine = trace.process.startswith(("EngineCore", "Worker", "VllmWorker")) and _PROCESSED.search(trace.stack())
    if not in_engine and not _DUMMY.search(trace.stack()):
        return ""
    return "vLLM failed on the dummy media with which it profiles at the start: nobody sent any"


def _of_small_weights(fix: Advice, situation: Situation) -> str:
    """Tell that the weights, of which a fix would take some away, are no burden by the log's own number."""
    weights = number(situation.facts, "weights_gib")
    more_ranks = fix.moves == "up" and fix.option == "--tensor-parallel-size"
    if not weights or weights >= _SMALL_GIB or not (more_ranks or _OF_WEIGHTS.search(f"{fix.title} {fix.change}")):
        return ""
    return f"the weights take {weights:g} GiB only: what is short is taken by something else"


def _of_many_full_gpus(fix: Advice, situation: Situation) -> str:
    """Tell that a few GiB of each GPU cannot hold what many GPUs together had no room for."""
    ranks = situation.in_force("--tensor-parallel-size") if fix.option == "--cpu-offload-gb" else 0
    if not isinstance(ranks, int) or ranks < _MANY:
        return ""
    trace = situation.trace
    if trace is None or not _LOADING.search(trace.stack()):
        return ""
    return (
        f"{ranks} GPUs were full before all layers were made: a few GiB of each in host memory are not what is lacking"
    )


def _one_machine(fix: Advice, situation: Situation) -> str:
    words = situation.words
    if fix.kind != "flag" or not _MORE_GPUS.search(fix.change) or not any(sign in words for sign in _ONE_GPU_SIGNS):
        return ""
    if _ONE_GPU.search(words):
        return "the machine has one GPU, and it shares the host's memory"
    return ""


def _in_container(fix: Advice, situation: Situation) -> str:
    if "image" in fix.title.lower() or not (_CONTAINER.search(fix.title) or _DOCKER.match(fix.change)):
        return ""
    if not _AT_HOME.search(situation.words) or _CONTAINED.search(situation.words):
        return ""
    return "the server runs in an environment of a user's own, not in a container"


def _newer(fix: Advice, situation: Situation) -> str:
    if fix.kind != "step" or not (UPGRADE.search(fix.title) or UPGRADE.search(fix.change)):
        return ""
    from ...corpus import options

    newest = options.releases()[-1]
    return f"{newest} is the newest release that is known" if situation.told.partition("+")[0] == newest else ""


def _marlin(fix: Advice, situation: Situation) -> str:
    if "q_marlin" not in fix.change:
        return ""
    named = f"{situation.facts.get('gpu_name') or ''} {situation.words}"
    return "the GPU that the log names has no Marlin kernels" if _BEFORE_TURING.search(named) else ""


def _bfloat16(fix: Advice, situation: Situation) -> str:
    if "--dtype bfloat16" not in fix.change:
        return ""
    named = f"{situation.facts.get('gpu_name') or ''} {situation.words}"
    return "the GPU that the log names has no bfloat16" if _BEFORE_AMPERE.search(named) else ""


def _loud(fix: Advice, situation: Situation) -> str:
    """Tell that a log says already what a switch would make it say."""
    change = fix.change.partition(" 2>&1")[0].partition("  #")[0].strip()
    return next((why for switch, lines, why in _ALREADY if switch.search(change) and lines.search(situation.words)), "")
