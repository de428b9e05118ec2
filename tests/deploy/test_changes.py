"""Fragments of the change log: all can be taken, and a release puts each below the heading of its kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOG = "# Changelog\n\n<!-- changes -->\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- First.\n"


def changes(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a folder."""
    command = [sys.executable, str(ROOT / ".ci" / "changes"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A change log with two fragments."""
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "a.fixed.md").write_text("A is right.\n")
    (tmp_path / "changes" / "b.breaking.md").write_text("B is gone.\n")
    (tmp_path / "changes" / "README.md").write_text("# How\n\nto.\n")
    (tmp_path / "CHANGELOG.md").write_text(LOG)
    return tmp_path


def test_the_fragments_of_this_repository_can_be_taken() -> None:
    """Kind, one line, not too long."""
    done = changes(ROOT)

    assert done.returncode == 0, done.stdout


def test_a_release_takes_all_fragments_breaking_ones_first(folder: Path) -> None:
    """And deletes them; older sections stay as they are."""
    assert changes(folder, "0.2.0").returncode == 0

    head, made, old = (folder / "CHANGELOG.md").read_text().replace("\n## [", "\n\x00## [").split("\x00")
    assert (head, old) == ("# Changelog\n\n<!-- changes -->\n\n", LOG[LOG.index("## [") :])
    assert made.startswith("## [0.2.0] - 20")
    assert made.partition("\n")[2] == "\n### Breaking\n\n- B is gone.\n\n### Fixed\n\n- A is right.\n\n"
    assert [path.name for path in (folder / "changes").iterdir()] == ["README.md"]


def test_a_section_that_is_there_is_added_to_and_dated(folder: Path) -> None:
    """Entries that were written by hand stay in front."""
    section = "## [0.2.0] - unreleased\n\n### Fixed\n\n- Z is right.\n\n"
    (folder / "CHANGELOG.md").write_text(LOG.replace("## [0.1.0]", f"{section}## [0.1.0]"))

    changes(folder, "0.2.0")

    text = (folder / "CHANGELOG.md").read_text()
    assert "unreleased" not in text
    assert "### Fixed\n\n- Z is right.\n- A is right.\n\n## [0.1.0]" in text


@pytest.mark.parametrize(
    ("name", "text"), [("a.broken.md", "x"), ("a.md", "x"), ("a.fixed.md", "one\ntwo"), ("a.fixed.md", "")]
)
def test_a_fragment_that_cannot_be_taken_is_named_and_nothing_is_written(folder: Path, name: str, text: str) -> None:
    """Before a release, not in it."""
    (folder / "changes" / name).write_text(text)

    done = changes(folder, "0.2.0")

    assert (done.returncode, name in done.stdout, (folder / "CHANGELOG.md").read_text()) == (1, True, LOG)
