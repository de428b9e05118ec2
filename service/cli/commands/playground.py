"""``vllm-triage playground``: writes a folder with a page that reads logs in the browser, without a server behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..messages import complain
from ..parser import Parser


def run(words: Sequence[str]) -> int:
    """Write the folder; exit code 2 where that cannot be."""
    parser = Parser(
        prog="vllm-triage playground",
        description="Write a folder of static files: a page that reads logs in the browser; nothing of a log leaves it.",
        epilog="Pyodide: npm pack pyodide, and unpack it. Serve the folder with any web server (docs/playground.md).",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where to write it")
    parser.add_argument("--pyodide", required=True, metavar="FOLDER", help="Pyodide's npm package, unpacked")
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ...playground.build import BuildError, build

    try:
        written = build(Path(options.out), Path(options.pyodide))
    except BuildError as error:
        return complain(str(error))
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} files, {size / 1e6:.1f} MB, in {options.out}: serve it, for example with")
    print(f"  python -m http.server --bind 127.0.0.1 --directory {options.out}")
    return 0
