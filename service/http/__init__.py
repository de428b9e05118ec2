"""The HTTP service: a log is posted, the answer comes back; ``app.create_app`` makes it, ``vllm-triage serve`` runs it."""
