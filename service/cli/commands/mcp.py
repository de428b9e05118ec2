"""``vllm-triage mcp``: answers coding agents by the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import add_engine, add_rules
from ..messages import complain
from ..parser import Parser

if TYPE_CHECKING:
    from ...agents.desk import Desk, Lookup
    from ...http.keys import Key

PORT = 8502


def run(words: Sequence[str]) -> int:
    """Serve until the client goes, or until stopped; exit code 2 where that cannot be."""
    try:
        options = _parser().parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    if options.instructions:
        from importlib.resources import files

        from ... import agents

        print(files(agents).joinpath("SKILL.md").read_text("utf-8"), end="")
        return 0
    from ....classifier.errors import TriageError

    try:
        from ...agents.interface import CannotError
        from ...agents.server import make_server
        from ...agents.transport import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        from ....classifier.extras import install

        return complain(f"{error.name} is not installed: {install('mcp')}")
    try:
        server = make_server(_desk(options))
        keys = _keys(options.keys) if options.keys else []
        asyncio.run(serve_http(server, options.host, options.port, keys) if options.http else serve_stdio(server))
    except (TriageError, CannotError, ValueError) as error:
        return complain(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="vllm-triage mcp",
        description="Answer coding agents by the Model Context Protocol: over standard input and output, or with --http.",
        epilog="Installation for the common clients: docs/agents.md.",
    )
    add = made.add_argument
    add("--root", action="append", default=[], metavar="FOLDER", help=(
        "logs below this folder may be read (repeatable; default: the current folder, with --http none)"
    ))  # fmt: skip
    history = made.add_mutually_exclusive_group()
    database = "history whose incidents may be asked for: sqlite:////path or postgresql://…"
    history.add_argument("--database", default="", metavar="URL", help=database)
    service = "running vllm-triage serve whose incidents may be asked for (key: variable VLLM_TRIAGE_KEY)"
    history.add_argument("--service", default="", metavar="URL", help=service)
    add("--http", action="store_true", help="streamable HTTP at /mcp instead of standard input and output")
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    add("--port", type=int, default=PORT, metavar="N", help=f"port (default: {PORT})")
    add(
        "--keys",
        default="",
        metavar="FILE",
        help="keys of those who may ask, as vllm-triage serve --make-key prints them",
    )
    add_rules(made)
    add_engine(made)
    add("--instructions", action="store_true", help="print the instruction file for agents (SKILL.md) and exit")
    return made


def _desk(options: argparse.Namespace) -> Desk:
    from ....classifier.api import Triage
    from ...agents.desk import Desk

    roots = options.root or ([] if options.http else ["."])
    folders = [Path(root).resolve() for root in roots]
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"--root {folder}: no such folder")
    triage = Triage(options.rules, engine=options.engine, model=options.model)
    for problem in triage.corpus.problems:
        print(f"vllm-triage: rule file left out: {problem}", file=sys.stderr)
    return Desk(triage, folders, _lookup(options))


def _lookup(options: argparse.Namespace) -> Lookup | None:
    if options.database:
        from ...agents.incidents import in_database

        return in_database(options.database)
    if options.service:
        from ...agents.incidents import of_service

        return of_service(options.service)
    return None


def _keys(name: str) -> list[Key]:
    from ...http.keys import read_key

    try:
        lines = Path(name).read_text("utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or error}") from None
    if found := [read_key(line) for line in lines if line.strip() and not line.startswith("#")]:
        return found
    raise ValueError(f"{name} holds no key")
