"""What happens on a failure, as the user asked: a command is run, or the report is posted to an address."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any

LONGEST = 60.0
"""Seconds that the command may take."""
ANSWER = 10.0
"""Seconds that the address has for its answer."""


def tell(where: str, report: dict[str, Any], log: str) -> str:
    """Run a command, or POST to an address, with the report as JSON; return what went wrong, "" where nothing did.

    A command gets the report on its standard input and VLLM_TRIAGE_BUCKET, _CAUSE, _TITLE, _CONFIDENCE, _COMMAND (the
    corrected one) and _LOG (the file in which the log is kept) as variables.
    """
    data = json.dumps(report, ensure_ascii=False).encode()
    if where.startswith(("http://", "https://")):
        return _post(where, data)
    variables = {
        "VLLM_TRIAGE_BUCKET": str(report.get("bucket", "")),
        "VLLM_TRIAGE_CAUSE": str(report.get("cause", "")),
        "VLLM_TRIAGE_TITLE": str(report.get("title", "")),
        "VLLM_TRIAGE_CONFIDENCE": str(report.get("confidence", "")),
        "VLLM_TRIAGE_COMMAND": str(report.get("corrected_command", "")),
        "VLLM_TRIAGE_LOG": log,
    }
    return _run(where, data, variables)


def _post(address: str, data: bytes) -> str:
    import urllib.request

    request = urllib.request.Request(  # noqa: S310 - http and https alone come here
        address, data, {"Content-Type": "application/json", "User-Agent": "vllm-triage"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER):  # noqa: S310
            return ""
    except (OSError, ValueError) as error:
        return f"--on-failure {address}: {getattr(error, 'reason', None) or error}"


def _run(command: str, data: bytes, variables: dict[str, str]) -> str:
    reader, writer = os.pipe()
    # Our own signals are blocked; the command's must not be. Its standard output is not the server's: it goes where ours do.
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", command],
        {**os.environ, **variables},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, reader, 0),
            (os.POSIX_SPAWN_DUP2, 2, 1),
            (os.POSIX_SPAWN_CLOSE, writer),
        ],
        setpgroup=0,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE,),
    )
    os.close(reader)
    until = time.monotonic() + LONGEST
    _hand_over(writer, data, until)
    return _wait(pid, until, command)


def _hand_over(writer: int, data: bytes, until: float) -> None:
    """Write the report, as far as somebody reads it."""
    os.set_blocking(writer, False)
    view = memoryview(data)
    try:
        while view and select.select([], [writer], [], max(0.0, until - time.monotonic()))[1]:
            view = view[os.write(writer, view) :]
    except OSError:
        pass
    finally:
        os.close(writer)


def _wait(pid: int, until: float, command: str) -> str:
    while time.monotonic() < until:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return ""  # taken note of with the orphans
        if done:
            code = os.waitstatus_to_exitcode(status)
            return f"--on-failure {command!r} ended with {code}" if code else ""
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    return f"--on-failure {command!r} took longer than {LONGEST:.0f} s and was ended"
