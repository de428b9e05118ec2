"""Mines why each error of vLLM is raised: what its guard asks, and which option, key, variable or field flows into that.

One command, ``python -m vllm_triage.training.tables raise_sites``, reads the released packages and writes ``corpus/raise_sites/cards.bin``.
``guards`` walks a file and collects the tests in front of each error, ``words`` puts a test into words of our own, ``flow`` follows the
names that it reads back to where they are set.
"""
