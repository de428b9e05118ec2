"""``vllm-triage serve``: the HTTP service, or a new API key for it."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..messages import complain
from ..parser import Parser

if TYPE_CHECKING:
    from ...http.settings import Settings

SCOPES = ("triage", "read", "feedback", "operate", "admin")
OPTIONS = ("host", "port", "socket", "workers", "root_path", "database", "log_level", "log_format", "require_key")
"""Options that go before the variable of the same name."""


def run(words: Sequence[str]) -> int:
    """Serve until stopped; exit code 2 where the settings, or what is installed, do not let it."""
    parser = _parser()
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    if options.make_key:
        return _make_key(options.make_key, options.scope or ["triage"], options.tenant)
    _set_variables(options)
    try:
        from pydantic import ValidationError

        from ...http.settings import Settings
        from ...refusals import in_one_line
    except ImportError as error:
        from ....classifier.extras import install

        return complain(f"{error.name} is not installed: {install('service')}")
    try:
        settings = Settings()
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return complain("; ".join(in_one_line(found, "settings")))
    except ValueError as error:
        return complain(str(error))
    return _serve_by_link() if settings.require_key == "link" else _serve(settings)


def _serve_by_link() -> int:
    from ...http.keys import make_key
    from ...http.settings import Settings

    key, line = make_key("link", ["admin"])
    # Workers read their settings themselves; they are told the hash.
    os.environ["VLLM_TRIAGE_LINK_KEY"] = line
    try:
        return _serve(Settings(), key)
    finally:
        del os.environ["VLLM_TRIAGE_LINK_KEY"]


def _parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="vllm-triage serve",
        description="Answer over HTTP: POST a log to /v1/triage, or open the page in a browser.",
        epilog="All settings, also as variables VLLM_TRIAGE_… and in a TOML file: docs/http.md.",
    )
    add = made.add_argument
    add("--host", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    add("--port", metavar="N", help="port (default: 8501; 0 takes a free one)")
    add("--socket", metavar="PATH", help="Unix socket to listen on instead, for you alone")
    add("--workers", metavar="N", help="processes that serve (default: 1)")
    add("--root-path", metavar="PATH", help="path under which a proxy shows the service")
    add("--database", metavar="URL", help="of the history: sqlite:////path, postgresql://…, or none")
    add("--config", metavar="FILE", help="settings as TOML")
    add("--log-level", choices=("debug", "info", "warning", "error"))
    add("--log-format", choices=("json", "text"))
    add(
        "--require-key",
        choices=("auto", "yes", "no", "link"),
        help="whether requests must bring an API key; link: one that is made now, in the link that is printed",
    )
    add("--make-key", metavar="NAME", help="print a new API key and its line for the settings, and exit")
    add("--scope", action="append", choices=SCOPES, help="what the new key allows (repeatable; default: triage)")
    add("--tenant", default="", metavar="TENANT", help="whose incidents the new key writes and sees, and no others")
    return made


def _make_key(name: str, scopes: Sequence[str], tenant: str) -> int:
    from ...http.keys import make_key

    try:
        key, line = make_key(name, scopes, tenant)
    except ValueError as error:
        return complain(str(error))
    print(f"key, shown this once:                {key}")
    print(f"line for api_keys or api_keys_file:  {line}")
    return 0


def _set_variables(options: argparse.Namespace) -> None:
    """Hand options on as variables: workers are processes of their own, and read their settings themselves."""
    for name in OPTIONS:
        value = getattr(options, name)
        if value is not None:
            os.environ[f"VLLM_TRIAGE_{name.upper()}"] = value
    if options.config is not None:
        os.environ["VLLM_TRIAGE_CONFIG"] = options.config


def _serve(settings: Settings, link_key: str = "") -> int:
    folder = ""
    if settings.workers > 1 and settings.metrics and not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        # Read when prometheus_client is first imported: the figures of all workers come together there.
        folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="vllm-triage-metrics-")
    try:
        from ...http.server import serve
    except ImportError as error:
        from ....classifier.extras import install

        return complain(f"{error.name} is not installed: {install('service')}")
    from ....classifier.errors import TriageError

    try:
        return serve(settings, link_key)
    except (TriageError, ValueError) as error:
        return complain(str(error))
    finally:
        if folder:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]
            shutil.rmtree(folder, ignore_errors=True)
