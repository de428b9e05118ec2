"""Makes the folder: the page, Pyodide as it was given, and the engine as one archive."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from ...corpus.store import compiled_folder

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
"""The folder that classifier, corpus and service stand in."""
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""What is needed of Pyodide's npm package."""
ENGINE = "engine.bin"
"""A tar archive, compressed by gzip; by a name at which no server says that it is, and no browser unpacks it unasked."""
PAGE = PACKAGE / "service/web/static"
EXAMPLE = PACKAGE / "corpus/logs/written/kv-cache-too-small.log"


class BuildError(Exception):
    """The folder cannot be made; the text says why, and what to do."""


def build(out: Path, pyodide: Path) -> list[Path]:
    """Write the folder; what stood there under the same names is replaced.

    Args:
        out: The folder.
        pyodide: Pyodide's npm package, unpacked.

    Returns:
        The files written.

    Raises:
        BuildError: Pyodide is not there, or the folder cannot be written.
    """
    if missing := [name for name in RUNTIME if not (pyodide / name).is_file()]:
        raise BuildError(f"{pyodide} lacks {', '.join(missing)}: unpack the npm package pyodide (npm pack pyodide)")
    try:
        (out / "pyodide").mkdir(parents=True, exist_ok=True)
        copied = [shutil.copyfile(pyodide / name, out / "pyodide" / name) for name in RUNTIME]
        page = out / "static" / "page"
        page.mkdir(parents=True, exist_ok=True)
        # The service's own page, with a module of ours where it would ask the service.
        own = {path.name: path for path in PAGE.iterdir() if path.suffix in (".js", ".css", ".svg")}
        own |= {"api.js": HERE / "static/api.js", "example.log": EXAMPLE}
        copied += [shutil.copyfile(path, page / name) for name, path in sorted(own.items())]
        copied += [shutil.copyfile(HERE / "static" / name, out / name) for name in ("index.html", "worker.js")]
        (out / ENGINE).write_bytes(made := engine())
        # What a browser keeps of one build is of no use to another.
        digest = hashlib.sha256(made + (pyodide / "pyodide-lock.json").read_bytes()).hexdigest()[:16]
        worker = out / "worker.js"
        worker.write_text(worker.read_text("utf-8").replace("{build}", digest), "utf-8")
    except OSError as error:
        raise BuildError(f"{out}: {error.strerror or error}") from None
    return [*copied, out / ENGINE]


def engine() -> bytes:
    """Return the archive: the library with its compiled corpus, and what stands in for its compiled dependencies."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in sorted(_files()):
            # The same archive whenever it is made of the same files.
            about = tarfile.TarInfo(name)
            about.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(about, file)
    return gzip.compress(made.getvalue(), mtime=0)


def _files() -> Iterator[tuple[str, Path]]:
    front = PACKAGE / "vllm_triage/__init__.py"
    yield "vllm_triage/__init__.py", front if front.is_file() else PACKAGE / "__init__.py"
    for room in ("classifier", "corpus"):
        for path in (PACKAGE / room).rglob("*"):
            inner = path.relative_to(PACKAGE)
            left = {"__pycache__", "logs", "buckets", "messages", "compiled"} & set(inner.parts[:-1])
            if path.is_file() and path.suffix != ".tsv" and not left:
                yield f"vllm_triage/{inner.as_posix()}", path
    for path in (PACKAGE / "corpus/messages").glob("*.py"):
        yield f"vllm_triage/corpus/messages/{path.name}", path
    for path in Path(compiled_folder()).iterdir():
        if path.is_file():
            yield f"vllm_triage/corpus/compiled/{path.name}", path
    for path in (HERE / "pure").glob("*.py"):
        if path.name != "__init__.py":
            yield path.name, path
