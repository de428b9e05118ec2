"""The page without a server: the same answers as the command, in a folder that connects to nobody."""

from __future__ import annotations

import functools
import http.server
import json
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.chat.loopback import Loopback
from vllm_triage.classifier import triage
from vllm_triage.corpus.store import load
from vllm_triage.service.playground.build import HERE, RUNTIME, BuildError, build

ROOT = Path(__file__).parents[3]
LOGS = sorted((ROOT / "corpus/logs/written").glob("*.log"))
ASKED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import in_browser, regex, vllm_triage
assert regex.__version__ == "re" and vllm_triage.__file__.startswith(sys.argv[1])
print(json.dumps({path: in_browser.answer(open(path, "rb").read()) for path in sys.argv[2:]}))
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a folder of Pyodide holds, by its names."""
    folder = tmp_path_factory.mktemp("pyodide")
    for name in RUNTIME:
        (folder / name).write_text(name)
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, runtime: Path) -> Path:
    """The folder."""
    out = tmp_path_factory.mktemp("page") / "deep" / "page"
    build(out, runtime)
    return out


@pytest.mark.slow
def test_the_stand_ins_answer_as_the_library(page, tmp_path):
    """In an interpreter that has none of our dependencies, from the archive alone."""
    with tarfile.open(page / "engine.bin") as archive:
        archive.extractall(tmp_path, filter="data")
    words = [sys.executable, "-S", "-E", "-c", ASKED, str(tmp_path), *map(str, LOGS)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr

    told = {path: json.loads(text)["value"] for path, text in json.loads(ran.stdout).items()}
    assert {path: text["json"] for path, text in told.items()} == {str(path): triage(path).to_json() for path in LOGS}
    assert all(text["text"] == str(triage(Path(path))) for path, text in told.items())


def test_every_expression_of_the_rules_is_one_of_the_standard_library():
    fields = ("pattern", "exception", "message", "frames", "innermost")
    found = {text for rule in load().rules for name in fields if isinstance(text := getattr(rule, name), str) and text}

    assert len(found) > 1000
    for text in found:
        re.compile(text)


@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_the_search_finds_what_the_automaton_finds(kind):
    """All finds, overlapping ones too."""
    import importlib.util

    from ahocorasick_rs import AhoCorasick, BytesAhoCorasick

    spec = importlib.util.spec_from_file_location("pure_search", HERE / "pure/ahocorasick_rs.py")
    assert spec is not None
    assert spec.loader is not None
    pure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pure)
    words = ["abcd", "bcde", "ab", "abcdabcd", "x", "rror", "Error", "Error: "]
    text = "abcdabcdabcde Error: rror x ab"
    if kind == "text":
        native, mine = AhoCorasick(words), pure.AhoCorasick(words)
        expected, found = (item.find_matches_as_indexes(text, overlapping=True) for item in (native, mine))
    else:
        coded = [word.encode() for word in words]
        native_bytes, mine = BytesAhoCorasick(coded), pure.BytesAhoCorasick(coded)
        expected, found = (
            item.find_matches_as_indexes(text.encode(), overlapping=True) for item in (native_bytes, mine)
        )

    assert sorted(expected) == sorted(found)
    assert [end for _, _, end in found] == sorted(end for _, _, end in found)


def test_the_policy_forbids_every_other_place(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', (page / "index.html").read_text())
    assert policy is not None
    rules = dict(part.strip().partition(" ")[::2] for part in policy[1].split(";"))

    assert rules["default-src"] == rules["form-action"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert not any("http" in sources or "*" in sources or "'unsafe-eval'" in sources for sources in rules.values())
    for path in page.rglob("*"):
        if "pyodide" not in path.parts and path.suffix in (".html", ".js", ".css"):
            assert not re.search(r"(src|href|fetch\(|import)[=( ]*[\"'`]https?://", path.read_text()), path.name


def test_it_is_the_service_s_page(page):
    """The same modules and styles, but for the one that asks the service; with an example, and no history."""
    ours = {path.name for path in (HERE.parent / "web/static").iterdir()} - {"index.html"}
    folder = page / "static/page"

    assert {path.name for path in folder.iterdir()} == {*ours, "example.log"}
    assert "pyodide" in (page / "worker.js").read_text()
    assert (folder / "api.js").read_text() == (HERE / "static/api.js").read_text()
    exported = re.compile(r"export (?:async )?(?:const|function|class) (\w+)")
    assert set(exported.findall((HERE.parent / "web/static/api.js").read_text())) == set(
        exported.findall((folder / "api.js").read_text())
    )
    assert "history" not in (page / "index.html").read_text().partition("<main")[0].partition("<nav")[2]


def test_without_pyodide_it_says_where_to_get_it(run, tmp_path):
    ran = run("playground", "--out", tmp_path / "page", "--pyodide", tmp_path)

    assert (ran.code, "npm pack pyodide" in ran.err) == (2, True)
    with pytest.raises(BuildError, match="npm pack pyodide"):
        build(tmp_path, tmp_path)


def test_the_command_says_how_to_serve_it(run, tmp_path, runtime):
    ran = run("playground", "--out", tmp_path / "page", "--pyodide", runtime)

    assert (ran.code, "python -m http.server" in ran.out, (tmp_path / "page/index.html").is_file()) == (0, True, True)


def test_a_folder_that_cannot_be_written(run, tmp_path, runtime):
    (tmp_path / "file").write_text("")

    assert run("playground", "--out", tmp_path / "file/page", "--pyodide", runtime).code == 2


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def guess_type(self, path: str) -> str:  # type: ignore[override]
        types = {".mjs": "text/javascript", ".wasm": "application/wasm"}
        return types.get(Path(path).suffix) or super().guess_type(path)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The folder with the real Pyodide, over HTTP."""
    import os

    given = os.environ.get("TRIAGE_PYODIDE", "")
    if not given:
        pytest.skip("Pyodide is not here (TRIAGE_PYODIDE names its npm package)")
    build(tmp_path / "page", Path(given))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(tmp_path / "page"))
    )
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_in_a_browser_every_written_log_is_answered_and_nothing_leaves(served):
    """Chromium with the real Pyodide: the JSON of the command, and no request to any other place, nor allowed to be."""
    import shutil

    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(served)
        page.locator("html[data-engine]").wait_for(timeout=240_000)
        page.locator(".recent:not([hidden])").wait_for(timeout=120_000)
        loaded = len(asked)
        for path in LOGS:
            page.set_input_files("#file", path)
            title = page.locator("article.report h1")
            title.wait_for(timeout=120_000)
            assert title.inner_text() == triage(path).title
            asking = """async (text) => JSON.stringify(await (await import(`${location.origin}/static/page/api.js`)).sendLog(
                new Blob([text]), {}, {signal: new AbortController().signal, onSent() {}, onEvent() {}}))"""
            assert json.loads(page.evaluate(asking, path.read_text())) == triage(path).to_dict()
            page.click("header .brand")
        # The home page reads its example each time that it is shown.
        assert set(asked[loaded:]) <= {f"{served}static/page/example.log"}
        page.wait_for_function(
            "caches.open('vllm-triage').then((store) => store.keys()).then((kept) => kept.length === 1)"
        )
        page.reload()
        page.locator("html[data-engine^=restored]").wait_for(timeout=120_000)
        for path in LOGS:
            assert json.loads(page.evaluate(asking, path.read_text())) == triage(path).to_dict()
        assert all(url.startswith((served, f"blob:{served}")) for url in asked)
        with Loopback() as elsewhere:
            script = f"() => fetch('{elsewhere.url}/', {{mode: 'no-cors'}}).then(() => 'sent', () => 'refused')"
            assert [place.evaluate(script) for place in (page, page.workers[0])] == ["refused"] * 2
            assert elsewhere.calls == []
        browser.close()
