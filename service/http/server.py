"""Runs the application under uvicorn, with one process or several."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE

from .app import create_app, open_history
from .listening import SharingServer
from .logs import log_config
from .memory import frugal
from .protocol import Guarded
from .settings import Settings

FACTORY = f"{__package__}.server:worker"
SHARING = f"{__package__}.listening:SharingLoop"
PROTOCOL = f"{__package__}.protocol:Guarded"
KEEP_ALIVE = 75
"""Seconds that an idle connection stays open: longer than proxies keep theirs, so that they never meet a closed one."""
UNHEALTHY = 30
"""Seconds after which a worker that says nothing is replaced; a machine may be busy with other things for some."""
COLLECTED = (10_000, 20, 20)
"""Thresholds of the garbage collector while requests are answered."""
OPEN_FILES = 65_536
"""Files that a process may have open, connections among them, where the system grants it."""
_log = logging.getLogger("vllm_triage.http")


def worker() -> FastAPI:
    """Return the application of one worker, which reads its settings itself."""
    frugal()
    # As the command line does for the first process: what is loaded at the start is no garbage.
    gc.set_threshold(200_000, 50, 50)
    settings = Settings()
    app = create_app(settings)
    _settle(settings)
    return app


def serve(settings: Settings, link_key: str = "") -> int:
    """Serve until stopped; return the exit code.

    Args:
        settings: What is set.
        link_key: The key that the printed link holds; empty for none.

    Raises:
        HistoryError: The database cannot be opened.
        ValueError: The settings ask for what is not installed, or for an address that cannot be had.
    """
    frugal()
    # Before anything that takes time: a port that is in use is told at once.
    sockets = [bind_unix(settings.socket)] if settings.socket is not None else bind(settings.host, settings.port)
    try:
        if settings.workers > 1:
            # Once, before several workers ask for the same.
            if (history := open_history(settings)) is not None:
                history.close()
            app: FastAPI | str = FACTORY
        else:
            app = create_app(settings)
            _settle(settings)
        config = uvicorn.Config(
            app, workers=settings.workers, factory=isinstance(app, str), proxy_headers=False,
            log_config=log_config(settings), access_log=False,
            server_header=False, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=settings.shutdown_seconds,
            ws="none", lifespan="on", timeout_worker_healthcheck=UNHEALTHY,
            http=PROTOCOL, loop=SHARING if os.name == "posix" else "auto",
        )  # fmt: skip
        for one in sockets:
            _log.info("running on %s", _address(one), extra={"workers": settings.workers})
        if link_key:
            # Printed, not logged: logs are kept, and read by others. What follows the # is never sent to a server.
            print(f"Open {_address(sockets[0])}/#key={link_key}", file=sys.stderr, flush=True)
        return _several(config, sockets) if settings.workers > 1 else _one(config, sockets)
    finally:
        for one in sockets:
            one.close()
        if settings.socket is not None:
            settings.socket.unlink(missing_ok=True)


def _settle(settings: Settings) -> None:
    """Set up what is of the whole process.

    Garbage is collected often from now on, and what is loaded left out of it: memory stays flat, and it costs nothing.
    """
    Guarded.head_seconds = settings.head_seconds
    SharingServer.alone = settings.workers == 1
    _raise_open_files()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def _raise_open_files() -> None:
    """Take all the open files that the system grants: the usual 1,024 are gone with as many silent connections."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def bind(host: str, port: int) -> list[socket.socket]:
    """Return sockets for a host's addresses, all of one port. They do not listen yet: that is for the workers.

    Raises:
        ValueError: The host is not known, or the port is in use.
    """
    made: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            one = socket.socket(family, socket.SOCK_STREAM)
            made.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # Port 0 is any free one, but the same for all.
            one.bind((address[0], port or made[0].getsockname()[1], *address[2:]))
            one.set_inheritable(True)
    except OSError as error:
        for one in made:
            one.close()
        raise ValueError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    return made


def bind_unix(path: Path) -> socket.socket:
    """Return a Unix socket that its owner alone may connect to. What an earlier service has left there is taken away.

    Raises:
        ValueError: Another service listens there, or the path cannot be used.
    """
    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        raise ValueError("Unix sockets are not to be had on this system")
    made = socket.socket(family, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        if path.is_socket():
            _take_away(path)
        made.bind(str(path))
        made.set_inheritable(True)
    except OSError as error:
        made.close()
        raise ValueError(f"cannot listen on {path}: {error.strerror or error}") from None
    finally:
        os.umask(before)
    return made


def _take_away(path: Path) -> None:
    """Remove a socket that nobody listens on.

    Raises:
        OSError: Somebody does.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        if not other.connect_ex(str(path)):
            raise OSError(None, "another service listens there")
    path.unlink()


def _one(config: uvicorn.Config, sockets: list[socket.socket]) -> int:
    server = uvicorn.Server(config)
    try:
        server.run(sockets)
    except KeyboardInterrupt:
        return 130
    return 0 if server.started else 2


def _several(config: uvicorn.Config, sockets: list[socket.socket]) -> int:
    from uvicorn.supervisors import Multiprocess

    supervisor = Multiprocess(config, sockets)
    supervisor.run()
    failed = any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes)
    return 2 if failed else 0


def _address(bound: socket.socket) -> str:
    if isinstance(bound.getsockname(), str):
        return f"unix:{bound.getsockname()}"
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
