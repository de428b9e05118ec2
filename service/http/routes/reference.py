"""``/docs``: the API's reference as one page, made here: no script, nothing from another host."""

from __future__ import annotations

import html
import json
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..openapi import document

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
STYLE = """
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:3rem}h3 code{font-size:1em}section{border-top:1px solid #8884;padding:.5rem 0}code,pre{font-family:ui-monospace,monospace;
font-size:.875rem}pre{overflow:auto;max-height:24rem;padding:1rem;background:#8881;border-radius:.4rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top;border-bottom:1px solid #8883}
.method{display:inline-block;min-width:4rem;font-weight:700}summary{cursor:pointer}nav a{display:block}
"""


def routes() -> APIRouter:
    """Return the pages."""
    router = APIRouter(include_in_schema=False)
    router.add_api_route("/openapi.json", schema)
    router.add_api_route("/docs", reference)
    return router


def schema(request: Request) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(
        _described(request.app, request.scope.get("root_path", "")), headers={"Cache-Control": "no-cache"}
    )


def _described(app: FastAPI, root_path: str) -> dict[str, Any]:
    made = document(app)
    return {**made, "servers": [{"url": root_path}]} if root_path else made


def reference(request: Request) -> Response:
    """Return the reference for people."""
    page = _page(json.dumps(document(request.app)))
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"})


@cache
def _page(text: str) -> str:
    made = json.loads(text)
    operations = [
        (method.upper(), path, operation) for path, item in made["paths"].items() for method, operation in item.items()
    ]
    parts = []
    for tag in made["tags"]:
        chosen = [item for item in operations if tag["name"] in item[2].get("tags", [])]
        if chosen:
            parts.append(f"<h2>{_text(tag['name'])}</h2><p>{_text(tag['description'])}</p>")
            parts += [_operation(*item) for item in chosen]
    about = "".join(f"<p>{_text(part)}</p>" for part in made["info"]["description"].split("\n\n"))
    title = _text(made["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}: API</title><style>{STYLE}</style><h1>{title}: API</h1>{about}"
        f'<p><a href="openapi.json">openapi.json</a></p>{"".join(parts)}</html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(item['name'])}</code><td>{_text(item['in'])}<td>{_text(_kind(item['schema']))}"
        f"<td>{_text(item.get('description', ''))}"
        for item in operation.get("parameters", [])
    )
    parameters = f"<table><tr><th>parameter<th>in<th>type<th>{rows}</table>" if rows else ""
    bodies = "".join(
        _sample(f"Request as {media}", content)
        for media, content in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = "".join(
        f"<p><b>{_text(status)}</b> {_text(answer.get('description', ''))}</p>"
        + "".join(_sample(f"Answer as {media}", content) for media, content in answer.get("content", {}).items())
        for status, answer in operation["responses"].items()
    )
    return (
        f'<section><h3><span class="method">{method}</span><code>{_text(path)}</code></h3>'
        f"<p>{_text(operation.get('summary', ''))}. {_text(operation.get('description', ''))}</p>{parameters}{bodies}{answers}</section>"
    )


def _kind(schema: dict[str, Any]) -> str:
    return str(schema.get("type") or " or ".join(_kind(item) for item in schema.get("anyOf", [])))


def _sample(label: str, content: dict[str, Any]) -> str:
    if "example" not in content:
        return ""
    example = content["example"]
    shown = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False, indent=2)
    return f"<details><summary>{_text(label)}</summary><pre>{_text(shown)}</pre></details>"


def _text(text: str) -> str:
    return html.escape(str(text))
