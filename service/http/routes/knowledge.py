"""``/v1/buckets``, ``/v1/rules``: what is known, as ``vllm-triage explain`` and ``vllm-triage rules`` tell it."""

from __future__ import annotations

from typing import Annotated, Any

import fastapi
from fastapi import APIRouter, Path, Request, Security

from ....corpus.page import page_of
from ....corpus.schema import ROLES
from ...knowledge import rule_data, rule_summary
from ...wire import Bucket, Buckets, Rules
from .. import problems
from ..auth import Allowed, Caller
from ..keys import Scope
from ..problems import Problem, refuse_strange
from ..state import state_of

READING = problems.responses(401, 403, 422, 429)
May = Annotated[Caller, Security(Allowed(Scope.TRIAGE))]


def routes() -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1", tags=["knowledge"])
    add = router.add_api_route
    add("/buckets", buckets, response_model=Buckets, responses=READING, summary="List the kinds of failure")
    add(
        "/buckets/{id}", bucket, response_model=Bucket, responses={**READING, **problems.responses(404)},
        summary="Say what a kind of failure is, and how it is fixed",
    )  # fmt: skip
    add("/rules", rules, response_model=Rules, responses=READING, summary="List the rules")
    return router


def buckets(request: Request, _caller: May) -> dict[str, Any]:
    """Return all buckets with their causes."""
    corpus = state_of(request).desk.engine.corpus
    found = []
    for name in corpus.buckets():
        page = corpus.bucket(name)
        found.append({"id": name, "title": page.title, "causes": [f"{name}/{cause.id}" for cause in page.causes]})
    return {"buckets": found}


def bucket(request: Request, id: Annotated[str, Path(max_length=100)], _caller: May) -> dict[str, Any]:  # noqa: A002
    """Return the page of a bucket: meaning, causes, fixes, rules."""
    corpus = state_of(request).desk.engine.corpus
    if id not in corpus.buckets():
        raise Problem("not-found", "There is no such bucket; GET /v1/buckets lists them.")
    rules = [rule for rule in corpus.rules if rule.bucket == id]
    return {**page_of(corpus.bucket(id)), "rules": [rule_summary(rule) for rule in rules]}


def rules(
    request: Request,
    _caller: May,
    bucket: Annotated[str, fastapi.Query(max_length=100, description="only of this bucket")] = "",
    role: Annotated[str, fastapi.Query(max_length=20, description="only of this role: cause, symptom, fact …")] = "",
) -> dict[str, Any]:
    """Return what is looked for in logs."""
    corpus = state_of(request).desk.engine.corpus
    if bucket:
        refuse_strange("query", "bucket", bucket, corpus.buckets())
    if role:
        refuse_strange("query", "role", role, ROLES)
    chosen = [
        rule for rule in corpus.rules if (not bucket or rule.bucket == bucket) and (not role or rule.role == role)
    ]
    return {"rules": [rule_data(rule) for rule in chosen]}
