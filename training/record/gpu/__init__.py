"""Records what PyTorch, CUDA and NCCL themselves say when they fail, without vLLM around it.

``python -m vllm_triage.training.record.gpu --python PYTHON`` runs each scenario of ``scenarios.toml`` with an interpreter
that has torch, and keeps its output as the recorder of vLLM does: byte for byte, with arrival times, machine names
replaced, and an index of what each log must be answered with. ``provoke.py`` is the only file that touches torch; it runs
by itself. Scenarios that need a GPU, or its absence, are left out where the machine is otherwise.
"""
