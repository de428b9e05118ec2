"""What the keys of a rule file may hold, where it is one of a few words: types alone, which no answer loads."""

from __future__ import annotations

from typing import Literal

Role = Literal["cause", "symptom", "teardown", "advice", "fact", "benign"]
Strength = Literal["certain", "strong", "weak", "guess"]
Level = Literal["", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Scope = Literal["any", "request"]
Kind = Literal["flag", "env", "command", "step"]
Safety = Literal["safe", "quality", "destructive"]
Side = Literal["server", "client"]
Tag = Literal[
    "look", "wait", "request", "search",
]  # fmt: skip
"""What kind of advice a fix is, where that does not follow from its actions: asked for instead of its words.

``look``: it changes nothing and finds something out. ``wait``: it changes nothing. ``request``: whoever calls the server does
it. ``search``: it sends to others' reports.
"""
Moves = Literal["", "up", "down"]
Stage = Literal[
    "launch", "config", "engine_init", "distributed_init", "weights", "compile",
    "profile", "kv_cache", "graph_capture", "api_ready", "serving", "shutdown",
]  # fmt: skip
"""``stages.STAGES``."""
Finding = Literal[
    "silence", "stalled", "preempted", "drafts_rejected", "cache_full", "queued", "slowed_down", "crawling", "stood_still",
    "strange_exception", "unrecognised_failure", "nothing_recognised", "broken_off", "below_threshold",
    "came_up", "stopped", "starting", "no_sign",
]  # fmt: skip
"""``findings.FINDINGS``."""
