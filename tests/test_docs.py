"""What the pages say of the tree is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["CONTRIBUTING.md", "README.md", "docs/architecture.md", "benchmarks/README.md"]
FOLDERS = (
    "benchmarks",
    "classifier",
    "corpus",
    "deploy",
    "docs",
    "service",
    "tests",
    "training",
    "vllm_triage",
    r"\.ci",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_path_of_a_page_is_there(page):
    """A path that begins with a folder of ours; ``<…>`` and ``*`` stand for names."""
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./<>*-]+)`", (ROOT / page).read_text())
    patterns = {name: re.sub(r"<[^>]*>", "*", name).rstrip("/") for name in named}

    assert [name for name, pattern in patterns.items() if not any(ROOT.glob(pattern))] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
@pytest.mark.parametrize("folder", ["classifier", "service", "training"])
def test_every_room_is_named(page, folder):
    """A folder with modules, directly below the top."""
    text = (ROOT / page).read_text()
    rooms = sorted(initial.parent.name for initial in (ROOT / folder).glob("*/__init__.py"))

    assert rooms
    assert [room for room in rooms if not re.search(rf"`(?:{folder}/)?{room}/?`", text)] == []


def test_the_glossary_explains_each_word_once():
    """In about as many lines as fit on a screen."""
    glossary = (ROOT / "docs/architecture.md").read_text().partition("## Glossary")[2]
    words = re.findall(r"^\| ([^|]+?) \|", glossary, re.MULTILINE)[1:]

    assert 20 <= len(words) <= 35
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_the_readme_leads_to_every_page():
    """Whoever looks for a page begins there, and finds the list of pages by what they are for."""
    listed = (ROOT / "docs/README.md").read_text()
    docs = ROOT / "docs"
    pages = sorted(f"{page.relative_to(docs)}" for page in [*docs.glob("*.md"), *docs.glob("lab/*.md")])
    pages.remove("README.md")

    assert "(docs/README.md)" in (ROOT / "README.md").read_text()
    assert [page for page in pages if f"({page})" not in listed] == []


def test_the_site_builds_without_a_warning(tmp_path):
    """A page that is left out of the menu, a link or an anchor that leads nowhere, stops the build."""
    pytest.importorskip("properdocs")
    command = [sys.executable, "-m", "properdocs", "build", "--strict", "-q", "-f", "mkdocs.yml", "-d", f"{tmp_path}"]
    built = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    assert "How to" in (tmp_path / "index.html").read_text()
    loaded = re.findall(
        r'<(?:link|script|img)[^>]+(?:src|href)="((?:https?:)?//[^"]+)',
        "".join(page.read_text() for page in tmp_path.rglob("*.html")),
    )
    assert loaded == []
