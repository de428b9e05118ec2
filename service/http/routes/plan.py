"""``POST /v1/plan``: does a model fit some GPUs, with what context? As ``vllm-triage plan``, without a log."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Request, Security

from ...plan_request import ImpossibleError, PlanAnswer, PlanRequest, work_out
from .. import problems
from ..auth import Allowed, Caller
from ..bodies import JSON, media_type, parse, unsupported, whole
from ..keys import Scope
from ..problems import Problem
from ..state import state_of

EXAMPLE = {
    "gpu_memory": "24GiB",
    "model": "acme/harbor-8b-instruct",
    "max_model_len": 32768,
    "model_config": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
    },
}  # fmt: skip


def routes() -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(prefix="/v1", tags=["knowledge"])
    content = {"schema": {"$ref": "#/components/schemas/PlanRequest"}, "example": EXAMPLE}
    router.add_api_route(
        "/plan", plan, methods=["POST"], response_model=None, summary="Work out whether a model fits some GPUs",
        responses={
            200: {"model": PlanAnswer, "description": "The verdict with its arithmetic"},
            **problems.responses(401, 403, 408, 413, 415, 422, 429, 503),
        },
        openapi_extra={"requestBody": {"required": True, "content": {JSON: content}}},
    )  # fmt: skip
    return router


async def plan(request: Request, _caller: Annotated[Caller, Security(Allowed(Scope.TRIAGE))]) -> dict[str, object]:
    """Answer from the model's config.json: memory, context, concurrency, options."""
    state = state_of(request)
    if media_type(request) != JSON:
        raise unsupported(JSON)
    asked = parse(PlanRequest, await whole(request, state.settings))
    with state.pools.people:
        return await asyncio.to_thread(_work_out, asked)


def _work_out(asked: PlanRequest) -> dict[str, object]:
    try:
        return work_out(asked)
    except ImpossibleError as error:
        raise Problem("invalid", str(error)) from None
