"""Where files that people share are fetched from: the platform's own hosts, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from ...classifier.errors import InputError


def refuse_elsewhere(url: str, hosts: Collection[str], plain_http: bool, platform: str) -> None:
    """Check that a file lies with a platform.

    Args:
        url: Of the file.
        hosts: The platform's.
        plain_http: Whether TLS is not asked for (a test server).
        platform: Its name, for people.

    Raises:
        InputError: It lies elsewhere; the message is for people.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InputError("the file has no address that can be read") from None
    schemes = ("https", "http") if plain_http else ("https",)
    bare = not (parts.username or parts.password)
    if not bare or parts.scheme not in schemes or parts.hostname not in hosts:
        raise InputError(f"the file does not lie with {platform}, and is not fetched")
