"""What names the machine goes out of a log before it is kept: paths, host names, addresses, ports of our own."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

HOST = "vllm-host"
ADDRESS = "192.0.2.10"
"""From the block that is reserved for documentation."""


def replacements(about: Mapping[str, Any], work: str, addresses: list[str], host: str) -> dict[str, str]:
    """Return what stands for what, for one recording.

    Args:
        about: The recording's own account: which environment, which hub, which Python.
        work: The work folder.
        addresses: This machine's addresses; loopback stays.
        host: This machine's name.
    """
    known = {
        about.get("venv", ""): "/opt/venv",
        about.get("base_prefix", ""): "/usr/local",
        f"{work}/models": "/models",
        f"{work}/home": "/root",
        f"{work}/tmp": "/var/tmp",  # noqa: S108 - a text that is written into a log
        f"{work}/run": "/app",
        work: "/srv",
        about.get("hub", ""): "https://huggingface.co",
        about.get("hub", "").removeprefix("http://"): "huggingface.co",
        # The server's own port may differ where another program holds the usual one.
        f"127.0.0.1:{about.get('port', '')}": "127.0.0.1:8100",
        host: HOST,
        **dict.fromkeys(addresses, ADDRESS),
    }
    return {name: stands for name, stands in known.items() if name and name not in (stands, "127.0.0.1:", "localhost")}


def normalise(log: bytes, known: Mapping[str, str]) -> bytes:
    """Replace each name where it stands for itself: not inside a longer word, number or file name."""
    if not known:
        return log
    # Paths may follow a word without a space: two processes that write into one pipe.
    names = [
        (b"" if name.startswith("/") else rb"(?<![\w.-])") + re.escape(name.encode())
        for name in sorted(known, key=len, reverse=True)
    ]
    pattern = re.compile(b"(?:" + b"|".join(names) + rb")(?![\w-])")
    cut = {name.encode(): stands.encode() for name, stands in known.items()}
    return pattern.sub(lambda found: cut[found.group()], log)


def machine_addresses() -> list[str]:
    """Return this machine's own addresses, without loopback."""
    found = set()
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                # Nothing is sent: the system only says from which address it would be.
                probe.connect((target, 9))
                found.add(probe.getsockname()[0])
        except OSError:
            continue
    with suppress(OSError):
        found |= {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    return sorted(address for address in found if not address.startswith("127.") and address not in ("::1", "0.0.0.0"))  # noqa: S104 - no binding
