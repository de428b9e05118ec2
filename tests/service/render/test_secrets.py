"""A secret planted anywhere in a log is in none of the formats."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from tests.classifier.masking.generated import logs_apart
from tests.classifier.masking.planted import SECRETS, A
from tests.everyday import sample
from tests.service.conftest import Ran
from vllm_triage import Question, triage
from vllm_triage.classifier.command import FORMS
from vllm_triage.service.render.interface import Options, Result, names, render

ARGS = "INFO 10-25 13:08:41 [utils.py:233] non-default args: {'model': 'acme/harbor', 'api_key': ['{}'], 'hf_token': '{}'}\n"
PAIRS = sample(pair for pairs in SECRETS.values() for pair in pairs)
"""Secrets as logs print them. All kinds, everywhere: tests/classifier/masking."""
PLACES = {
    "message": "INFO: start\nValueError: No available memory for the cache blocks. {}\n",
    "exception": 'Traceback (most recent call last):\n  File "/app/x.py", line 3, in <module>\nacme.FlangeError: no way on: {}\n',
    "around": "INFO: start\nINFO: {}\nValueError: No available memory for the cache blocks.\n{}\nINFO: end\n",
    "command": "+ vllm serve acme/harbor --port 1 {}\nValueError: No available memory for the cache blocks.\n",
    "kubernetes": "2026-01-02T03:04:05.678901234Z stderr F {}\n2026-01-02T03:04:05.678901234Z stderr F ValueError: No available memory for the cache blocks.\n",
    "process": "(EngineCore_DP0 pid=12) ERROR 10-25 13:08:43 [core.py:708] RuntimeError: CUDA out of memory. {}\n",
}


def _docker(log: str) -> str:
    lines = [
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-01-02T03:04:05Z"})
        for line in log.splitlines()
    ]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(("name", "place"), sample(product(names(), PLACES)))
def test_no_format_shows_a_secret(name: str, place: str, run, tmp_path: Path) -> None:
    """Each kind in each place, plain and in the records of Docker, all evidence and the reasons shown."""
    paths: list[Path] = []
    secrets: list[str] = []
    for number, (text, secret) in enumerate(PAIRS):
        log = PLACES[place].replace("{}", text)
        # The formats show one contract: that records are unwrapped first is looked at in one of them.
        for wrapped in (log, _docker(log)) if name == "json" else (log,):
            path = tmp_path / f"{number}-{len(paths)}.log"
            path.write_text(wrapped)
            paths.append(path)
        secrets.append(secret)
    shown: Ran = run(*paths, "--format", name, "-v", *(["--explain"] if name == "text" else []))

    assert len(shown.out) > 100 * len(paths)
    assert [] == [secret for secret in secrets if secret in shown.out]


def test_no_secret_is_shown_that_stands_apart_from_its_name() -> None:
    """On another line than its name, whatever prints it, in every format and in packs of all sizes."""
    shown = []
    for log, secret in sample(logs_apart()):
        report = triage(log)
        texts = {name: render(name, [Result("-", report)], Options(verbose=True, color="never")) for name in names()}
        texts |= {f"pack of {budget}": report.pack(budget).text() for budget in (500, 2000, 14_000)}
        shown += [(name, log) for name, text in texts.items() if secret in text]
    assert [] == shown


def test_no_command_that_is_told_shows_a_secret() -> None:
    """With `--command`: each kind as a word of it, as an option's value, as a variable of a container."""
    log = PLACES["message"].replace("{}", "")
    commands = (
        "vllm serve acme/harbor {}",
        "vllm serve acme/harbor --foo {}",
        'docker run -e X="{}" vllm/vllm-openai --model m',
    )
    shown = [
        (command, text)
        for text, secret in PAIRS
        for command in commands
        if secret in triage(log, Question(command=command.replace("{}", text))).to_json()
    ]

    assert [] == shown


@pytest.mark.parametrize("form", FORMS)
def test_no_corrected_start_shows_a_secret(form: str, run, tmp_path: Path) -> None:
    """The start command is shown again, corrected: its keys are not."""
    path = tmp_path / "started.log"
    path.write_text(
        f"+ HF_TOKEN={A} vllm serve acme/harbor --api-key {A} --max-model-len 8192 --ssl-keyfile-password {A}\n"
        + ARGS.replace("{}", A)
        + "ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is needed, which is "
        "larger than the available KV cache memory (5.12 GiB). Based on the available memory, the estimated maximum model length is 41936.\n"
    )
    shown: Ran = run(path, "--as", form)

    assert "acme/harbor" in shown.out
    assert A not in shown.out
