"""The command ``vllm-triage``."""
