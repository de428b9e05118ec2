"""What several tests of the page need."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

LOGS = Path(__file__).parents[3] / "corpus" / "logs"
FAILURE = "written/kv-cache-too-small.log"
PATIENCE = 20
UNKNOWN_TEXT = """\
(APIServer pid=71) INFO 11-02 09:14:03 [utils.py:233] non-default args: {'model': 'acme/harbor-8b-instruct'}
(EngineCore pid=80) INFO 11-02 09:14:12 [core.py:105] Initializing a V1 LLM engine (v0.19.1) with config: model='acme/harbor-8b-instruct'
(EngineCore pid=80) ERROR 11-02 09:14:15 [core.py:1108] EngineCore failed to start.
(EngineCore pid=80) ERROR 11-02 09:14:15 [core.py:1108] Traceback (most recent call last):
(EngineCore pid=80) ERROR 11-02 09:14:15 [core.py:1108]   File "/srv/acme/harbour/pilot.py", line 7, in moor
(EngineCore pid=80) ERROR 11-02 09:14:15 [core.py:1108]     raise MooringError("the third bollard is missing")
(EngineCore pid=80) ERROR 11-02 09:14:15 [core.py:1108] acme.harbour.MooringError: the third bollard is missing
(APIServer pid=71) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
"""An exception of a program that no rule will ever know."""
UNKNOWN = {"name": "unknown.log", "mimeType": "", "buffer": UNKNOWN_TEXT.encode()}
"""The same as a file to choose."""


def until(tab: Any, expression: str, expected: Any) -> None:
    """Wait until a JavaScript expression has a value (the page's policy refuses Playwright's own way)."""
    end = time.monotonic() + PATIENCE
    while (value := tab.evaluate(expression)) != expected and time.monotonic() < end:
        tab.wait_for_timeout(25)
    assert expected == value


CONTRAST = """() => {
  const pixel = (color) => { const c = new OffscreenCanvas(1, 1).getContext("2d"); c.fillStyle = color; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
  const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const back = (e) => { for (; e; e = e.parentElement) { const b = pixel(getComputedStyle(e).backgroundColor); if (b[3] > 200) return b; } return [255, 255, 255]; };
  return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest("svg") && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
    .map((e) => { const [a, b] = [light(pixel(getComputedStyle(e).color)), light(back(e))]; return [e.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; })
    .filter(([, ratio]) => ratio < 4.5);
}"""
"""Texts whose contrast is below 4.5 : 1."""
