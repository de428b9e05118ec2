"""Start commands as logs show them: shells, units, containers, clusters, schedulers, programs."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared

ERROR = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is needed, which is "
    "larger than the available KV cache memory (5.12 GiB). Based on the available memory, the estimated maximum model length "
    "is 41936.\n"
)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("+ exec vllm serve acme/m --max-model-len 131072 --port 8001\n", "vllm serve acme/m --max-model-len 41936 --port 8001"),
        ("srun --ntasks=1 vllm serve acme/m --max-model-len 131072 \\\n    --tensor-parallel-size 4\n",
         "vllm serve acme/m --max-model-len 41936 --tensor-parallel-size 4"),
        ("ExecStart=/opt/venv/bin/vllm serve acme/m --max-model-len 131072\n", "vllm serve acme/m --max-model-len 41936"),
        ("   └─4127 /opt/venv/bin/python3 /opt/venv/bin/vllm serve acme/m --max-model-len 131072\n", "vllm serve acme/m --max-model-len 41936"),
        ('    image: vllm/vllm-openai:v0.11.0\n    command:\n      - --model\n      - acme/m\n      - --max-model-len\n      - "131072"\n',
         "vllm serve acme/m --max-model-len 41936"),
        ("    command: >\n      --model acme/m\n      --max-model-len 131072\n", "vllm serve acme/m --max-model-len 41936"),
        ("    Args:\n      --model\n      acme/m\n      --max-model-len\n      131072\n    State:   Waiting\n", "vllm serve acme/m --max-model-len 41936"),
        ('        "Cmd": [\n            "--model",\n            "acme/m",\n            "--max-model-len",\n            "131072"\n        ],\n',
         "vllm serve acme/m --max-model-len 41936"),
        ('engine_args = AsyncEngineArgs(model="acme/m", max_model_len=131072)\n', "vllm serve acme/m --max-model-len 41936"),
        ("++ vllm serve acme/m --enable-lora --lora-modules 'a=/x/a' --max-model-len 131072\n",
         "vllm serve acme/m --enable-lora --lora-modules 'a=/x/a' --max-model-len 41936"),
    ],
)  # fmt: skip
def test_a_start_command_is_read_from_where_it_stands(text: str, command: str) -> None:
    """And corrected, with everything else kept."""
    assert command == shared().report(text + ERROR).corrected_command
