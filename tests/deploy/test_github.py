"""The GitHub action: its script as the runner runs it, and the problem matcher against what is really printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.service.samples import failure, healthy, unknown
from vllm_triage.service.render.interface import Options, render

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / "deploy/github/triage.sh"
MATCHERS = json.loads((ROOT / "deploy/github/problem-matcher.json").read_text())["problemMatcher"]
LOG = ROOT / "corpus/logs/written/kv-cache-too-small.log"


def matched(text: str) -> list[tuple[str, str, str]]:
    """Return severity, message and code of what the runner would annotate."""
    lines = text.split("\n")
    found = []
    for matcher in MATCHERS:
        patterns = matcher["pattern"]
        for place in range(len(lines) - len(patterns) + 1):
            matches = [re.search(pattern["regexp"], lines[place + at]) for at, pattern in enumerate(patterns)]
            if all(matches):
                told = {
                    key: match[pattern[key]]
                    for pattern, match in zip(patterns, matches, strict=True)
                    if match
                    for key in ("message", "code")
                    if key in pattern
                }
                found.append((matcher["severity"], told["message"], told["code"]))
    return found


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_matcher_finds_each_answer_once(width):
    """However wide the output is; an answer without a failure is no problem."""
    options = Options(color="never", width=width)
    results = [failure(), unknown(), healthy()]

    assert [matched(render("text", [result], options)) for result in results] == [
        [("error", "The KV cache cannot hold one request of the full context", "kv_cache_oom/context_exceeds_cache")],
        [("warning", "A failure that is not recognised", "unknown/unrecognised_failure")],
        [],
    ]


def test_inputs_reach_the_script_as_variables_alone():
    """Text within a script would be run: names of logs come from pull requests."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]

    assert scripts
    assert not any("${{" in script for script in scripts)


def test_every_output_of_the_action_is_written(tmp_path):
    outputs = triage(tmp_path, LOG=f"{LOG}\n", EXIT_ZERO="true").outputs

    assert sorted(ACTION["outputs"]) == sorted(outputs)


class triage:  # noqa: N801 - reads as what it does
    """The step, as a runner starts it."""

    def __init__(self, folder: Path, **variables: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        runner = {"RUNNER_TEMP": folder, "GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
        given = {name: str(value) for name, value in runner.items()} | {"PATH": path, "HOME": str(folder)} | variables
        ran = subprocess.run(["bash", SCRIPT], env=given, capture_output=True, text=True, timeout=120, check=False)
        self.code, self.out, self.err = ran.returncode, ran.stdout, ran.stderr
        output = folder / "output"
        lines = output.read_text().splitlines() if output.exists() else []
        self.outputs = dict(line.split("=", 1) for line in lines)
        self.summary = (folder / "summary").read_text() if (folder / "summary").exists() else ""


@pytest.mark.slow
def test_a_failed_log_fails_the_step_and_is_told_everywhere(tmp_path):
    ran = triage(tmp_path, LOG=f"\n{LOG}\n")

    assert (ran.code, ran.outputs["cause"]) == (1, "kv_cache_oom/context_exceeds_cache")
    assert ran.out.startswith("::error title=kv_cache_oom/context_exceeds_cache")
    assert "## ✖ The KV cache cannot hold" in ran.summary
    assert json.loads(Path(ran.outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert json.loads(Path(ran.outputs["json"]).read_text())["bucket"] == "kv_cache_oom"


@pytest.mark.slow
def test_arguments_are_handed_on_and_names_are_no_commands(tmp_path):
    """What does not count passes; a name with signs of the shell is a name."""
    strange = tmp_path / "$(touch made) ; x.log"
    strange.write_bytes(LOG.read_bytes())
    ran = triage(tmp_path, LOG=str(strange), ARGUMENTS="--ignore\nkv_cache_oom")

    assert (ran.code, (tmp_path / "made").exists(), ran.outputs["bucket"]) == (0, False, "kv_cache_oom")


@pytest.mark.parametrize(
    ("log", "told"), [("\n", "no log is named"), ("--version", "no such file"), ("/no/such.log", "no such file")]
)
def test_what_cannot_be_read_fails_the_step(tmp_path, log, told):
    ran = triage(tmp_path, LOG=log, EXIT_ZERO="true")

    assert (ran.code, told in ran.out + ran.err) == (2, True)
