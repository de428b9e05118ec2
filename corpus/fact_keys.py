"""What the keys of fact rules may say: the names by which the engine reads a line that a fact rule found.

The engine has a function for each reader, and the check refuses any other name: a slip in ``facts.toml`` is an error,
never a fact that is silently not read.
"""

from __future__ import annotations

READERS = (
    "arguments", "namespace", "command", "listed_command", "container_image", "container_arguments", "call",
    "engine_config", "engine_v0", "engine_v1", "rocm", "platform_plugin", "attention_words", "attention_name",
    "listed_gpu", "different_gpus", "device_file", "driver_table", "torch_build", "weights_took", "memory_profile",
    "concurrency", "cache_tokens", "auto_fit",
)  # fmt: skip
"""``reader``: how a line is read whose captures are not simply facts of the same names."""
CONTINUATIONS = ("braces", "parentheses", "brackets", "settings", "backslash", "items")
"""``continues``: by what a table or a command that goes on over the next lines is told to be unfinished.

With ``backslash`` and ``items`` (a YAML list, one word or some on a line) the text is the capture ``command``, with all others the capture ``table``.
"""
SPEAKERS = ("api_server", "offline")
"""``speaker``: who must have said it, where other programs print the same words."""
STARTS = ("server", "arguments", "engine")
"""``start``: what begins here: a server that says its version, a run that prints its arguments, an engine."""
