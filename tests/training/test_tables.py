"""One command makes what is mined from vLLM's releases anew."""

from __future__ import annotations

import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from vllm_triage.classifier.facts.fingerprint_index import Index as Fingerprint
from vllm_triage.corpus.code_lines import Index as Lines
from vllm_triage.training.options.index import Files, PackageIndexError
from vllm_triage.training.tables import __main__ as tables

CODE = b"def take(name):\n    logger.info('took %s of them all', name)\n    return table[name].value\n"
PATH = "vllm/v1/engine/core.py"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two releases, which the package index offers."""
    for version in ("0.2.0", "0.9.0"):
        with zipfile.ZipFile(tmp_path / f"vllm-{version}.zip", "w") as opened:
            opened.writestr(PATH, CODE)
    monkeypatch.setattr(tables, "releases", lambda since: [Files("0.2.0"), Files("0.9.0")] if since == "0.2.0" else [])
    return tmp_path


def test_the_tables_that_are_named_are_written(cache: Path) -> None:
    """Each of the releases that it begins with."""
    assert tables.main(["fingerprint", "lines", "modules", "--cache", str(cache), "--out", str(cache)]) == 0
    assert Fingerprint((cache / "fingerprint.bin").read_bytes()).releases == ("0.2.0", "0.9.0")
    assert Lines((cache / "lines.bin").read_bytes()).releases == ("0.9.0",)
    assert '"0.2.0"' not in (cache / "modules.json").read_text()
    assert not (cache / "cards.bin").exists()


def test_every_table_has_its_file_in_the_corpus() -> None:
    """A file that is renamed is renamed where it is made."""
    for place, _ in tables.TABLES.values():
        module = import_module(f"vllm_triage.training.{place}")
        assert Path(module.FILE).is_file()
        assert callable(module.made)


def test_the_command_says_why_it_cannot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The package index may not answer."""

    def refuse(since: str) -> list[Files]:
        raise PackageIndexError(f"no answer about releases since {since}")

    monkeypatch.setattr(tables, "releases", refuse)
    assert tables.main([]) == 2
    assert "no answer" in capsys.readouterr().err


def test_a_name_that_is_none_is_refused() -> None:
    """With the names that there are."""
    with pytest.raises(SystemExit, match="2"):
        tables.main(["nothing"])
