"""What the README shows of the service is what comes out."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SHOWN = re.compile(r"<!-- tested -->\n```shell\n(?P<command>.*?)```\n\n```json\n(?P<output>.*?)```", re.DOTALL)


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("jq"), reason="curl or jq is not installed")
def test_the_command_answers_as_shown(serve):
    """Word for word, but for the port."""
    found = SHOWN.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    command = found["command"].replace("http://127.0.0.1:8501", serve().url)
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=True)

    assert found["output"] == ran.stdout
