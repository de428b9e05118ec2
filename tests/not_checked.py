"""Says at the end of a run, in one line, what this machine left unchecked: a smaller green is no green."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any

import pytest

DOES_NOT_APPLY = "does not apply: "
"""How the reason of a skip begins that would be one on every machine."""
WHAT = {
    "Chromium": "pages in a browser",
    "playwright": "pages in a browser",
    "axe-playwright": "whether pages are accessible",
    "PostgreSQL": "the history in PostgreSQL",
    "Alertmanager": "alerts from Alertmanager itself",
    "helm": "the Helm chart",
    "kubectl": "the Kubernetes manifests",
    "promtool": "the alert rules",
    "docker": "the image",
    "properdocs": "the site of the docs",
    "curl": "the commands of README and docs",
    "openssl": "the webhook's signature by openssl",
    "scikit-learn": "training and evaluation",
    "matplotlib": "the pictures of an evaluation",
    "superuser": "files that may not be read",
}
"""What is unchecked, by a word of the reason."""

SINGLE = {"tests": "test", "files of tests": "file of tests"}


def line(skipped: Iterable[tuple[str, str]]) -> str:
    """Return what was not checked; "" where nothing was left out.

    Args:
        skipped: Test (or file, where a whole file is left out) and reason of each skip.
    """
    counts: dict[str, Counter[str]] = {}
    for test, told_reason in skipped:
        reason = told_reason.removeprefix("Skipped: ")
        if not reason.startswith(DOES_NOT_APPLY):
            kind = "tests" if "::" in test else "files of tests"
            counts.setdefault(reason, Counter())[kind] += 1
    told = [f"{_what(reason)}: {_many(kinds)}" for reason, kinds in sorted(counts.items())]
    return f"NOT CHECKED on this machine: {'; '.join(told)}" if told else ""


def _what(reason: str) -> str:
    names = [name for word, name in WHAT.items() if word.lower() in reason.lower()]
    return f"{names[-1]} ({reason})" if names else reason


def _many(kinds: Counter[str]) -> str:
    return " and ".join(f"{count} {kind if count > 1 else SINGLE[kind]}" for kind, count in kinds.items())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Generator[None]:
    """Print the line below all others but the counts."""
    yield
    reports = terminalreporter.stats.get("skipped", [])
    found = line(
        (report.nodeid, report.longrepr[2] if isinstance(report.longrepr, tuple) else "") for report in reports
    )
    if found:
        terminalreporter.write_line(found, red=True, bold=True)
