"""What the keys of a rule file may hold, where it is one of a few words: types alone, which no answer loads."""

from __future__ import annotations

from typing import Literal

Role = Literal["cause", "symptom", "teardown", "advice", "fact", "benign"]
Strength = Literal["certain", "strong", "weak", "guess"]
Level = Literal["", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Scope = Literal["any", "request", "end"]
Kind = Literal["flag", "env", "command", "step"]
Safety = Literal["safe", "quality", "destructive"]
Side = Literal["server", "client"]
Tag = Literal[
    "look", "wait", "request", "beside", "root", "search", "blind", "dated", "try", "settled", "environment", "promise", "newer", "nvidia", "amd", "between_gpus", "vllm",
    "remote_code", "privileged", "pickle", "deprecated", "server", "endpoint", "config", "formats", "of_requests", "media", "chat",
    "container", "fewer_weights", "complete_class", "checkpoint", "fewer_output",
]  # fmt: skip
"""What kind of advice a fix is, where that does not follow from its actions: asked for instead of its words (docs/rules.md)."""
Moves = Literal["", "up", "down"]
Stage = Literal[
    "launch", "config", "engine_init", "distributed_init", "weights", "compile",
    "profile", "kv_cache", "graph_capture", "api_ready", "serving", "shutdown",
]  # fmt: skip
"""``stages.STAGES``."""
Finding = Literal[
    "silence", "stalled", "preempted", "drafts_rejected", "cache_full", "queued", "slowed_down", "crawling", "stood_still",
    "strange_exception", "unrecognised_failure", "nothing_recognised", "death_unread", "broken_off", "below_threshold", "said_slow", "said_otherwise",
    "came_up", "refused", "stopped", "starting", "no_sign",
]  # fmt: skip
"""``findings.FINDINGS``."""
