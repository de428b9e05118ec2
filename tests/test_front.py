"""What ``import vllm_triage`` offers, from an editable installation; `.ci/run` looks at a wheel."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import pytest

import vllm_triage
from vllm_triage import Report, Triage, __version__, triage

ROOT = Path(__file__).parents[1]
IMPORT = "import sys; before = set(sys.modules); import vllm_triage; print(sorted(set(sys.modules) - before))"
LOG = ROOT / "corpus/logs/written/kv-cache-too-small.log"
PUBLIC = [
    "Alternative", "ContextLine", "Corrected", "Evidence", "Filtered", "Fix", "Input", "InputError", "KnownFacts", "Memory", "Question", "Report", "RuleError", "Stage", "Startup", "Story", "Triage", "TriageError", "TriageHandler", "Way", "Withheld", "__version__", "atriage", "explained", "triage",
]  # fmt: skip


def python(code: str, *options: str, cwd: Path, path: Path | None = None) -> str:
    """Run ``code`` in a fresh interpreter and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, *options, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_one_call_answers_a_log():
    report = triage(LOG)
    assert isinstance(report, Report)
    assert report.bucket == "kv_cache_oom"


def test_the_names_are_those_of_the_classifier():
    from vllm_triage import classifier

    for name in set(PUBLIC) - {"__version__"}:
        assert getattr(vllm_triage, name) is getattr(classifier, name)
    assert Triage is classifier.Triage


def test_dir_shows_what_is_public():
    assert dir(vllm_triage) == PUBLIC
    assert vllm_triage.__all__ == PUBLIC


def test_the_version_is_the_installed_one():
    assert __version__ == version("vllm-triage")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vllm_triage' has no attribute 'diagnose'"):
        _ = vllm_triage.diagnose


def test_importing_it_loads_nothing_else(tmp_path):
    # -S leaves out the site folders, whose .pth files may load anything.
    names = set(literal_eval(python(IMPORT, "-S", cwd=tmp_path, path=ROOT)))
    assert "vllm_triage" in names
    assert [] == sorted(name for name in names if name.startswith("vllm_triage."))
    assert set() == names & {"pydantic", "regex", "rich", "pathlib", "inspect", "importlib.metadata"}


def test_a_checkout_finds_its_parts_without_an_installation():
    code = "import importlib.util, vllm_triage; print(importlib.util.find_spec('vllm_triage.corpus').origin)"
    assert python(code, "-S", cwd=ROOT) == str(ROOT / "corpus/__init__.py")


def test_an_installed_package_looks_for_its_parts_nowhere_else(tmp_path):
    # Beside the package of a wheel lies whatever else is installed: no folder there is taken for a part of ours.
    package = tmp_path / "site/vllm_triage"
    (package / "classifier").mkdir(parents=True)
    (package / "classifier/__init__.py").touch()
    (package / "__init__.py").write_bytes((ROOT / "vllm_triage/__init__.py").read_bytes())
    (tmp_path / "site/corpus").mkdir()
    (tmp_path / "site/corpus/__init__.py").touch()
    code = "import importlib.util, vllm_triage; print(importlib.util.find_spec('vllm_triage.corpus'))"
    assert python(code, "-S", cwd=tmp_path, path=tmp_path / "site") == "None"


def test_the_docstring_is_an_example():
    """What it shows is what comes out."""
    import doctest

    assert doctest.testmod(vllm_triage) == doctest.TestResults(failed=0, attempted=4)


def test_a_report_is_printed_in_short():
    """``repr`` in one line, ``str`` on half a screen, a row of plain values for a table."""
    report = triage(LOG)
    assert (
        repr(report)
        == f"<Report kv_cache_oom/context_exceeds_cache 98%, line 37, {len(report.fixes)} fix{'es' * (len(report.fixes) != 1)}>"
    )
    assert str(report).startswith("✖ The KV cache cannot hold one request")
    assert "  1. Cap the context at what fits: --max-model-len 41936\n" in str(report)
    row = report.to_row()
    assert (row["cause"], row["line"], row["change"]) == (report.cause, 37, "--max-model-len 41936")
    assert {type(value) for value in row.values()} == {str, int, float, bool}


def test_equal_reports_are_one_in_a_set():
    """Read back from JSON, too."""
    report = triage(LOG)
    assert len({report, triage(LOG), Report.from_json(report.to_json())}) == 1


def test_tools_see_what_a_part_takes():
    """``help``, Shift-Tab in a notebook."""
    told = str(inspect.signature(vllm_triage.Fix))
    assert told.startswith("(*, rank: 'int', title: 'str'")
    assert "startup: 'Startup'" in str(inspect.signature(Report))


async def _lines() -> AsyncIterator[str]:
    for line in LOG.read_text(encoding="utf-8").splitlines(keepends=True):
        await asyncio.sleep(0)
        yield line


async def _broken() -> AsyncIterator[str]:
    yield "ValueError: x\n"
    raise ConnectionError("gone")


def test_a_log_is_answered_within_an_event_loop():
    """From whatever ``triage`` takes, and from lines that arrive; what goes wrong with them is raised."""
    assert asyncio.run(vllm_triage.atriage(LOG)) == asyncio.run(vllm_triage.atriage(_lines())) == triage(LOG)
    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(vllm_triage.atriage(_broken()))
