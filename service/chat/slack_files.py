"""Files that people share with the app: from Slack's hosts only, as a stream, up to a limit."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...classifier.errors import InputError
from .file_hosts import refuse_elsewhere
from .http_out import connect, target
from .interface import RetryError
from .platforms.slack import SlackSettings
from .readers import Limited, Readable, TooLargeError


@contextmanager
def opened(file: Mapping[str, Any], settings: SlackSettings) -> Iterator[Readable]:
    """Yield the content of a file object of Slack's.

    Raises:
        InputError: It is too large, does not lie with Slack, or may not be read; the message is for people.
        RetryError: No connection.
    """
    url = str(file.get("url_private_download") or file.get("url_private") or "")
    allowed(url, settings)
    size = file.get("size")
    if isinstance(size, int) and size > settings.max_file_bytes:
        raise TooLargeError(f"the file is larger than {settings.max_file_bytes >> 20} MiB")
    connection = connect(url, timeout=settings.timeout_seconds)
    try:
        headers = {"Authorization": f"Bearer {settings.bot_token.get_secret_value()}", "Accept-Encoding": "identity"}
        connection.request("GET", target(url), headers=headers)
        response = connection.getresponse()
        # Without the scope files:read, Slack sends to its page for signing in.
        wanted_html = "html" in str(file.get("mimetype", "")) or str(file.get("filetype", "")) == "html"
        if response.status != 200 or ("text/html" in (response.getheader("Content-Type") or "") and not wanted_html):
            raise InputError(
                f"Slack did not give the file (status {response.status}): the app needs the scope files:read"
            )
        yield Limited(response, settings.max_file_bytes)
    except (OSError, http.client.HTTPException) as error:
        raise RetryError(type(error).__name__) from None
    finally:
        connection.close()


def allowed(url: str, settings: SlackSettings) -> None:
    """Check that a URL may be sent the app's token.

    Raises:
        InputError: It does not lie with Slack.
    """
    refuse_elsewhere(url, settings.file_hosts, settings.plain_http, "Slack")
