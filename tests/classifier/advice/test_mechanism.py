"""A cause whose words have no value of the log says what was tested and failed in it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared

STACK = """\
(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] Traceback (most recent call last):
(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845]   File "/usr/lib/python3.12/site-packages/vllm/model_executor/models/acme.py", line 7, in turn
(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845]     return self.cog[7]
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            f"{STACK}(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] IndexError: the seventh cog\n",
            "IndexError was raised at vllm/model_executor/models/acme.py:turn, which is part of the model's own code, by `return self.cog[7]`.",
        ),
        (
            f"{STACK}(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] RuntimeError: CUDA error: an illegal memory access was encountered\n",
            "A kernel read or wrote where it may not; the stack is of a later call, not of that kernel.",
        ),
        (
            (
                "(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] /root/acme/cog.cuh(39): error: qualified name is not allowed\n"
                "(EngineCore pid=7) ERROR 11-21 12:00:01 [core.py:845] RuntimeError: Ninja build failed. Ninja output:\n"
            ),
            "The compiler says: cog.cuh(39): error: qualified name is not allowed",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 298.00 MiB. GPU 0 has a total capacity of 44.52 GiB of which 73.31 MiB is free.\n",
            "73.31 MiB",
        ),
    ],
)
def test_the_summary_says_what_failed(log: str, said: str) -> None:
    """By the error's words, else by the line of code."""
    assert said in shared().report(log).summary
