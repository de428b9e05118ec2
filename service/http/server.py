"""Runs the application under uvicorn, with one process or several."""

from __future__ import annotations

import gc

import uvicorn
from fastapi import FastAPI

from .app import create_app, open_history
from .logs import log_config
from .settings import Settings

FACTORY = f"{__package__}.server:worker"
KEEP_ALIVE = 75
"""Seconds that an idle connection stays open: longer than proxies keep theirs, so that they never meet a closed one."""


def worker() -> FastAPI:
    """Return the application of one worker, which reads its settings itself."""
    # As the command line does for the first process.
    gc.set_threshold(200_000, 50, 50)
    return create_app(Settings())


def serve(settings: Settings) -> int:
    """Serve until stopped; return the exit code.

    Raises:
        HistoryError: The database cannot be opened.
        ValueError: The settings ask for what is not installed.
    """
    if settings.workers > 1:
        # Once, before several workers ask for the same.
        if (history := open_history(settings)) is not None:
            history.close()
        app: FastAPI | str = FACTORY
    else:
        app = create_app(settings)
    config = uvicorn.Config(
        app, host=settings.host.strip("[]"), port=settings.port, workers=settings.workers,
        factory=isinstance(app, str), forwarded_allow_ips=settings.forwarded_allow_ips, proxy_headers=True,
        log_config=log_config(settings), access_log=False, server_header=False, timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=settings.shutdown_seconds, ws="none", lifespan="on",
    )  # fmt: skip
    if settings.workers == 1:
        server = uvicorn.Server(config)
        try:
            server.run()
        except KeyboardInterrupt:
            return 130
        return 0 if server.started else 2
    from uvicorn.supervisors import Multiprocess

    socket = config.bind_socket()
    Multiprocess(config, [socket]).run()
    return 0
