"""Records real failures of real vLLM: what users will pipe in is known from runs only, not from anybody's memory.

One command, ``python -m vllm_triage.training.record --release X``, makes a virtual environment with that release's CPU
build, then provokes the faults of ``catalogue/`` one after the other and writes what the server printed to
``corpus/logs/recorded/X``. The modules in the order in which they are used: ``faults`` (the catalogue: faults,
releases and models as data), ``environment`` (the virtual environment), ``models`` with ``weights`` (tiny local models,
sound and broken ones), ``hub`` (a stand-in for the model hub), ``process`` (a server, its log with arrival times, its
end), ``traffic`` (what is done to it), ``runner`` (one fault from start to end), ``normalise`` and ``publish`` (what
goes into the repository).
"""
