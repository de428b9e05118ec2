"""Proves the advice on real vLLM: breaks a start, reads its log, does what the answer says, starts again, asks a request.

``python -m vllm_triage.training.prove --release 0.32.0`` runs the catalogue (``catalogue/*.toml``) and writes what came
out into ``proof.jsonl``; ``--page`` writes docs/lab/proof.md from that. docs/lab/proof.md says how it is measured.
"""
