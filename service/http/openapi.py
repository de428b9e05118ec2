"""The OpenAPI document: what FastAPI finds out by itself, the bodies that we read ourselves, and real examples."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter

from ...classifier.report.model import SCHEMA_VERSION
from ..wire import Event, ProblemDetails, TriageAnswer, dumps
from .request import Batch, Log
from .respond import JSON_TYPE, forms

REF = "#/components/schemas/{model}"
NDJSON, SSE = "application/x-ndjson", "text/event-stream"
TAGS = [
    {"name": "triage", "description": "A log in, the root cause out."},
    {
        "name": "knowledge",
        "description": "What is known: kinds of failure, causes, rules; and a plan before there is a log.",
    },
    {"name": "history", "description": "Incidents and what people said about the answers."},
    {"name": "operations", "description": "For those who run the service."},
]
ABOUT = (
    """A vLLM log goes in; out come the root cause, the lines that prove it, and the fixes, best first.

Secrets are masked in every answer. Logs are not kept; answers are, unless `store=false` or the service keeps no history.
Errors are problem details (RFC 9457). Reports are of version """
    + SCHEMA_VERSION
    + "."
)
_FILE = {"type": "string", "format": "binary"}
_FORMS: dict[type[BaseModel], dict[str, Any]] = {
    Log: {
        "type": "object", "required": ["file"], "additionalProperties": False,
        "properties": {"file": _FILE, "service": {"type": "string", "maxLength": 100}},
    },
    Batch: {
        "type": "object", "required": ["files"], "additionalProperties": False,
        "properties": {"files": {"type": "array", "items": _FILE, "minItems": 1, "maxItems": 100}},
    },
}  # fmt: skip


def texts() -> dict[str, dict[str, Any]]:
    """Return OpenAPI's words for a report in all formats but JSON."""
    kinds = [media for media in forms() if media != JSON_TYPE]
    return {media: {"schema": {"type": "object" if media.endswith("json") else "string"}} for media in kinds}


RAW_BODY: dict[str, Any] = {
    "required": True,
    "content": {"text/plain": {"schema": {"type": "string"}}, "application/octet-stream": {"schema": _FILE}},
}
ANSWERS: dict[str, Any] = {
    "model": TriageAnswer,
    "description": "The root cause, the lines that prove it, and the fixes, best first",
    "headers": {
        "X-Incident-ID": {"description": "where the answer is kept", "schema": {"type": "string"}},
        "X-Not-Recorded": {"description": "why it is not kept, though it was to be", "schema": {"type": "string"}},
    },
    "content": texts(),
}
EVENTS: dict[str, Any] = {
    "description": "Events (schema `Event`), one a line, or as server-sent events",
    "content": {
        NDJSON: {
            "schema": {
                "type": "string",
                "contentMediaType": NDJSON,
                "contentSchema": {"$ref": REF.format(model="Event")},
            }
        },
        SSE: {"schema": {"type": "string"}},
    },
}


def body(model: type[BaseModel]) -> dict[str, Any]:
    """Return OpenAPI's words for a body that is read by ourselves: JSON or a form, for one log the log itself too."""
    json_body = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
    content = {"application/json": json_body, "multipart/form-data": {"schema": _FORMS[model]}}
    return {"required": True, "content": {**(RAW_BODY["content"] if model is Log else {}), **content}}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the service."""
    # Routes import this module.
    from ..plan_request import PlanRequest
    from .routes.feedback import Said
    from .routes.incidents import Handling

    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version="1", summary=app.summary, description=ABOUT,
            servers=[{"url": app.root_path or "/"}],
            routes=app.routes, tags=TAGS, license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        )  # fmt: skip
        read, said = (Log, Batch, PlanRequest, Said, Handling), (ProblemDetails, Event)
        _, extra = TypeAdapter.json_schemas(
            [
                *((kind.__name__, "validation", TypeAdapter[Any](kind)) for kind in read),
                *((kind.__name__, "serialization", TypeAdapter[Any](kind)) for kind in said),
            ],
            ref_template=REF,
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in extra["$defs"].items():
            schemas.setdefault(name, schema)
        # FastAPI's own form of a validation error, which we never send.
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        _add_examples(made["paths"])
        for operation in (operation for path in made["paths"].values() for operation in path.values()):
            # Where no key is set, none is asked for; some never ask.
            operation["security"] = [*operation["security"], {}] if "security" in operation else []
        app.openapi_schema = made
    return app.openapi_schema


def _add_examples(paths: dict[str, Any]) -> None:
    """Add real logs, and what the engine really answers to them."""
    from .examples import NAME, events, example_answer, part_of_log, report_with_incident

    log = part_of_log()
    value = {"service": "chat", "name": NAME, "log": log}
    one, several, stream = (paths[f"/v1/triage{end}"]["post"] for end in ("", "/batch", "/stream"))
    for operation in (one, stream):
        operation["requestBody"]["content"]["text/plain"]["example"] = log
    one["requestBody"]["content"]["application/json"]["example"] = value
    several["requestBody"]["content"]["application/json"]["example"] = {"logs": [value]}
    answers = one["responses"]["200"]["content"]
    whole = json.loads(dumps(report_with_incident()))
    answers[JSON_TYPE]["example"] = whole
    for media, form in forms().items():
        if media != JSON_TYPE:
            text = example_answer(form).text
            answers[media]["example"] = json.loads(text) if media.endswith("json") else text
    results = [{"name": NAME, "report": whole, "problem": None}]
    several["responses"]["200"]["content"][JSON_TYPE]["example"] = {"results": results}
    lines = [(event["event"], json.dumps(json.loads(dumps(event)), ensure_ascii=False)) for event in events()]
    told = stream["responses"]["200"]["content"]
    told[NDJSON]["example"] = "".join(f"{line}\n" for _, line in lines)
    told[SSE]["example"] = "".join(f"event: {kind}\ndata: {line}\n\n" for kind, line in lines)
