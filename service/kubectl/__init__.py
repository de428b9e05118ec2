"""``kubectl vllm-triage POD``: a plugin of kubectl's that brings a pod's logs, state and events together and answers for them."""
