"""Puts the service together: ``create_app(settings)`` is the ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from ...classifier.api import Triage, shared
from ...classifier.report.schema import adapter
from ...classifier.version import version
from ...corpus.build import regex_build
from ..reading import BodyMemory
from ..render.interface import Options, Result, load
from . import openapi, problems
from .chats import open_chat
from .examples import example_log
from .limits import Places, Pools, Rate
from .memory import give_back
from .metrics import Metrics
from .middleware import ID, Envelope, NotePeer
from .problems import Problem
from .respond import forms, in_store
from .routes import (
    feedback,
    incidents,
    knowledge,
    messages,
    operations,
    plan,
    reference,
    render,
    sign_in,
    stream,
    triage,
    unnamed,
)
from .settings import Settings
from .state import State
from .tracing import tracing
from .turns import Turns
from .work.dispatcher import Dispatcher
from .work.jobs import Job, Limits
from .work.worker_pool import SHARED, Workers

if TYPE_CHECKING:
    from ..history import History
    from .sign_in.sessions import Sessions

HISTORY_CALLS = 128
"""Calls of the history that may wait; its four threads do hundreds in a second."""
LOOK = 5.0
"""Seconds between two looks for sessions that other processes have ended, and at a provider that does not answer."""
PROVIDER = 60.0
"""The same at a provider that answers."""
SAME = 2.0
"""Seconds within which signals to stop are taken for one."""
_log = logging.getLogger("vllm_triage.http")


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application.

    Raises:
        ValueError: Settings that do not go together, or ask for what is not installed.
        HistoryError: The database cannot be opened.
    """
    settings = settings or Settings()
    traces = tracing(settings.otel_endpoint)
    state = _state(settings)
    app = FastAPI(
        title="vllm-triage", summary="Root causes of vLLM logs", openapi_url=None, docs_url=None, redoc_url=None,
        lifespan=_lifespan, root_path=settings.root_path, redirect_slashes=False,
    )  # fmt: skip
    app.state.service = state
    app.state.history = state.history = open_history(settings, state.metrics.removed.inc)
    if state.history is not None:
        from ..unnamed.keeper import Keeper

        state.unnamed = Keeper(settings.database_url, settings.rules)
    if settings.ask:
        from .opinions import open_opinions

        state.opinions = open_opinions(settings)
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    problems.install(app)
    for router in (triage, stream, render, knowledge, plan, incidents, unnamed, feedback, messages):
        app.include_router(router.routes())
    app.include_router(operations.routes(settings))
    app.include_router(sign_in.routes())
    if settings.oidc is not None:
        state.sessions = open_sessions(settings)
        app.include_router(sign_in.browser_routes())
    if settings.docs:
        app.include_router(reference.routes())
    state.chat = open_chat(state)
    if state.chat is not None:
        for chat_router in state.chat.routers():
            app.include_router(chat_router, include_in_schema=False)
    if settings.collect:
        app.include_router(_collecting(state))
    if settings.web:
        from ..web.page import page_router

        app.include_router(page_router())
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(settings.cors_origins), allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Content-Encoding", "X-API-Key", "Idempotency-Key", ID],
            expose_headers=[ID, "X-Incident-ID", "X-Not-Recorded", "RateLimit", "RateLimit-Policy", "Retry-After"],
        )  # fmt: skip
    app.add_middleware(Envelope, state=state, tracing=traces)
    # Before them: who has connected, which whoever is believed may change.
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.forwarded_allow_ips)
    app.add_middleware(NotePeer)
    app.state.tracing = traces
    return app


def _state(settings: Settings) -> State:
    engine = Triage(settings.rules, model=settings.model) if settings.rules or settings.model else shared()
    corpus = engine.corpus
    for problem in corpus.problems:
        _log.warning("rule file left out", extra={"reason": problem})
    metrics = Metrics(
        {"version": version(), "rules": str(len(corpus.rules)), "model": _model_stamp(), "regex": regex_build()}
    )
    pools = Pools(
        small=Turns(1, settings.queue),
        people=Places(settings.queue + 1),
        large=Turns(settings.concurrency, settings.large_queue, metrics.waiting.inc),
        watchers=Places(settings.watchers),
        history=Places(HISTORY_CALLS),
    )
    large = Workers(settings.concurrency, settings.rules, settings.model)
    watching = Workers(settings.watchers, settings.rules, settings.model, each=SHARED)
    limits = Limits(settings.max_decompressed, settings.max_lines)
    return State(
        settings=settings,
        keys=settings.keys,
        hosts=frozenset(host.lower() for host in settings.hosts),
        desk=Dispatcher(
            engine, limits, large, settings.small, settings.request_seconds, watching=watching, pools=pools
        ),
        pools=pools,
        memory=BodyMemory(settings.body_memory),
        rate=Rate(settings.rate_limit),
        metrics=metrics,
    )


def _collecting(state: State) -> APIRouter:
    """Return the endpoints for collectors, and make what reads their streams.

    Raises:
        ValueError: What the protocols are read with is not installed.
    """
    try:
        from ..collect.collector import Collector
        from .routes import collect

        router = collect.routes()
    except ModuleNotFoundError as error:
        from ...classifier.extras import install

        raise ValueError(f"collect needs {error.name}: {install('collect')}") from None
    settings = state.settings
    state.collector = Collector(
        collect.teller(state),
        settings.collect_streams,
        settings.collect_memory,
        settings.rules,
        state.metrics.streams.set,
    )
    return router


def _model_stamp() -> str:
    """Return what tells one text model from another."""
    import hashlib

    from ...classifier.text_model.ask import FOLDER

    files = sorted(path for path in Path(FOLDER).glob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12] if files else "none"


def open_history(settings: Settings, removed: Callable[[int], None] = lambda _: None) -> History | None:
    """Return the history, its schema brought up to date; None in stateless mode.

    ``removed`` is told how many incidents were removed because of their age or number.

    Raises:
        HistoryError: The database cannot be opened.
        ValueError: A database is set, and SQLAlchemy is not installed.
    """
    url = settings.database_url
    if not url:
        return None
    try:
        from ..history import History
    except ImportError:
        if settings.database:
            from ...classifier.extras import install

            raise ValueError(f"database needs SQLAlchemy: {install('service')}") from None
        _log.warning("no history: SQLAlchemy is not installed")
        return None
    if not settings.database:
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    history = History(
        url,
        retention_days=settings.retention_days,
        most_incidents=settings.most_incidents,
        power_safe=settings.power_safe,
        removed=removed,
    )
    history.upgrade()
    return history


def open_sessions(settings: Settings) -> Sessions:
    """Return where people sign in.

    Raises:
        ValueError: What that needs is not installed.
    """
    assert settings.oidc is not None  # noqa: S101 - the caller has looked
    try:
        from .sign_in.sessions import Sessions
    except ImportError as error:
        from ...classifier.extras import install

        raise ValueError(f"oidc needs {error.name}: {install('oidc')}") from None
    return Sessions(settings.oidc, settings.public_url)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: State = app.state.service
    loop = asyncio.get_running_loop()
    state.loop = loop
    # What is loaded and compiled when first needed, before the first request needs it.
    adapter()
    answer = await state.desk.quick(example_log().encode(), Job())
    for form in forms().values():
        load(form).render([Result("-", answer.report)], Options(color="never"))
    if state.chat is not None:
        state.chat.start()
    if state.collector is not None:
        state.collector.start()
    signing = asyncio.create_task(_keep_sessions(state)) if state.sessions is not None else None
    restore = _announce_end(state, loop)
    settling = asyncio.create_task(give_back(rest=_resting(state)))
    try:
        yield
    finally:
        settling.cancel()
        if signing is not None:
            signing.cancel()
        if state.sessions is not None:
            state.sessions.threads.shutdown(wait=False, cancel_futures=True)
        restore()
        state.draining.set()
        if state.collector is not None:
            await state.collector.close()
        if state.opinions is not None:
            await state.opinions.close()
        if state.chat is not None:
            await asyncio.to_thread(state.chat.close)
        await state.desk.close()
        if state.unnamed is not None:
            await state.unnamed.close()
        if state.history is not None:
            await asyncio.to_thread(state.history.close)
        state.store.shutdown(wait=False)
        await asyncio.to_thread(app.state.tracing.close)


async def _keep_sessions(state: State) -> None:
    """Say what is wrong with the provider; know of the sessions that other processes have ended."""
    from .routes.sign_in import ENDED

    assert state.sessions is not None  # noqa: S101 - the caller has looked
    sessions, history, loop = state.sessions, state.history, asyncio.get_running_loop()
    if state.settings.public_url.startswith("http:") and not state.settings.local:
        _log.warning("public_url is without TLS: sessions can be read on the way")
    due = 0.0
    while True:
        if loop.time() >= due:
            trouble = await loop.run_in_executor(sessions.threads, sessions.provider.look)
            if trouble and not sessions.trouble:
                _log.warning("people cannot sign in", extra={"reason": trouble})
            sessions.trouble, due = trouble, loop.time() + (0 if trouble else PROVIDER)
        if history is not None:
            with contextlib.suppress(Problem):
                found = await in_store(state, lambda: history.claims_of(ENDED))
                sessions.ended |= {key.removeprefix(ENDED) for key in found}
        await asyncio.sleep(LOOK)


def _resting(state: State) -> Callable[[], None]:
    """Return what lets go of connections and buffers that nobody needs now."""
    return state.history.rest if state.history is not None else lambda: None


def _announce_end(state: State, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Have a signal to stop end streams and make /readyz say no; after SIGTERM the server listens on for some seconds.

    A second signal ends that wait, unless it is the first again: a supervisor's and that of its group.

    Returns:
        What takes that back.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    before: dict[int, Any] = {
        number: handler for number in (signal.SIGTERM, signal.SIGINT) if callable(handler := signal.getsignal(number))
    }

    began = 0.0

    def ends(number: int, frame: FrameType | None) -> None:
        nonlocal began
        now = loop.time()
        began = began or now
        wait = state.settings.drain_seconds if number == signal.SIGTERM and now - began < SAME else 0
        loop.call_soon_threadsafe(state.draining.set)
        if wait:
            loop.call_soon_threadsafe(loop.call_later, wait, before[number], number, frame)
        else:
            before[number](number, frame)

    def restore() -> None:
        for number, handler in before.items():
            if signal.getsignal(number) is ends:
                signal.signal(number, handler)

    for number in before:
        signal.signal(number, ends)
    return restore
