"""Figures for Prometheus, of one process or of all workers together (``PROMETHEUS_MULTIPROC_DIR``)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from ...classifier.report.model import Report
from ..wire import MessageLane

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
BYTES = (1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20, 100 << 20, 1 << 30)
FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The figures of one application. Labels hold our own words only, never what a request brought."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self.registry = registry = CollectorRegistry()
        prefix: Any = {"namespace": "vllm_triage", "registry": registry}
        self.requests = Counter("http_requests", "Requests answered", ["method", "route", "status"], **prefix)
        self.seconds = Histogram(
            "http_request_seconds", "From the request's head to the answer's end", ["route"], buckets=SECONDS, **prefix
        )
        self.bytes = Histogram("http_body_bytes", "Bodies of posted logs", buckets=BYTES, **prefix)
        self.in_flight = Gauge("http_in_flight", "Requests under way", multiprocess_mode="livesum", **prefix)
        self.waiting = Gauge("queue_waiting", "Logs waiting for a process", multiprocess_mode="livesum", **prefix)
        self.refused = Counter("refused", "Requests that ended with a problem", ["problem"], **prefix)
        self.answers = Counter("answers", "Logs answered", ["bucket", "decided_by"], **prefix)
        self.unknown = Counter("unknown", "Logs answered with unknown", **prefix)
        self.lines = Counter("log_lines", "Lines of logs read", **prefix)
        self.stored = Counter("incidents_recorded", "Answers kept in the history", ["new"], **prefix)
        self.lost = Counter("incidents_not_recorded", "Answers that the history could not keep", **prefix)
        self.removed = Counter("incidents_removed", "Incidents removed: too old, or too many", **prefix)
        self.messages = Counter(
            "messages", "Messages to chats and webhooks, and alerts taken in", ["target", "outcome"], **prefix
        )
        self.asked = Counter("opinions", "Questions to a model, by what came of them", ["outcome"], **prefix)
        self.collected = Counter("collected_lines", "Lines taken from collectors", ["protocol"], **prefix)
        self.streams = Gauge(
            "collected_streams", "Streams of collectors under way", multiprocess_mode="livesum", **prefix
        )
        info = Gauge("info", "Versions that run", list(versions), multiprocess_mode="max", **prefix)
        info.labels(**versions).set(1)

    def answered(self, report: Report) -> None:
        """Count an answer."""
        self.answers.labels(report.bucket, report.decided_by).inc()
        self.lines.inc(report.input.lines)
        if report.bucket == "unknown":
            self.unknown.inc()

    def message(self, target: str, outcome: str, number: int) -> None:
        """Count what became of messages to a target, or of alerts."""
        self.messages.labels(target, outcome).inc(number)

    def page(self, waiting: Sequence[MessageLane] = ()) -> bytes:
        """Return the figures as Prometheus reads them; ``waiting`` is what the outbox, which all workers share, holds now."""
        told = generate_latest(_outbox(waiting)) if waiting else b""
        if not os.environ.get(FOLDER):
            return generate_latest(self.registry) + told
        _forget_dead(os.environ[FOLDER])
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together) + told


class OutboxGauges:
    """Gauges of the moment: not kept by any process, whatever the number of workers."""

    def __init__(self, lanes: Sequence[MessageLane]) -> None:
        self._lanes = lanes

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges."""
        waiting = GaugeMetricFamily(
            "vllm_triage_messages_waiting", "Messages and alerts in the outbox", labels=["target"]
        )
        oldest = GaugeMetricFamily(
            "vllm_triage_messages_oldest_seconds", "For how long the oldest of them has waited", labels=["target"]
        )
        failed = GaugeMetricFamily("vllm_triage_messages_failed", "Given up within the last days", labels=["target"])
        now = datetime.now(UTC)
        for lane in self._lanes:
            waiting.add_metric([lane.target], lane.waiting)
            oldest.add_metric([lane.target], max(0.0, (now - lane.since).total_seconds()) if lane.since else 0.0)
            failed.add_metric([lane.target], lane.failed)
        yield from (waiting, oldest, failed)


def _outbox(lanes: Sequence[MessageLane]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(OutboxGauges(lanes))
    return registry


def _forget_dead(folder: str) -> None:
    """Leave out what workers had under way that were killed; what they had answered stays counted."""
    for path in Path(folder).glob("gauge_live*.db"):
        number = path.stem.rpartition("_")[2]
        if number.isdigit() and not _alive(int(number)):
            # Another worker may do the same.
            with contextlib.suppress(FileNotFoundError):
                mark_process_dead(int(number), folder)  # type: ignore[no-untyped-call]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
