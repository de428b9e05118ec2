"""A short run of the harness over every reader, and what its long runs have found."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path

import pytest

from tests.everyday import VARIABLE
from tests.fuzz.__main__ import Campaign
from tests.fuzz.readers import READERS, logs
from vllm_triage.classifier import triage

_BANNER = b"INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version "


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_or_refuses_whatever_comes(name: str, tmp_path: Path) -> None:
    """Nothing but the errors that it names leaves it, and each input ends in time."""
    campaign = Campaign(name, READERS[name], random.Random(7), tmp_path)
    campaign.turn(1.5 if os.environ.get(VARIABLE) else 0.3)
    assert campaign.count > 0
    assert dict(campaign.found) == {}


FOUND: dict[str, tuple[str, bytes]] = {
    "a release of thousands of digits": ("log", _BANNER + b"9" * 4400 + b".1\nValueError: x\n"),
    "bytes among the arguments": ("log", _BANNER + b"0.9.2\nINFO 01-02 03:04:05 [cli_args.py:1] args: Namespace(model='m', port=b'8', x={1: b'y', b'z': ...})\nValueError: x\n"),
    "a stage that nobody knows": (
        "report", json.dumps(triage(logs()[0]).to_dict() | {"startup": {"reached": "weights", "stages": [{"stage": "elsewhere", "seconds": 1.0, "line": 1}]}}).encode(),
    ),
    "JSON that is nested a thousand times": ("report", b'{"a":' * 1000 + b"1" + b"}" * 1000),
    "the same in the service": ("http", b"\x03\x00\x00" + b'{"a":' * 1000 + b"1" + b"}" * 1000),
    "half a surrogate": ("masking", b"token=\xff\xfe password=\xed\xa0\x80"),
}  # fmt: skip
"""Inputs by what is odd about them, each with the reader that it made fail."""
FOUND |= {
    path.name: (path.name.partition("-")[0], path.read_bytes()) for path in (Path(__file__).parent / "found").iterdir()
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_is_read_or_refused(what: str) -> None:
    """As any other input."""
    name, data = FOUND[what]
    reader = READERS[name]
    with contextlib.suppress(*reader.refuses):
        reader.read(data)
