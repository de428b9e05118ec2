"""Every number by which silence is judged, each with its reason."""

from __future__ import annotations

FLOOR = {
    "launch": 180.0,
    "config": 180.0,
    "engine_init": 180.0,
    "distributed_init": 120.0,
    "weights": 300.0,
    "compile": 600.0,
    "profile": 300.0,
    "kv_cache": 300.0,
    "graph_capture": 300.0,
    "serving": 60.0,
}
"""Seconds that a stage may be silent before it is judged at all, whatever was learnt.

The recorded starts have tiny models on local disks. Importing torch from a cold network disk takes two minutes; process groups
of several nodes take one; a shard of a large model takes some minutes from a slow disk; large models compile for ten minutes
(vLLM itself waits 600 s for its engine: ``VLLM_ENGINE_READY_TIMEOUT_S``). A server at work prints its statistics every ten
seconds while requests run: six of them missing are no accident. Stages that are not named wait for somebody else.
"""

ROOM = 5.0
"""How many times the longest silence of recorded healthy starts a stage may be silent."""

OWN_ROOM, OWN_LEAST = 6.0, 90.0
"""How many times as long as in an earlier start of the same log a stage may take, and at least how many seconds."""

STOPPED = 10.0
"""Seconds that a process must have been stopped by a signal: that is no work, however short, but debuggers stop for a moment."""

RECENT = 30.0
"""Seconds since the last sign of progress within which a stage that takes long is slow rather than silent."""

STEP_ROOM = 12.0
"""How many steps' time a progress bar may stand before that is evidence: shards and graphs differ in size."""

REPEATS = 2
"""Notices without any progress in between from which on they are evidence: vLLM prints one a minute."""

INTERVALS = 6
"""Intervals without a line of statistics, while requests run, after which an engine has stopped."""

INTERVAL = 10.0
"""Seconds between two lines of statistics where the log does not show it yet (``VLLM_LOG_STATS_INTERVAL``)."""

IDLE_FOR = 20.0
"""Seconds between two looks at the processes by which it is told whether they work."""

WORKS_CPU = 0.05
"""Processor cores in use, by all processes together, from which on a start computes; polling loops take less."""

WORKS_READ = 50_000.0
"""Bytes a second read from files from which on a start reads its weights, from the slowest of disks."""

WEIGHTS_ROOM = 3.0
"""How many times as long as the rest of the weights should take at the rate so far they may take."""

ENDING = 30.0
"""Seconds before the end of a log within which a server that goes on does so because it was told to stop."""

QUEUE_LINES, QUEUE_FOR = 6, 60.0
"""Lines of statistics, and seconds, through which a queue must have grown without a break: shorter is a burst."""

QUEUE_ROSE = 10
"""Requests by which it must have grown."""

QUEUE_FLAT = 0.1
"""Share by which the number of running requests may differ meanwhile: a batch that still fills up takes more of them soon."""

QUEUE_FASTER = 1.25
"""How many times as many tokens a second an engine may compute at the end as in the beginning; more is one that catches up."""

SLOWEST_DISK = 0.02
"""GiB a second at which weights are read at least: a busy network disk. A file may be silent for as long as that takes."""

PACE_ROOM = 3.0
"""How many times as long as the shards before a shard may take."""
