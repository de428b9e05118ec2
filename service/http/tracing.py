"""OpenTelemetry traces, where an endpoint is set: a span for each request. Off, it costs nothing and imports nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from starlette.types import Scope

from ...classifier.version import version

SERVICE = "vllm-triage"


class Span(Protocol):
    """The span of one request."""

    def done(self, route: str, status: int) -> None:
        """Note how it ended."""


class Tracing:
    """No traces."""

    @contextlib.contextmanager
    def request(self, scope: Scope, headers: Mapping[str, str], request_id: str) -> Iterator[Span]:  # noqa: ARG002
        """Cover one request."""
        yield _NO_SPAN

    def close(self) -> None:
        """Send what is left."""


class _NoSpan:
    def done(self, route: str, status: int) -> None:
        pass


_NO_SPAN = _NoSpan()


class _Recorded:
    def __init__(self, span: Any, method: str) -> None:
        self._span = span
        self._method = method

    def done(self, route: str, status: int) -> None:
        from opentelemetry.trace import StatusCode

        self._span.update_name(f"{self._method} {route}")
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)


class OpenTelemetry(Tracing):
    """Traces over OTLP/HTTP.

    Written out rather than taken from an instrumentation: those keep the query and headers of a request.
    """

    def __init__(self, endpoint: str, exporter: Any = None) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        if exporter is None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces")
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": SERVICE, "service.version": version()})
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("vllm_triage")

    @contextlib.contextmanager
    def request(self, scope: Scope, headers: Mapping[str, str], request_id: str) -> Iterator[Span]:
        """Cover one request; the caller's trace is carried on."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        method = scope["method"]
        parent = TraceContextTextMapPropagator().extract({"traceparent": headers.get("traceparent", "")})
        attributes = {"http.request.method": method, "vllm_triage.request_id": request_id}
        with self._tracer.start_as_current_span(
            method, parent, SpanKind.SERVER, attributes, record_exception=False
        ) as span:
            yield _Recorded(span, method)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def tracing(endpoint: str) -> Tracing:
    """Return what covers requests.

    Raises:
        ValueError: An endpoint is set, and OpenTelemetry is not installed.
    """
    if not endpoint:
        return Tracing()
    try:
        return OpenTelemetry(endpoint)
    except ImportError:
        from ...classifier.extras import install

        raise ValueError(f"otel_endpoint needs OpenTelemetry: {install('otel')}") from None
