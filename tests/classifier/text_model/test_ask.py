"""The exported model at run time: what it answers, why, and what it does where its file is missing or damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_triage.classifier.incidents.types import Incident
from vllm_triage.classifier.lines.types import Line
from vllm_triage.classifier.testing import read_incidents
from vllm_triage.classifier.text_model import ask as text_model

OUT_OF_MEMORY = """\
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 210, in load_model
    self.model_runner.load_model()
  File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/linear.py", line 98, in create_weights
    weight = Parameter(torch.empty(sum(output_partition_sizes),
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.64 GiB
"""


def _read(log: str) -> Incident:
    return read_incidents(log)[-1]


def _guess(log: str) -> list[tuple[str, float]]:
    incident = _read(log)
    return text_model.predict(incident.traces, incident.errors, incident.reached)


def test_probabilities_are_those_of_all_buckets() -> None:
    """They stand likeliest first; what is left to one is that it is none of them."""
    answer = _guess(OUT_OF_MEMORY)
    chances = [chance for _, chance in answer]
    assert chances == sorted(chances, reverse=True)
    assert 0.5 < sum(chances) < 1.0 + 1e-9
    assert len({bucket for bucket, _ in answer}) == len(answer) > 40


@pytest.mark.parametrize(
    ("log", "bucket"),
    [
        (OUT_OF_MEMORY, "model_load_oom"),
        ("RuntimeError: we detected NCCL trouble: unhandled system error while ranks were connecting\n", "nccl_error"),
        ("ValueError: the harbor adapter's LoRA rank 128 exceeds what max_lora_rank allows\n", "lora"),
    ],
)
def test_reworded_failures_are_named(log: str, bucket: str) -> None:
    """Words that no rule holds literally still tell the bucket, first or second."""
    assert bucket in [name for name, _ in _guess(log)[:2]]


def test_a_foreign_failure_stays_below_the_threshold() -> None:
    """What has nothing to do with vLLM is no answer."""
    frame = '  File "/srv/shop/cart.py", line 9, in total\n    return a / b\n'
    log = f"Traceback (most recent call last):\n{frame}ZeroDivisionError: division by zero\n"
    bucket, chance = _guess(log)[0]
    assert bucket in ("unknown", "no_failure") or chance < text_model.THRESHOLD


def test_the_terms_that_decided_stand_on_lines_of_the_log() -> None:
    """Each comes with its weight, the weightiest first, and the line that holds it."""
    incident = _read(OUT_OF_MEMORY)
    told = text_model.explain(incident.traces, incident.errors, incident.reached, "model_load_oom")
    assert told
    assert [weight for _, weight, _ in told] == sorted((weight for _, weight, _ in told), reverse=True)
    assert {line for _, _, line in told} <= set(range(1, 7))
    shown = text_model.evidence(incident.traces, incident.errors, incident.reached, "model_load_oom")
    assert {item.text for item in shown} <= set(OUT_OF_MEMORY.splitlines())


def test_nothing_to_judge_is_no_answer() -> None:
    """Without exception and logged error there is nothing to guess from."""
    assert text_model.predict([], [], "weights") == []
    assert text_model.explain([], []) == []


def test_the_last_lines_speak_where_nothing_else_does() -> None:
    """The last first, lines of healthy levels left out."""
    lines = [
        Line(1, "INFO is no sign", level="INFO"),
        Line(2, "vllm: error: the first of two"),
        Line(3, "vllm: error: the second of two"),
    ]
    assert [line.number for line in text_model.notable(lines)] == [3, 2]


def test_a_quotation_of_quiet_lines_is_read_all_the_same() -> None:
    """Nothing else there: the last two lines are judged, whatever their level."""
    log = (
        "INFO 11-02 10:00:00 [a.py:1] one\nINFO 11-02 10:00:01 [a.py:2] waits\nINFO 11-02 10:00:02 [a.py:3] waits on\n"
    )
    incident = _read(log)
    tail = [Line(number, text, level="INFO") for number, text in enumerate(log.splitlines(), 1)]
    traces, lines = text_model.judged(incident, incident.errors, tail)
    assert traces == []
    assert [line.number for line in lines] == [3, 2]


def test_what_a_stopped_server_prints_proves_nothing() -> None:
    """Errors after Ctrl-C or SIGTERM are how it ends; those before the server came up were overcome."""
    failure = "ERROR 11-02 10:00:0{} [core.py:9] the harbor engine failed\n"
    ready = "INFO:     Application startup complete.\n"
    stopped = "INFO 11-02 10:00:05 [launcher.py:79] Shutting down FastAPI HTTP server.\n"
    incident = _read(
        failure.format(1)
        + ready
        + failure.format(3).replace("failed", "stumbled")
        + stopped
        + failure.format(7).replace("failed", "ended")
    )
    _, lines = text_model.judged(incident, incident.errors, ())
    assert [line.number for line in lines] == [3]


def test_nothing_is_read_from_the_end_of_a_server_that_came_up() -> None:
    """Its last lines are those of an idle server, not of a failure."""
    incident = _read("INFO:     Application startup complete.\n")
    assert text_model.judged(incident, incident.errors, [Line(1, "some error in an answer")]) == ([], [])


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the model's folder that a test may damage."""
    shutil.copytree(text_model.FOLDER, tmp_path / "model")
    monkeypatch.setattr(text_model, "FOLDER", str(tmp_path / "model"))
    text_model._load.cache_clear()
    yield tmp_path / "model"
    text_model._load.cache_clear()


def test_a_missing_file_is_said_and_never_raised(elsewhere: Path) -> None:
    """Rules answer alone then."""
    (elsewhere / "text.bin").unlink()
    assert _guess(OUT_OF_MEMORY) == []
    assert "no text model" in text_model.problem()
    assert text_model.THRESHOLD > 1


@pytest.mark.parametrize("name", ["text.bin", "text.json"])
@pytest.mark.parametrize("keep", [0, 100, 1000])
def test_a_cut_file_is_said_and_never_raised(elsewhere: Path, name: str, keep: int) -> None:
    """Its SHA-256, or its description, tells."""
    file = elsewhere / name
    file.write_bytes(file.read_bytes()[:keep])
    assert _guess(OUT_OF_MEMORY) == []
    assert "damaged" in text_model.problem()


def test_a_changed_byte_is_found(elsewhere: Path) -> None:
    """A weight that flipped would change answers without a sign."""
    file = elsewhere / "text.bin"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert text_model.predict([], [Line(1, "CUDA out of memory", level="ERROR")]) == []
    assert "SHA-256" in text_model.problem()


def test_another_layout_is_said(elsewhere: Path) -> None:
    """A model of an earlier or a later release is not read as if it were of this one."""
    file = elsewhere / "text.json"
    about = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**about, "format": 1}), encoding="utf-8")
    assert _guess(OUT_OF_MEMORY) == []
    assert f"its layout is 1, this release reads {text_model.FORMAT}" in text_model.problem()


@settings(max_examples=60)
@given(st.text(max_size=300), st.sampled_from(["", "ERROR", "CRITICAL"]))
def test_any_line_gets_an_answer(text: str, level: str) -> None:
    """Whatever a line holds, the answer is well-formed."""
    answer = text_model.predict([], [Line(7, text, level=level, source="core.py:1")])
    assert all(0 <= chance <= 1 for _, chance in answer)


def test_no_numpy_and_no_scikit_learn_at_run_time() -> None:
    """The command must start fast."""
    code = (
        "import sys; from vllm_triage.classifier.text_model import ask as text_model; from vllm_triage.classifier.lines.types import Line; "
        "assert text_model.predict([], [Line(1, 'CUDA out of memory', level='ERROR')]); "
        "print(sorted({'numpy', 'sklearn', 'scipy', 'joblib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_model_is_small() -> None:
    """It travels in the wheel."""
    assert sum(file.stat().st_size for file in Path(text_model.FOLDER).iterdir()) < 4 << 20
