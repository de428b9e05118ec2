"""A server on loopback, headless Chromium, and a page that lets no error and no violation of its policy pass."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.service.web.helpers import FAILURE, LOGS
from tests.service.web.server import Memory, fill, make_app
from vllm_triage.classifier import advice
from vllm_triage.classifier.api import shared

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HISTORY = (
    FAILURE, "written/weights-too-big.log", "written/worker-killed-v0.log", "written/nccl-invalid-usage-two-gpus.log",
    "written/hangs-between-gpus.log", "written/stopped-from-outside.log",
    "recorded/0.32.0/healthy-serve.log",
)  # fmt: skip
WATCH = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""


@pytest.fixture(scope="session")
def _reports() -> list[dict[str, Any]]:
    return [shared().report(LOGS / name).to_dict() for name in HISTORY]


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Any], str]]:
    """Start applications on loopback; returns the address."""
    running: list[tuple[uvicorn.Server, threading.Thread, socket.socket]] = []

    def start(app: Any) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        running.append((server, thread, listener))
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    yield start
    for server, _, _ in running:
        server.should_exit = True
    for _, thread, listener in running:
        thread.join()
        listener.close()


@pytest.fixture(scope="session")
def _service(serve: Callable[[Any], str]) -> tuple[str, Memory]:
    memory = Memory()
    return serve(make_app(memory)), memory


@pytest.fixture
def memory(_service: tuple[str, Memory]) -> Iterator[Memory]:
    """What the server remembers: nothing yet."""
    _, memory = _service
    memory.__init__()  # type: ignore[misc]
    yield memory
    memory.__init__()  # type: ignore[misc]


@pytest.fixture
def address(_service: tuple[str, Memory], memory: Memory) -> str:
    """Where the page is."""
    return _service[0]


@pytest.fixture
def filled(memory: Memory, _reports: list[dict[str, Any]]) -> Memory:
    """The same with a history of some weeks."""
    fill(memory, _reports)
    return memory


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. While it is there, this thread counts as one with an event loop: other modules' ``asyncio.run`` would fail."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open pages whose errors fail the test; ``expected`` holds words of those that belong to it."""
    opened: list[tuple[Any, list[str], tuple[str, ...]]] = []

    def page(
        url: str, *, theme: str = "light", width: int = 1280, expected: tuple[str, ...] = (), **options: Any
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce", **options
        )
        context.add_init_script(WATCH)
        tab = context.new_page()
        tab.set_default_timeout(15_000)
        errors: list[str] = []
        tab.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        opened.append((context, errors, expected))
        tab.goto(url)
        return tab

    yield page
    unexpected = []
    for context, errors, expected in opened:
        context.close()
        unexpected += [error for error in errors if not any(word in error for word in expected)]
    assert unexpected == []


@pytest.fixture
def every_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers with all of their fixes, however often such advice was right: a report of several."""
    monkeypatch.setattr(advice, "shown", lambda fixes, _: (list(fixes), []))


@pytest.fixture
def triage_file(address: str, open_page: Callable[..., Any]) -> Callable[..., Any]:
    """Open the page, give it a file, and wait for the report."""

    def triage(path: Path | dict[str, Any] = LOGS / FAILURE, **options: Any) -> Any:
        tab = open_page(address, **options)
        tab.set_input_files("#file", path)
        tab.wait_for_selector(".report")
        return tab

    return triage
