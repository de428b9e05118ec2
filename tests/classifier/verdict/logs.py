"""Short logs for tests of the verdict: a server that came up, and what can be put into its log."""

from __future__ import annotations

from vllm_triage.classifier.api import Triage
from vllm_triage.classifier.input.read import read_blocks
from vllm_triage.classifier.verdict.findings import Findings

START = """INFO 11-02 10:00:00 [api_server.py:1090] vLLM API server version 0.11.0
INFO 11-02 10:00:01 [utils.py:233] non-default args: {'model': 'acme/harbor-8b'}
(EngineCore_DP0 pid=77) INFO 11-02 10:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/harbor-8b'
(EngineCore_DP0 pid=77) INFO 11-02 10:00:20 [gpu_model_runner.py:2653] Model loading took 14.9596 GiB and 9.5 seconds
"""
READY = """(EngineCore_DP0 pid=77) INFO 11-02 10:00:31 [kv_cache_utils.py:1091] GPU KV cache size: 41,936 tokens
INFO:     Application startup complete.
"""
ANSWERED = 'INFO:     10.0.0.7:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
STOPPED = "INFO:     Shutting down\nINFO:     Application shutdown complete.\n"
STRANGE = """(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] Traceback (most recent call last):
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710]   File "/opt/plugin/acme/cogs.py", line 36, in turn
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710]     self.cogs.turn()
(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] acme.errors.CogError: the seventh cog is gone
"""
"""An exception that nobody knows."""
OOM = """(EngineCore_DP0 pid=77) ERROR 11-02 10:05:01 [core.py:710] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free.
"""
DEAD = "ERROR 11-02 10:05:02 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"

TRIAGE = Triage(engine="rules")
WITH_MODEL = Triage()


def findings(log: str, triage: Triage = TRIAGE) -> Findings:
    """Return what the deciders look at for the last start of a log."""
    session = triage.start()
    for block in read_blocks(log):
        session.feed(block)
    incidents = session.finish()
    return Findings(incidents[-1], session.tail(), triage._known(triage.question))
