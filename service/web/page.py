"""Serves the page and its files: one document for all addresses, files under the hash of all of them."""

from __future__ import annotations

import hashlib
import html
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse

STATIC = Path(__file__).parent / "static"
EXAMPLE = Path(__file__).parents[2] / "corpus" / "logs" / "written" / "kv-cache-too-small.log"
"""The log behind 'try an example'."""
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".log": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    # No string becomes markup or script, whatever a later change of the page forgets.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
HEADERS = {
    "Content-Security-Policy": "; ".join(POLICY),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    media_type: str
    etag: str


def page_router() -> APIRouter:
    """Return the routes of the page: ``/``, ``/history``, ``/unnamed``, ``/incidents/{id}``, ``/static/…``."""
    router = APIRouter(include_in_schema=False)
    methods = ["GET", "HEAD"]
    router.add_api_route("/", _page, methods=methods)
    router.add_api_route("/history", _page, methods=methods)
    router.add_api_route("/unnamed", _page, methods=methods)
    router.add_api_route("/incidents/{id}", _below, methods=methods)
    router.add_api_route("/static/{version}/{name}", _static, methods=methods)
    return router


def _page(request: Request) -> Response:
    return _document(request, "")


def _below(request: Request) -> Response:
    return _document(request, "../")


def _document(request: Request, up: str) -> Response:
    # Relative addresses hold below every root path, told to us or not.
    text = (STATIC / "index.html").read_text("utf-8").replace("{static}", f"{up}static/{_version()}")
    body = text.replace("{root}", html.escape(up or "./")).encode()
    return _answer(request, _File(body, TYPES[".html"], _hash(body)), "no-cache")


def _static(request: Request, version: str, name: str) -> Response:
    file = _files().get(name)
    if file is None:
        return PlainTextResponse("no such file", 404, HEADERS)
    # A page of another release, still open in a browser, gets what there is, but must not keep it.
    return _answer(request, file, FOREVER if version == _version() else "no-cache")


def _answer(request: Request, file: _File, caching: str) -> Response:
    headers = {**HEADERS, "Cache-Control": caching, "ETag": f'"{file.etag}"'}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if f'"{file.etag}"' in known:
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.media_type, headers=headers)


@cache
def _version() -> str:
    """Return the hash of all files of the page: one changed file gives all of them a new address."""
    return _hash(b"".join(name.encode() + file.etag.encode() for name, file in sorted(_files().items())))


@cache
def _files() -> dict[str, _File]:
    paths = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES and path.suffix != ".html"}
    if EXAMPLE.is_file():
        paths["example.log"] = EXAMPLE
    return {name: _read(path) for name, path in paths.items()}


def _read(path: Path) -> _File:
    body = path.read_bytes()
    return _File(body, TYPES[path.suffix], _hash(body))


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]
