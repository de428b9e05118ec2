"""Mines vLLM's released packages for their options, and writes the table that advice is checked against.

``python -m vllm_triage.training.tables options`` reads every release from the package index that pip is
configured with and writes ``corpus/vllm/options.json``. Sources are parsed, never imported or run. The steps, in the
order in which a release goes through them: ``index`` (which releases are there), ``fetch`` (their Python files),
``source`` and ``resolve`` (what a name in them stands for), ``parser`` with ``fields`` (flags), ``variables``,
``metrics``, ``release`` (all of one release) and ``table`` (all releases in one file).
"""
