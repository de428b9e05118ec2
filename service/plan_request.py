"""A plan as programs ask for it, and as they are answered: over HTTP, and by agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..classifier.sizing.architecture import ConfigError
from ..classifier.sizing.kv_cache import UnknownDtypeError
from ..classifier.sizing.planning import make_plan
from ..classifier.values.computed import parse_bytes
from ..corpus.gpus import UnknownGpuError, find_gpu
from .plan import plan_data, setup_of
from .release import Release

Size = Annotated[str, Field(max_length=40, pattern=r"^\s*\d[\d.,_]{0,20}\s*[A-Za-z]{0,5}\s*$", examples=["24GiB"])]
Count = Annotated[int, Field(ge=1, le=10**9)]


class PlanRequest(BaseModel):
    """What `vllm-triage plan` takes."""

    model_config = ConfigDict(extra="forbid")

    model_settings: dict[str, Any] = Field(alias="model_config", description="the model's config.json")
    gpu: Annotated[str, Field(max_length=80, description="its name (H100, A100-40GB), in the place of gpu_memory")] = ""
    gpu_memory: Size | None = Field(None, description="memory of one GPU, as nvidia-smi shows it; goes before gpu")
    gpus: Annotated[int, Field(ge=1, le=100_000)] = 1
    model: Annotated[str, Field(max_length=300, description="name to print in the command")] = ""
    vllm_version: Release = None
    weights: Size | None = Field(None, description="size of all weights, instead of an estimate")
    overhead: Size | None = Field(None, description="what activations, graphs and contexts take on each GPU")
    tensor_parallel_size: Annotated[int, Field(ge=1, le=100_000)] | None = None
    pipeline_parallel_size: Annotated[int, Field(ge=1, le=100_000)] = 1
    max_model_len: Count | None = None
    max_num_seqs: Count | None = None
    max_num_batched_tokens: Count | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    kv_cache_dtype: Annotated[str, Field(max_length=40)] = "auto"
    quantization: Annotated[str, Field(max_length=40)] = ""
    enforce_eager: bool = False


class PlanAnswer(BaseModel):
    """Whether it fits, and with what; what is not known is absent."""

    model_config = ConfigDict(extra="allow")

    verdict: Literal["fits", "fits_shorter", "does_not_fit", "unknown"]
    problem: str = ""
    command: str = Field("", description="the command to start with")


class ImpossibleError(Exception):
    """What is asked makes no plan; the text says why."""


def work_out(asked: PlanRequest) -> dict[str, object]:
    """Return the plan that is asked for, as plain values (``PlanAnswer``).

    Raises:
        ImpossibleError: There is none.
    """
    try:
        weights = _size("weights", asked.weights) if asked.weights else 0
        overhead = _size("overhead", asked.overhead) if asked.overhead else 0
        memory = _size("gpu_memory", asked.gpu_memory) if asked.gpu_memory else find_gpu(asked.gpu).bytes
        setup = setup_of(asked, memory, weights, overhead)
        made = make_plan(asked.model_settings, setup)
    except UnknownDtypeError:
        text = "How this kv_cache_dtype lays out the KV cache is not known; auto, bfloat16, fp8 and nvfp4 are."
        raise ImpossibleError(text) from None
    except UnknownGpuError as error:
        raise ImpossibleError(str(error) if asked.gpu else "gpu_memory or gpu is needed.") from None
    except ConfigError as error:
        raise ImpossibleError(f"model_config: {error}") from None
    except (ArithmeticError, TypeError, ValueError, AttributeError, KeyError, RecursionError):
        raise ImpossibleError("model_config: its values make no model.") from None
    name = asked.model or str(asked.model_settings.get("_name_or_path") or "") or "MODEL"
    return plan_data(made, name)


def _size(name: str, text: str) -> int:
    found = parse_bytes(text)
    if not found or found > 1 << 50:
        raise ImpossibleError(f"{name} is not a size (24GiB, 80GB).")
    return found
