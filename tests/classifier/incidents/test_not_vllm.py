"""Other software's failures are nobody's cause, and an excerpt is not held against what it leaves out."""

from __future__ import annotations

import random

import pytest

from tests.everyday import examples
from vllm_triage.classifier import triage
from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.incidents.not_vllm import has_signs, other_engine
from vllm_triage.training.text_model.rows.other_software import other_logs

TRIAGE = Triage()
REDIS = "7:M 02 Nov 2026 10:00:{:02} * 100 changes in 300 seconds. Saving...\n"
FORK = "7:M 02 Nov 2026 10:01:00.128 # Can't save in background: fork: Cannot allocate memory\n"
TRACE = """Traceback (most recent call last):
  File "/srv/shop/jobs.py", line 12, in <module>
    main()
  File "/srv/shop/jobs.py", line 8, in main
    total(1, 2, 3)
TypeError: total() takes 2 positional arguments but 3 were given
"""


@pytest.mark.parametrize("log", ["".join(map(REDIS.format, range(9))) + FORK, TRACE + TRACE])
def test_a_failure_of_another_program_is_unknown(log: str) -> None:
    """Its words are those of a rule; the rule's answer is named as an alternative only, and a note tells why."""
    found = TRIAGE.report(log.encode())
    assert ("unknown", True) == (found.bucket, bool(found.alternatives))
    assert any("No line of it bears a mark of vLLM" in note for note in found.notes)


def test_a_quiet_log_of_another_program_is_neither_healthy_nor_failed() -> None:
    assert "unknown/nothing_recognised" == TRIAGE.report("".join(map(REDIS.format, range(20))).encode()).cause


@pytest.mark.parametrize(
    ("log", "engine"),
    [
        (
            '  File "/opt/sglang/python/sglang/srt/managers/scheduler.py", line 5, in step\nRuntimeError: CUDA error\n',
            "SGLang",
        ),
        ("llama_model_loader: loaded meta data\nllama_model_load: error loading model: tensor missing\n", "llama.cpp"),
        (
            '  File "/opt/sglang/python/sglang/a.py", line 5, in step\n  File "/opt/vllm/vllm/_custom_ops.py", line 7\n',
            "",
        ),
        (
            '  File "/opt/sglang/python/sglang/srt/a.py", line 5, in step\n' * 5
            + '  File "/opt/vllm/vllm/_custom_ops.py", line 7\n',
            "SGLang",
        ),
    ],
)
def test_another_engine_is_told_by_its_paths_and_words(log: str, engine: str) -> None:
    """Unless as much of vLLM's own code stands in it as well."""
    assert engine == other_engine(log.encode(), b"")


def test_another_engines_failure_is_unknown_and_named() -> None:
    """Its words are vLLM's, but the fixes would be for another program."""
    log = 'Traceback (most recent call last):\n  File "/opt/sglang/python/sglang/srt/model.py", line 5, in load\n    x()\n'
    found = TRIAGE.report(f"{log}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n".encode())
    assert "unknown" == found.bucket
    assert any("a log of SGLang" in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nfrom vllm import LLM\n\n\ndef main():\n    print('Application startup complete')\n\n\nclass A:\n    x = 1\n",
        '[project]\nname = "x"\n[tool.ruff]\nselect = ["A"]\nline = "Application startup complete."\nx = \'y\'\n',
    ],
)
def test_a_program_or_a_configuration_is_no_healthy_server(text: str) -> None:
    """Although it holds the words of a healthy start."""
    assert "unknown" == TRIAGE.report(text.encode()).bucket


def test_an_excerpt_is_answered() -> None:
    """Somebody who pastes two lines has left out what would tell that they are vLLM's."""
    found = TRIAGE.report(b"ERROR: port\nOSError: [Errno 98] Address already in use\n")
    assert "port_in_use" == found.bucket


def test_words_that_only_vllm_says_are_enough() -> None:
    """However much else there is that is not vLLM's."""
    lines = [*(f"job {number}: done" for number in range(30)), "ValueError: No available memory for the cache blocks."]
    assert "kv_cache_oom" == TRIAGE.report("\n".join(lines).encode()).bucket


@pytest.mark.parametrize("sign", ["[core.py:1] vLLM", "CUDA error", "torch/nn/modules", "POST /v1/completions"])
def test_one_sign_in_a_thousand_lines_is_a_sign(sign: str) -> None:
    """Upper or lower case, near the beginning or the end."""
    quiet = b"all is well here\n" * 1000
    assert not has_signs(quiet[:4096], quiet)
    assert has_signs(sign.encode(), quiet)
    assert has_signs(quiet[:4096], quiet + sign.encode())


def test_most_logs_of_other_programs_are_named_as_nothing() -> None:
    """87 programs: 0.97 and more are unknown or without failure."""
    logs = other_logs(random.Random(11), count=examples(6))
    answers = [TRIAGE.report(log.text.encode()).bucket for log in logs]
    silent = sum(answer in ("unknown", "no_failure") for answer in answers)
    assert len(answers) > 150
    assert silent >= 0.96 * len(answers), f"{silent} of {len(answers)}"


def test_a_program_above_the_lines_that_it_logged_is_a_log() -> None:
    """Who asks for help pastes both."""
    program = "import torch\nfrom vllm import LLM\nllm = LLM('acme/tiny')\n\n"
    logged = (
        "(EngineCore_DP0 pid=7) ERROR 01-02 10:00:00 [core.py:7]     torch.cuda.set_device(self.device)\n"
        '(EngineCore_DP0 pid=7) ERROR 01-02 10:00:00 [core.py:7]   File "/opt/torch/cuda/__init__.py", line 3, in _lazy_init\n'
        "(EngineCore_DP0 pid=7) ERROR 01-02 10:00:00 [core.py:7]     raise RuntimeError(\n"
        "(EngineCore_DP0 pid=7) ERROR 01-02 10:00:00 [core.py:7] RuntimeError: Cannot re-initialize CUDA in forked subprocess.\n"
    )
    assert triage(program + logged).cause == "process_start_method/cuda_forked"
    assert triage(program + "x = 1\n" * 4).bucket in ("unknown", "no_failure")


def test_another_engine_that_came_up_is_no_server_of_vllms() -> None:
    """Its web server says the words of a start and of requests, and no line is of vLLM's logger."""
    log = (
        "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='acme/tiny')\n"
        '  File "/opt/sglang/python/sglang/srt/managers/scheduler.py", line 7, in run\n'
        '  File "/opt/sglang/python/sglang/srt/model.py", line 5, in load\n'
        "INFO:     Application startup complete.\n"
        'INFO:     127.0.0.1:40112 - "POST /v1/completions HTTP/1.1" 200 OK\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    report = TRIAGE.report(log)
    assert report.bucket == "unknown"
    assert any("a log of SGLang" in note for note in report.notes)
    assert not any("vllm serve" in fix.change for fix in report.fixes)
