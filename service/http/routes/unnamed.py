"""``/v1/unnamed``: not named yet, in groups, with a rule proposed for each."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ... import wire
from ...wire import UnnamedGroup, dumps
from .. import problems
from ..bodies import JSON
from ..problems import Problem, busy
from ..respond import history_of, in_store
from ..state import state_of
from .incidents import Id, MayRead, said

TOML = "application/toml"
WAIT = 15.0
"""Seconds that a request waits for what is worked out for the first time; a browser waits for 20."""


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1/unnamed", tags=["history"])
    add = router.add_api_route
    add("", unnamed, response_model=None, responses=said(wire.Unnamed), summary="Group not named yet")
    add(
        "/{id}/rule", rule, response_model=None, summary="Download the rule proposed for a group",
        responses={
            200: {"description": "A rule file", "content": {TOML: {"schema": {"type": "string"}}}},
            **problems.responses(401, 403, 404, 422, 429, 503),
        },
    )  # fmt: skip
    return router


async def unnamed(request: Request, caller: MayRead) -> Response:
    """Return groups of incidents that no rule names surely, and that failed with like words; `vllm-triage learn` does the same for reports.

    They are worked out beside the requests when somebody asks, and anew when the history has changed, at most once a minute.
    """
    return Response(dumps(await _found(request, caller.tenant)), media_type=JSON)


async def rule(request: Request, id: Id, caller: MayRead) -> Response:  # noqa: A002
    """Return the rule file: give it words of your own and a fix, then put it into a folder that `rules` names."""
    found = await _found(request, caller.tenant)
    if found.pending and not found.groups:
        raise busy()
    group = next((group for group in found.groups if group.id == id), None)
    if group is None:
        raise Problem("not-found", "There is no such group; its lines may be named by now, or have grown too old.")
    if not group.rule:
        raise Problem("not-found", f"No rule is proposed: {group.problem}.")
    return Response(
        group.rule, media_type=TOML, headers={"Content-Disposition": f'attachment; filename="{file(group)}"'}
    )


def file(group: UnnamedGroup) -> str:
    """Return the name of a group's rule file: that of its bucket."""
    return f"found_{group.id}.toml"


async def _found(request: Request, tenant: str) -> wire.Unnamed:
    state = state_of(request)
    history = history_of(state)
    mark = await in_store(state, lambda: history.mark(tenant=tenant))
    if not mark or state.unnamed is None:
        return wire.Unnamed()
    return await state.unnamed.find(tenant, mark, WAIT)
