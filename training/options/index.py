"""Which releases there are, asked of the package index that pip is configured with."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import IO, Any
from urllib.parse import urldefrag, urljoin

from ...corpus.options import version_key

PROJECT = "vllm"
FIRST = "0.5.2"
"""The oldest release in the table; logs of older ones are hardly seen any more."""
OLDEST = "0.2.0"
"""The oldest release on the index whose logs are still met."""


class PackageIndexError(Exception):
    """The package index did not answer as an index does; the message says what to look at."""


@dataclass(slots=True)
class Files:
    """What the index offers of one release."""

    version: str
    sdist: str = ""
    wheels: list[str] = field(default_factory=list)


def releases(since: str = FIRST, project: str = PROJECT) -> list[Files]:
    """Return the final and post releases of ``project`` from ``since`` on that were not withdrawn, oldest first."""
    base = f"{setting('index-url') or _pip_default()}".rstrip("/")
    page = f"{base}/{project}/"
    try:
        with open_url(page, {"Accept": "text/html"}) as answer:
            text = answer.read().decode("utf-8", "replace")
    except OSError as error:
        raise PackageIndexError(f"{page}: {error}; `pip config list` shows which index is used") from error
    return parse_page(text, page, since, project)


def parse_page(text: str, page: str, since: str = FIRST, project: str = PROJECT) -> list[Files]:
    """Read a page of the simple repository API; releases before ``since`` are left out."""
    reader = _Links()
    reader.feed(text)
    found: dict[str, Files] = {}
    oldest = version_key(since)
    for address, name in reader.links:
        match = re.fullmatch(rf"{project}-(\d+(?:\.\d+)*(?:\.post\d+)?)(?:\.tar\.gz|(?:-[^-]+){{3,4}}\.whl)", name)
        if match is None or (version_key(match[1]) or ()) < (oldest or ()):
            continue
        files = found.setdefault(match[1], Files(match[1]))
        target = urldefrag(urljoin(page, address)).url
        if name.endswith(".whl"):
            files.wheels.append(target)
        else:
            files.sdist = target
    if not found:
        raise PackageIndexError(f"{page}: no release of {project} is listed")
    return sorted(found.values(), key=lambda files: version_key(files.version) or ())


def open_url(address: str, headers: dict[str, str] | None = None) -> IO[bytes]:
    """Open ``address`` with pip's certificates and time limit."""
    certificates = setting("cert")
    context = ssl.create_default_context(cafile=certificates or None)
    request = urllib.request.Request(address, headers=headers or {})  # noqa: S310 (the address comes from pip's settings)
    limit = float(setting("timeout") or setting("default-timeout") or 60)
    answer: IO[bytes] = urllib.request.urlopen(request, timeout=limit, context=context)  # noqa: S310
    return answer


_settings: dict[str, str] | None = None


def setting(name: str) -> str:
    """Return one of pip's settings; empty where it is not set. The environment goes before its files, as in pip."""
    global _settings  # noqa: PLW0603 (asking pip takes half a second)
    if _settings is None:
        asked = [sys.executable, "-m", "pip", "config", "list"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
        _settings = read_settings(done.stdout)
    return os.environ.get("PIP_" + name.upper().replace("-", "_"), "") or _settings.get(name, "")


def read_settings(text: str) -> dict[str, str]:
    """Read the answer of ``pip config list``."""
    found: dict[str, str] = {}
    for section in ("global", "install", "download", ":env:"):
        for key, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", text, re.MULTILINE):
            found[key] = value.strip().strip("'\"")
    return found


def _pip_default() -> str:
    code = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise PackageIndexError("pip does not tell its default index; set one: `pip config set global.index-url URL`")
    return done.stdout.strip()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        given = dict(attrs)
        self._open = str(given.get("href") or "") if tag == "a" and "data-yanked" not in given else ""

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.links.append((self._open, data.strip()))
            self._open = ""
