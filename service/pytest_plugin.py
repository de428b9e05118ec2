"""A pytest plugin: adds the diagnosis to the report of a failing test whose captured output is vLLM's.

It is loaded by pytest itself where vllm-triage is installed; ``-p no:vllm_triage`` leaves it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

SIGNS = ("vllm", "EngineCore", "VllmWorker")
"""Words without one of which an output is not looked at."""
TITLE = "vllm-triage"
"""Heading of the section that is added."""


# `wrapper=True` would break every run of a pytest before 8: the plugin is loaded wherever we are installed.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, None]:  # noqa: ARG001 - pytest's names
    """Add a section to the report of a failing phase of a test."""
    outcome = yield
    if outcome.excinfo is not None:  # what another plugin raised is not ours to handle
        return
    report = outcome.get_result()
    if report.failed:
        try:
            _add(report, str(getattr(report, "longreprtext", "")))
        except Exception as error:  # noqa: BLE001 - a test's result is not to hang on us
            report.sections.append((TITLE, f"no diagnosis: {type(error).__name__}: {error}"))


def _add(report: Any, error: str) -> None:
    captured = "\n".join(text for name, text in report.sections if name.startswith("Captured"))
    if not any(sign in captured for sign in SIGNS):
        return
    from ..classifier.api import shared
    from ..classifier.in_process.explained import explanation

    found = shared().report(f"{captured}\n{_as_printed(error)}\n".encode("utf-8", "replace"))
    if found.failed and found.bucket != "unknown":
        report.sections.append((TITLE, explanation(found).strip("\n")))


def _as_printed(error: str) -> str:
    """Return the lines of pytest's own traceback that say what was raised: ``E   ValueError: …``."""
    return "\n".join(line[1:].strip() for line in error.splitlines() if line.startswith("E "))
