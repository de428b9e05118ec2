"""What the tests of collectors share."""

from __future__ import annotations

from pathlib import Path

import pytest

for module in ("cramjam", "opentelemetry.proto.logs.v1.logs_pb2", "fastapi"):
    pytest.importorskip(module, reason="the extra collect is not installed")

ROOT = Path(__file__).parents[3]
LOG = (ROOT / "corpus/logs/written/kv-cache-too-small.log").read_text()
