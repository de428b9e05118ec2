"""The stand-in for the model hub answers as the catalogue's faults need it."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from vllm_triage.training.record.faults import Catalogue
from vllm_triage.training.record.hub import MODES, Hub


def ask(url: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(f"{url}/acme/harbor/resolve/main/config.json", timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "slow"])
def test_it_answers_with_status_and_headers_of_its_mode(mode: str):
    """The hub's client tells the cases apart by both."""
    status, headers, _ = MODES[mode]
    with Hub(mode) as hub:
        answered, given, body = ask(hub.url)
    assert status == answered
    assert headers.items() <= given.items()
    assert int(given["Content-Length"]) == len(body) > 0


def test_it_is_gone_after_the_recording():
    """No port stays open."""
    with Hub("404") as hub:
        ask(hub.url)
    with pytest.raises(urllib.error.URLError):
        ask(hub.url)


def test_every_hub_of_the_catalogue_exists():
    """A misspelt mode would stop the recording in the middle."""
    used = {fault.hub for fault in Catalogue().faults.values() if fault.hub}
    assert used <= MODES.keys()
    assert used
