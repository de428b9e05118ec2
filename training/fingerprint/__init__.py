"""Mines vLLM's releases for what tells them apart in a log, and for the faults that a later release no longer has.

One command, ``python -m vllm_triage.training.tables fingerprint``, reads every release on the package index and writes
``corpus/vllm/fingerprint.bin``: which releases log from which line of which file, and at which lines of which functions
a traceback can stand. Sources are parsed, never imported or run. In the order in which a release goes through them:
``sites`` (its logging calls), ``spots`` (its files that tracebacks go through, and the lines that they can name),
``weave`` (all releases of one file in one), ``pack`` (the file that the classifier reads).

A second command, ``python -m vllm_triage.training.tables lines``, writes ``corpus/vllm/lines.bin``: until when releases have
each line that a traceback can show. ``statements`` reads a file's functions, ``lives`` follows their statements over the
releases, ``alike`` tells those that were only put otherwise.

``guards`` and ``mends`` tell how one release can have mended what failed in another; training/repairs asks them.
"""
