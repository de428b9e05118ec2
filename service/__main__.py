"""``python -m vllm_triage.service``: the command without its script."""

from .cli.main import run

run()
