"""How an extra is added: from where the installation came, never by a bare name that somebody else may register."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

import pytest

from vllm_triage.classifier import extras

ROOT = Path(__file__).parents[2]


class Installed:
    """A distribution that knows where it came from."""

    def __init__(self, told: object) -> None:
        self._told = told

    def read_text(self, _name: str) -> str | None:
        """Return the file of PEP 610."""
        return self._told if self._told is None else json.dumps(self._told)


@pytest.mark.parametrize(
    ("told", "command"),
    [
        ({"url": "file:///src/a%20b", "dir_info": {"editable": True}}, "pip install '/src/a b[zstd]'"),
        ({"url": "https://git.example/x", "vcs_info": {"vcs": "git"}}, "pip install 'vllm-triage[zstd] @ git+https://git.example/x'"),
        ({"url": "file:///tmp/x.whl", "archive_info": {}}, "pip install 'vllm-triage[zstd] @ file:///tmp/x.whl'"),
        (None, "pip install '.[zstd]' in a checkout of vllm-triage"),
    ],
)  # fmt: skip
def test_the_command_fits_the_installation(told: object, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout, a repository, a wheel; nobody knows."""
    monkeypatch.setattr(extras, "distribution", lambda _name: Installed(told))
    assert extras.install("zstd") == command


def test_without_a_distribution_the_checkout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from its folder, without an installation."""

    def missing(name: str) -> object:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert "checkout" in extras.install("zstd")


def test_no_text_names_a_package_of_a_registry() -> None:
    """`pip install vllm-triage` would install whatever somebody registers under that name."""
    rooms = ("classifier", "corpus", "service", "training", "docs", "deploy")
    files = [
        path
        for room in rooms
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".js", ".html", ".yaml")
    ]
    found = [
        path.name
        for path in [*files, ROOT / "README.md"]
        if re.search(r"pip install ['\"]?vllm-triage", path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("mark", "command"),
    [("pipx_metadata.json", "pipx install --force"), ("uv-receipt.toml", "uv tool install --force")],
)
def test_who_installed_it_is_asked_to_add_the_extra(
    mark: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their environments have no pip on the PATH: another one's would put it elsewhere."""
    (tmp_path / mark).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    told = {"url": "file:///src", "dir_info": {}}
    monkeypatch.setattr(extras, "distribution", lambda _name: Installed(told))
    assert f"{command} '/src[zstd]'" == extras.install("zstd")
