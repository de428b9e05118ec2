"""``plan_memory``: does a model fit some GPUs, and with which options?"""

from __future__ import annotations

from anyio.to_thread import run_sync

from ...plan_request import ImpossibleError, PlanAnswer, PlanRequest, work_out
from ..budget import compact
from ..desk import Desk
from ..interface import Answer, CannotError, Progress

TITLE = "Work out whether a model fits some GPUs"
ABOUT = (
    "From a model's config.json (model_config) and the memory of a GPU work out weights, KV cache, the longest context and the "
    "number of requests that fit, and the command to start with. Needs no log and no GPU. For a failed start use triage_log: it "
    "has measured figures."
)
Asked = PlanRequest


def schema() -> dict[str, object]:
    """Return the schema of a plan (``POST /v1/plan``)."""
    return PlanAnswer.model_json_schema(mode="serialization")


async def call(asked: PlanRequest, _desk: Desk, _progress: Progress) -> Answer:
    """Answer by arithmetic."""
    try:
        data = await run_sync(work_out, asked)
    except ImpossibleError as error:
        raise CannotError(str(error)) from None
    return Answer(compact(data), data)
