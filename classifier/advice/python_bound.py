"""Upgrades that the Python of the failed server cannot take: pip would stop at an older release, or find nothing newer."""

from __future__ import annotations

from ...corpus.records import replace
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation

_PYTHON = LazyPattern(r"[/\\]python(?P<version>3\.[789])[/\\](?:site|dist)-packages[/\\]")
_LAST = {"3.7": "", "3.8": "0.6.3.post1", "3.9": "0.11.0"}
"""The last release that each takes, by the releases' own ``requires-python``."""
_RELEASE = LazyPattern(r"(?<![\w.])0\.\d{1,2}(?:\.\d+)?(?:\.post\d)?(?![\w%])(?!\.\d)")
_UPGRADE = LazyPattern(
    r"(?P<pip>(?:uv )?pip3? install (?:-U |--upgrade )?)(?P<what>'?vllm(?:>=(?P<least>\d[\w.]*))?'?)(?=\s|$)(?P<more>[^;&|#]*)"
)


def as_installable(fix: Advice, situation: Situation) -> Advice:
    """Return an upgrade of vLLM with an environment of its own where the paths show a Python that newer releases refuse.

    Args:
        fix: As it holds otherwise.
        situation: Of the failed start; the paths of its stack name the Python.
    """
    found = _UPGRADE.match(fix.change)
    if found is None or not (found["least"] or "-U" in found["pip"] or "--upgrade" in found["pip"]):
        return fix
    python = _python(situation)
    if not python:
        return fix
    last = _LAST[python]
    wanted = [found["least"] or fix.fixed_in] if found["least"] or fix.fixed_in else _RELEASE.made.findall(fix.why)
    # Where no release is told that one needs, any newer one is the upgrade.
    enough = (
        all(in_range(last, f">={each}") for each in wanted) if wanted else not in_range(situation.release, f">={last}")
    )
    if last and enough:
        return fix
    change = f"uv venv --python 3.12 && uv pip install {found['what']}{found['more']}".rstrip()
    if last:
        why = f"The paths show Python {python}, for which {last} is the last release: in this environment pip goes no further."
    else:
        why = f"The paths show Python {python}, for which there is no release."
    return replace(fix, change=change, why=f"{fix.why} {why}".strip())


def _python(situation: Situation) -> str:
    frames = situation.trace.frames if situation.trace is not None else []
    raw = "\n".join(frame.raw for frame in frames if "python3." in frame.raw)
    found = _PYTHON.search(raw or situation.words)
    return found["version"] if found else ""
