"""Lines as collectors send them, and the stream that each belongs to: one start of one container."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...classifier.report.shown import shown

NAMES: dict[str, tuple[str, ...]] = {
    "service": ("service_name", "service.name", "service", "app", "app_kubernetes_io_name", "job", "deployment"),
    "namespace": ("namespace", "k8s_namespace_name", "k8s.namespace.name", "namespace_name", "pod_namespace"),
    "pod": (
        "pod",
        "k8s_pod_name",
        "k8s.pod.name",
        "pod_name",
        "instance",
        "host",
        "hostname",
        "host.name",
        "host_name",
    ),
    "container": ("container", "k8s_container_name", "k8s.container.name", "container_name", "compose_service"),
    "start": ("container_id", "container.id", "docker_id", "k8s.container.restart_count", "restart_count"),
}
"""Parts of a stream's name, and the labels, attributes or fields of which the first one that there is tells it."""
LEVELS = frozenset({"stream", "level", "detected_level", "severity", "logtag", "filename", "log.iostream"})
"""Labels that part the output of one process: they are no part of a stream's name."""
WIDTH = 200
"""Characters of a part of a name."""


class StreamName(NamedTuple):
    """What tells one stream from another; parts that are not known are empty."""

    service: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    start: str = ""
    tenant: str = ""
    """Whose it is, by the key that it came with."""

    @property
    def label(self) -> str:
        """The service that incidents are counted for."""
        return self.service or self.container or self.pod

    @property
    def log(self) -> str:
        """What the log is called."""
        return "/".join(part for part in (self.namespace, self.pod, self.container) if part)


class Entry(NamedTuple):
    """One record."""

    stream: StreamName
    time: int
    """Nanoseconds since 1970, as the collector says; 0 where it does not."""
    text: str
    """Without the line end; may be of several lines."""


def name_of(labels: Mapping[str, object]) -> StreamName:
    """Return the name of the stream that labels tell of.

    Where they tell none of ``NAMES``, all of them together do, those that part one process's output left out.
    """
    found = {part: _first(labels, names) for part, names in NAMES.items()}
    if not any(found.values()):
        rest = sorted((name, value) for name, value in labels.items() if name not in LEVELS and isinstance(value, str))
        found["pod"] = _short(",".join(f"{name}={value}" for name, value in rest))
    return StreamName(**found)


def _first(labels: Mapping[str, object], names: Iterable[str]) -> str:
    for name in names:
        value = labels.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and (text := str(value).strip()):
            return _short(text)
    return ""


def _short(text: str) -> str:
    # Names are shown and kept: on one line, and without secrets.
    return shown(text)[:WIDTH]


def gathered(entries: Iterable[Entry], tenant: str = "") -> dict[StreamName, bytes]:
    """Return the lines of each stream of a tenant in the order of their times, those without one where they stood."""
    parts: dict[StreamName, list[tuple[int, int, str]]] = {}
    last = 0
    for number, (stream, time, text) in enumerate(entries):
        last = time or last
        parts.setdefault(stream, []).append((last, number, text))
    found = {}
    for stream, lines in parts.items():
        lines.sort()
        texts = (text if text.endswith("\n") else f"{text}\n" for _, _, text in lines)
        found[stream._replace(tenant=tenant)] = "".join(texts).encode("utf-8", "replace")
    return found
