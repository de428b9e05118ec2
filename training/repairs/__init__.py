"""Mines the history of vLLM for what mended something: which line failed before, on what condition, and which release has it.

One command, ``python -m vllm_triage.training.repairs --repository PATH``, reads a clone of vLLM and writes
``corpus/repairs/repairs.bin``. In the order in which a commit goes through them: ``history`` (commits that mend something, with
the files before and after), ``edits`` (the functions that a commit changed, before and after), ``mends`` (what the change says
about what had failed), ``landed`` (the first release that has the added lines), ``pack`` (the file that the classifier reads).

Of a commit only facts are kept: its number, names of functions, names that came or went, checksums of lines and of messages.
"""
