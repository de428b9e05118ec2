"""The line that says what a machine left unchecked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.not_checked import line

ROOT = Path(__file__).parents[1]


def test_skips_are_counted_by_their_reason():
    skipped = [
        ("tests/service/web/test_page.py::test_one", "Skipped: no Chromium on the path"),
        ("tests/service/web/test_page.py::test_two", "Skipped: no Chromium on the path"),
        ("tests/deploy/test_deploy.py::test_chart", "Skipped: helm is not installed"),
        ("tests/training/fit/test_fit.py", "Skipped: scikit-learn is not installed"),
        ("tests/x.py::test_x", "Skipped: reads /proc"),
    ]

    assert line(skipped) == (
        "NOT CHECKED on this machine: the Helm chart (helm is not installed): 1 test; "
        "pages in a browser (no Chromium on the path): 2 tests; reads /proc: 1 test; "
        "training and evaluation (scikit-learn is not installed): 1 file of tests"
    )


def test_what_applies_nowhere_is_no_gap():
    assert line([("tests/x.py::test_x", "Skipped: does not apply: the log says nowhere that a server starts")]) == ""


def test_it_stands_in_the_summary(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.not_checked import pytest_terminal_summary\n")
    (tmp_path / "test_x.py").write_text("import pytest\n\ndef test_x():\n    pytest.skip('no Chromium on the path')\n")
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path, tmp_path]
    ran = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)

    *_, told, counts = ran.stdout.splitlines()
    assert told == "NOT CHECKED on this machine: pages in a browser (no Chromium on the path): 1 test"
    assert "1 skipped" in counts
