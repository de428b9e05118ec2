"""The Python files of one release, read from the archive that ``fetch`` made."""

from __future__ import annotations

import ast
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path


class Tree:
    """Files by their path below the package's parent (``vllm/envs.py``), parsed once when first asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files
        self._modules: dict[str, ast.Module | None] = {}

    @classmethod
    def from_archive(cls, path: Path) -> Tree:
        """Read the archive of one release."""
        with zipfile.ZipFile(path) as archive:
            return cls({name: archive.read(name) for name in archive.namelist()})

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        """Yield the paths of the files, in order."""
        return iter(sorted(self._files))

    def containing(self, *words: bytes) -> Iterator[str]:
        """Yield the paths of the files that hold any of ``words``, in order."""
        for path in sorted(self._files):
            if any(word in self._files[path] for word in words):
                yield path

    def module(self, path: str) -> ast.Module | None:
        """Return the parsed file; None where there is none, or where it is no Python (templates are shipped as .py)."""
        if path not in self._modules:
            content = self._files.get(path)
            self._modules[path] = None if content is None else _parse(content)
        return self._modules[path]

    def path_of(self, module: str) -> str | None:
        """Return the file of the module ``a.b.c``; None where the release has none."""
        base = module.replace(".", "/")
        return next((path for path in (f"{base}/__init__.py", f"{base}.py") if path in self._files), None)


def _parse(content: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        # Other people's invalid escapes are no news.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(content)
        except (SyntaxError, ValueError):
            return None
