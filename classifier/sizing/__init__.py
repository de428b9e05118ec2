"""What a model needs of a GPU's memory, and where it goes: from its config.json (``vllm-triage plan``), and from a log's own numbers."""
