"""One line, or one path, bounds the releases that a log can come from."""

from __future__ import annotations

import pytest

from vllm_triage.classifier import triage
from vllm_triage.classifier.situation.ages import ranges_told_by

OLD = """INFO 08-10 10:00:00 model_runner.py:1410] Capturing the model for CUDA graphs. This may lead to unexpected consequences if the model is not static.
ERROR 08-10 10:00:03 worker_base.py:464] Error executing method determine_num_available_blocks.
Traceback (most recent call last):
  File "/opt/conda/lib/python3.10/site-packages/vllm/worker/model_runner.py", line 1450, in capture
    with torch.cuda.graph(self._graph, pool=memory_pool, stream=stream):
  File "/opt/conda/lib/python3.10/site-packages/torch/cuda/graphs.py", line 185, in __exit__
    self.cuda_graph.capture_end()
  File "/opt/conda/lib/python3.10/site-packages/torch/cuda/graphs.py", line 83, in capture_end
    super().capture_end()
RuntimeError: CUDA error: operation failed due to a previous error during capture
"""


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("INFO 08-10 10:00:00 model_runner.py:1410] x", ["<0.8"]),
        ("INFO 08-10 10:00:00 [v1/engine/core.py:77] x", [">=0.8"]),
        ("(EngineCore pid=3) INFO 08-10 10:00:00 [core.py:77] x", [">=0.8", ">=0.18"]),
        ("(EngineCore_0 pid=3) x", [">=0.10.1,<0.10.2"]),
        ("(EngineCore_DP0 pid=3) x", [">=0.10.2", "<0.18"]),
        ("(EngineCore_DP0 pid=3) x\n(EngineCore_DP1 pid=4) x", [">=0.10.2"]),
        ("(EngineCore_DP0 pid=3) x data_parallel_size=1, data_parallel_size=2", [">=0.10.2"]),
        ("(VllmWorker rank=1 pid=3) x", [">=0.6.5,<0.10.1"]),
        ("(VllmWorker TP1 pid=3) x", [">=0.10.1,<0.10.2"]),
        ("(Worker_TP1_EP1 pid=3) x", [">=0.10.2"]),
        ("(APIServer pid=3) x", [">=0.10.1"]),
        ('File "/opt/vllm/v1/engine/core.py", line 3', [">=0.6.4"]),
        ("/opt/lib/python3.8/site-packages/vllm/engine/llm_engine.py", ["<0.6.4"]),
        ("C:\\py\\python3.9\\site-packages\\x.py", ["<0.11.1"]),
        ("/opt/lib/python3.12/dist-packages/vllm/x.py", []),
        ("2024-05-07 16:12:51,393\tINFO worker.py:1564 -- Connecting to existing Ray cluster", ["<=0.4.3"]),
        ("2024-05-07 16:12:51 x\n2024-06-30 16:12:51 y", ["<=0.5.1"]),
        ("[2025-10-01T00:00:01Z] ValueError: x", ["<=0.11.0"]),
        ("2026-12-01 10:00:00 x", []),
        ("2023-01-01 10:00:00 x", ["<=0.2.0"]),
        ("model-2024-05-07 10:00:00", []),
    ],
)
def test_a_sign_leaves_a_range(text: str, ranges: list[str]) -> None:
    """Prefixes, names of processes, paths, and dates: a checkout has the number of the release that comes next."""
    assert [found for found, _ in ranges_told_by(text)] == ranges


def test_what_a_visibly_old_release_lacks_is_not_offered() -> None:
    """No bracket before the file: before 0.8.0, which knew no mode of CUDA graphs."""
    report = triage(OLD)
    assert report.bucket == "cuda_graph_crash"
    assert report.fixes[0].change == "--enforce-eager"
    assert not any("cudagraph_mode" in fix.change for fix in report.fixes)
