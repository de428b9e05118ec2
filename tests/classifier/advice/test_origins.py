"""What is advised where no rule speaks: by the place that raised the error, and by its words."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from vllm_triage import triage
from vllm_triage.corpus import raise_sites
from vllm_triage.training.raise_sites.sites import Sites

PATH = "vllm/v1/worker/acme.py"
STACK = """INFO 02-27 10:00:00 [api_server.py:911] vLLM API server version 0.10.2
INFO 02-27 10:00:00 [utils.py:326] non-default args: {{'model': 'acme/a', 'enable_lora': True, 'max_lora_rank': 16}}
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/{path}", line 3, in check
    {code}
{error}
"""
WORDS = "Acme wheels turn the wrong way round"


def test_the_option_for_which_alone_an_error_is_raised_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First, with the guard as its reason; the guard stands in the summary."""
    archive = tmp_path / "0.10.2.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        text = f"class Acme:\n    def check(self, config):\n        if config.enable_lora:\n            raise RuntimeError('{WORDS}')\n"
        opened.writestr(PATH, text)
    sites = Sites()
    sites.add("0.10.2", archive)
    path = tmp_path / "cards.bin"
    path.write_bytes(sites.packed())
    read = raise_sites.Index(str(path))
    monkeypatch.setattr(raise_sites, "index", lambda: read)
    code = f"raise RuntimeError('{WORDS}')"
    report = triage(STACK.format(path=PATH, code=code, error=f"RuntimeError: {WORDS}"))
    assert report.fixes[0].change == "leave out --enable-lora"
    assert "where enable_lora is true" in report.summary


def test_what_the_words_say_whatever_the_program_goes_first() -> None:
    """With the explanation as its reason."""
    error = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x4096 and 2048x4096)"
    report = triage(STACK.format(path="acme/serve.py", code="return layer(x)", error=error))
    assert report.decided_by != "rule"
    assert report.fixes[0].title.startswith("Compare 4096 and 2048")
    assert "exactly 2 times apart" in report.fixes[0].why
