"""What the tests of collectors share."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.classifier.report.schema import adapter

for module in ("cramjam", "opentelemetry.proto.logs.v1.logs_pb2", "fastapi"):
    pytest.importorskip(module, reason="the extra collect is not installed")

# As the service does at its start: pydantic reads sources then, which two threads of Python 3.11 may not do at a time.
adapter()

ROOT = Path(__file__).parents[3]
LOG = (ROOT / "corpus/logs/written/kv-cache-too-small.log").read_text()
