"""From the package index to the table: a small index of our own is served, and the command is run on it."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.options.test_mining import tree
from vllm_triage.training.options import fetch, index, table
from vllm_triage.training.tables import __main__ as tables

FILES = tree()._files


def sdist() -> bytes:
    """Return a source distribution with more in it than Python files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in {**FILES, "setup.py": b"raise SystemExit", "vllm/kernel.cu": b"x" * 9999}.items():
            member = tarfile.TarInfo(f"vllm-0.6.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def wheel() -> bytes:
    """Return a wheel with a large binary between its Python files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for place, (name, content) in enumerate(FILES.items()):
            archive.writestr(name, content)
            if place == 2:
                archive.writestr("vllm/_C.abi3.so", bytes(4 << 20))
    return buffer.getvalue()


class Index(http.server.ThreadingHTTPServer):
    """Serves a page of links and files, parts of files too, and counts what it sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = {"/vllm-0.6.0.tar.gz": sdist(), "/vllm-0.6.1-cp38-abi3-manylinux1_x86_64.whl": wheel()}
        self.sent: dict[str, int] = {}
        self.address = f"http://127.0.0.1:{self.server_port}"

    def page(self) -> bytes:
        links = [f'<a href="..{path}#sha256=0">{path[1:]}</a><br/>' for path in self.content]
        return "\n".join(["<html><body>", *links, "</body></html>"]).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET, with ranges."""

    server: Index

    def do_GET(self) -> None:
        content = self.server.page() if self.path == "/vllm/" else self.server.content.get(self.path)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        self.send_response(404 if content is None else 206 if wanted else 200)
        body = content or b""
        if wanted:
            first, last = int(wanted[1]), int(wanted[2])
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
            body = body[first : last + 1]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.sent[self.path] = self.server.sent.get(self.path, 0) + len(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name for it)
        pass


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    """A running index, which pip's environment points to."""
    server = Index()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(index, "_settings", {})
    for name in ("PIP_CERT", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", server.address)
    monkeypatch.setattr(fetch, "PAUSE", 0.0)
    monkeypatch.setattr(table, "FILE", str(tmp_path / "options.json"))
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(folder: Path) -> int:
    """Make the table of options with a cache and what is written below ``folder``."""
    return tables.main(["options", "--cache", str(folder / "cache"), "--out", str(folder)])


def test_one_run_mines_every_release_of_the_index(served: Index, tmp_path: Path) -> None:
    """A source distribution and a wheel of the same files give the same options; only Python files stay."""
    assert run(tmp_path) == 0
    made = json.loads((tmp_path / "options.json").read_text())
    assert made["releases"] == ["0.6.0", "0.6.1"]
    assert made["flags"]["--model"] == {"on": [[0, 1]], "default": [[0, "acme/tiny"]]}
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["vllm-0.6.0.zip", "vllm-0.6.1.zip"]
    assert zipfile.ZipFile(tmp_path / "cache" / "vllm-0.6.0.zip").namelist() == sorted(FILES, key=list(FILES).index)


def test_of_a_wheel_only_the_parts_with_python_files_travel(served: Index, tmp_path: Path) -> None:
    """Compiled kernels are nearly all of it, and nothing of them is wanted."""
    assert run(tmp_path) == 0
    path = "/vllm-0.6.1-cp38-abi3-manylinux1_x86_64.whl"
    assert served.sent[path] < len(served.content[path]) / 1.5


def test_a_second_run_reads_only_the_page(served: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases that the table has are neither downloaded nor mined again."""
    run(tmp_path)
    served.sent.clear()
    monkeypatch.setattr(table, "mine", lambda tree: pytest.fail(f"{tree} is mined again"))
    assert run(tmp_path) == 0
    assert list(served.sent) == ["/vllm/"]


def test_a_broken_release_is_named_and_read_again(
    served: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A download that ends early leaves no archive behind, and the next run gets it."""
    whole = served.content["/vllm-0.6.0.tar.gz"]
    served.content["/vllm-0.6.0.tar.gz"] = whole[: len(whole) // 2]
    assert run(tmp_path) == 2
    assert "0.6.0: " in capsys.readouterr().err
    served.content["/vllm-0.6.0.tar.gz"] = whole
    assert run(tmp_path) == 0
    assert json.loads((tmp_path / "options.json").read_text())["releases"] == ["0.6.0", "0.6.1"]


def test_a_page_is_read_for_final_releases_that_were_not_withdrawn() -> None:
    """Pre-releases, releases before the first one wanted, yanked files and other projects are left out."""
    text = """
    <a href="../../f/vllm-0.5.1.tar.gz">vllm-0.5.1.tar.gz</a>
    <a href="../../f/vllm-0.10.0.tar.gz#sha256=1">vllm-0.10.0.tar.gz</a>
    <a href="../../f/vllm-0.9.1rc2.tar.gz">vllm-0.9.1rc2.tar.gz</a>
    <a href="../../f/vllm-0.9.1.post1-cp38-abi3-any.whl">vllm-0.9.1.post1-cp38-abi3-any.whl</a>
    <a href="../../f/vllm-0.9.3.tar.gz" data-yanked="broken">vllm-0.9.3.tar.gz</a>
    <a href="../../f/vllm_flash-0.9.4.tar.gz">vllm_flash-0.9.4.tar.gz</a>
    """
    found = index.parse_page(text, "https://index.example/simple/vllm/")
    assert [files.version for files in found] == ["0.9.1.post1", "0.10.0"]
    assert found[0].wheels == ["https://index.example/f/vllm-0.9.1.post1-cp38-abi3-any.whl"]
    assert found[1].sdist == "https://index.example/f/vllm-0.10.0.tar.gz"


def test_a_page_without_releases_is_an_error() -> None:
    """An index that answers with a login page must not empty the table."""
    with pytest.raises(index.PackageIndexError, match="no release of vllm is listed"):
        index.parse_page("<html>Please sign in</html>", "https://index.example/simple/vllm/")


@given(st.text(max_size=200))
def test_no_page_is_too_odd_to_be_read(text: str) -> None:
    """Whatever comes back, it is a list of releases or a problem with the index."""
    with contextlib.suppress(index.PackageIndexError):
        assert index.parse_page(text, "https://index.example/")


def test_pips_settings_are_read_as_pip_prints_them() -> None:
    """The environment goes before a command's own section, and that before the global one."""
    text = "global.index-url='https://a.example/simple'\ninstall.index-url='https://b.example/simple'\n:env:.cert='/etc/ca.pem'\n"
    assert index.read_settings(text) == {"index-url": "https://b.example/simple", "cert": "/etc/ca.pem"}
