"""The Kubernetes API: the log of the container that an alert names, and of its start before that."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .interface import SourceError, named
from .settings import KubernetesSettings

if TYPE_CHECKING:
    from kubernetes.client import CoreV1Api

NOT_THERE = (400, 404)
"""No such pod, or no earlier start of it."""


class Kubernetes:
    """One cluster.

    Raises:
        ValueError: The client is not installed, or finds no cluster.
    """

    name = "kubernetes"

    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._api = _api(settings)

    def log_of(self, labels: Mapping[str, str], since: datetime | None) -> bytes | None:  # noqa: ARG002 - the last lines, whenever
        """Return the log of the start before this one, if there was any, and of this one: a crash is in the former."""
        settings = self._settings
        place = named(labels, settings.namespace_label, settings.pod_label)
        if place is None or (settings.namespaces and place[0] not in settings.namespaces):
            return None
        container = named(labels, settings.container_label)
        wanted = container[0] if container else settings.container
        parts = [self._part(place[0], place[1], wanted, previous) for previous in (True, False)]
        return b"".join(parts) or None

    def _part(self, namespace: str, pod: str, container: str, previous: bool) -> bytes:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        settings = self._settings
        more: dict[str, Any] = {"container": container} if container else {}
        try:
            # Read as it comes, not as the text that the client's types tell of.
            answer: Any = self._api.read_namespaced_pod_log(
                pod, namespace, previous=previous, tail_lines=settings.lines, limit_bytes=settings.max_bytes,
                _request_timeout=settings.timeout_seconds, _preload_content=False, **more,
            )  # fmt: skip
            try:
                data: bytes = answer.read(settings.max_bytes)
            finally:
                answer.release_conn()
        except ApiException as error:
            if error.status in NOT_THERE:
                return b""
            raise SourceError(f"status {error.status}") from None
        except (HTTPError, OSError) as error:
            raise SourceError(type(error).__name__) from None
        return data if not data or data.endswith(b"\n") else data + b"\n"


def _api(settings: KubernetesSettings) -> CoreV1Api:
    try:
        from kubernetes import client, config
    except ImportError as error:
        from ....classifier.extras import install

        raise ValueError(f"alertmanager.kubernetes needs {error.name}: {install('kubernetes')}") from None
    made = client.Configuration()
    try:
        if settings.kubeconfig is not None:
            config.load_kube_config(str(settings.kubeconfig), settings.context or None, made)  # type: ignore[no-untyped-call]
        else:
            config.load_incluster_config(made)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError):
        # The message may quote the file.
        raise ValueError("alertmanager.kubernetes finds no cluster: name a kubeconfig, or run in a pod") from None
    # Who waits is the reader of alerts; what fails is asked again by the next alert.
    made.retries = False
    return client.CoreV1Api(client.ApiClient(made))
