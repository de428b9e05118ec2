"""`vllm-triage completion`: scripts that the shells themselves take, and that offer what there is."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from vllm_triage.corpus.store import load
from vllm_triage.service.cli.arguments import COMMANDS, parser

FLAGS = [name for action in parser()._actions for name in action.option_strings if name.startswith("--")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_hold_every_option_bucket_and_command(run, shell):
    """Made from the parser: a new option is there at once."""
    ran = run("completion", shell)
    spelled = [name[2:] if shell == "fish" else name for name in FLAGS]

    assert ran.code == 0
    assert [word for word in [*spelled, *COMMANDS, *load().buckets()] if word not in ran.out] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_read_them(run, shell):
    """Their own check of the syntax."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    ran = subprocess.run(
        [program, "-n"], input=run("completion", shell).out, text=True, capture_output=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--form", "--format"),
        ("explain kv_", "kv_cache_oom kv_transfer"),
        ("--format j", "json jsonl"),
        ("compl", "completion"),
    ],
)
def test_bash_completes(run, tmp_path, line, expected):
    """What Tab gives."""
    words = ["vllm-triage", *line.split(" ")]
    script = run("completion", "bash").out
    quoted = " ".join(f'"{word}"' for word in words)
    ask = f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _vllm_triage; echo "${{COMPREPLY[@]}}"'
    ran = subprocess.run(["bash", "-c", ask], text=True, capture_output=True, timeout=60, check=True, cwd=tmp_path)

    assert ran.stdout.strip() == expected


def test_other_shells_are_refused(run):
    """Exit code 2."""
    assert run("completion", "tcsh").code == 2
