"""HTTP out with the standard library: one connection, no redirects, checked addresses, bounded answers."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from .interface import RetryError, UndeliverableError

ANSWER = 64 << 10
"""Bytes of an answer that are looked at."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(url: str, body: bytes, headers: Mapping[str, str], *, timeout: float, public_only: bool = False) -> Answer:
    """Post a body and return the answer, of any status.

    Raises:
        RetryError: No answer, or none in time.
        UndeliverableError: The address is not allowed.
    """
    return ask("POST", url, body, headers, timeout=timeout, public_only=public_only)


def ask(  # noqa: PLR0913 - a request and its limits
    method: str,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout: float,
    public_only: bool = False,
    most: int = ANSWER,
) -> Answer:
    """Send a request and return its answer, of any status.

    Args:
        method: ``GET``, ``POST`` …
        url: Where to.
        body: What is sent.
        headers: Of the request.
        timeout: Seconds for the whole exchange.
        public_only: Refuse addresses of private networks.
        most: Bytes of the answer's body that are read.

    Raises:
        RetryError: No answer, or none in time.
        UndeliverableError: The address is not allowed.
    """
    connection = connect(url, timeout=timeout, public_only=public_only)
    # The timeout of a socket begins anew with every byte; this one does not.
    late = threading.Event()

    def cut() -> None:
        late.set()
        if connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    watch = threading.Timer(timeout, cut)
    watch.daemon = True
    watch.start()
    try:
        connection.request(method, target(url), body or None, dict(headers))
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read(most))
    except (OSError, http.client.HTTPException) as error:
        raise RetryError(type(error).__name__) from None
    finally:
        watch.cancel()
        connection.close()
    if late.is_set():
        raise RetryError("timeout")
    return answer


def checked(answer: Answer) -> None:
    """Raise what an answer's status asks for, if it is no success."""
    status = answer.status
    if 200 <= status < 300:
        return
    if status in (408, 425, 429) or status >= 500:
        raise RetryError(f"status {status}", retry_after(answer.headers.get("retry-after", "")))
    # A redirect is a refusal: what was signed for one address is not sent to another.
    raise UndeliverableError(f"status {status}")


def retry_after(value: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """Return the seconds of a Retry-After header: a number or a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - now()).total_seconds())


def target(url: str) -> str:
    """Return path and query of a URL, as the request line has them."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def connect(url: str, *, timeout: float, public_only: bool = False) -> http.client.HTTPConnection:
    """Return a connection (opened by the first request) to the host of a URL.

    Raises:
        UndeliverableError: The scheme is not http or https.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UndeliverableError("no http or https address")
    if parts.scheme == "https":
        return _SecureConnection(parts.hostname, parts.port, public_only, timeout)
    return _Connection(parts.hostname, parts.port, public_only, timeout)


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip
        if isinstance(ip, ipaddress.IPv6Address) and ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.is_global and not ip.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _open(host: str, port: int, timeout: float | None, public_only: bool) -> socket.socket:
    """Connect to an address that was checked: the name is not looked up a second time."""
    problem: Exception = OSError("no address")
    allowed = False
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        if public_only and not is_public(str(address[0])):
            continue
        allowed = True
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
        except OSError as error:
            connection.close()
            problem = error
        else:
            return connection
    if public_only and not allowed:
        raise UndeliverableError("private address")
    raise problem


class _Connection(http.client.HTTPConnection):
    def __init__(self, host: str, port: int | None, public_only: bool, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._public_only = public_only

    def connect(self) -> None:
        self.sock = _open(self.host, self.port, self.timeout, self._public_only)


class _SecureConnection(http.client.HTTPSConnection):
    def __init__(self, host: str, port: int | None, public_only: bool, timeout: float) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, timeout=timeout, context=self._tls)
        self._public_only = public_only

    def connect(self) -> None:
        plain = _open(self.host, self.port, self.timeout, self._public_only)
        try:
            self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
