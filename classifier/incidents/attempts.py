"""Attempts that one start's lines hold: a command that died before the server said anything, and the next one behind it.

A server's banner begins a start as the log is read (``incidents``). What dies sooner, on the command line or while vLLM's own
modules are imported, prints none, so that it would be taken for a part of the start that follows, or that went before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from ...corpus.records import replace
from ..patterns.lazy import LazyPattern
from .types import Incident

_REFUSED = LazyPattern(r"^(?:usage: .*)?(?:\S*vllm(?: \w+)?|api_server\.py|__main__\.py): error: ")
"""How the command line's parser ends a program."""
_ENTRY = LazyPattern(r"(?:^|[/\\])bin[/\\]vllm$|^vllm/entrypoints/(?:cli/main|openai/api_server|openai/run_batch)\.py$")
"""Where vLLM's own command begins."""
_OF_REQUESTS = ("starlette/", "fastapi/")
"""What calls vLLM's entry point for a request: that exception ends no program."""
_OUTERMOST = 4
"""Frames of which one must be there for an exception that ends the program itself, and not one of its processes."""
_CHAIN = 8
"""Exceptions of a chain that are followed."""
SHOWN = 4
"""Differences between two starts that are told."""
_NOT_OPTIONS = ("model", "model_tag", "api_key", "hf_token")
MOST = 50
"""Attempts of one start; a log with more is a loop."""


def parted(incident: Incident) -> list[Incident]:
    """Return the attempts that a start's lines hold, in order; the start alone where there is one."""
    deaths = sorted({*_refused(incident), *_fell(incident)})[:MOST]
    if not deaths:
        return [incident]
    begun = [span.line for span in incident.stages if span.stage not in ("launch", "serving", "shutdown")]
    said = [*begun, *(line.number for line in incident.errors), *(line.number for line in incident.sites)]
    cuts = {
        before + 1 for (_, before), (first, _) in pairwise(deaths) if before < first
    }  # two deaths are two programs'
    first, last = deaths[-1]
    if any(number > last for number in said):
        cuts.add(last + 1)
    if (first, last) in _refused(incident):
        # Whoever is refused on the command line has started nothing: what stands above is another's.
        above = [number for number in (*begun, *(line.number for line in incident.errors)) if number < first]
        cuts |= {max(above) + 1} if above else set()
    return _cut(incident, sorted(cuts)) if cuts else [incident]


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Return what was set otherwise in a later start than in an earlier one, in words; "" where nothing tells.

    Args:
        before: Facts of the earlier one.
        after: Those of the later one.
    """
    if before is after:
        return ""
    told: list[str] = []
    for name in ("vllm_version", "model"):
        one, two = before.get(name), after.get(name)
        if one and two and one != two:
            told.append(f"{name} {one} → {two}")
    one, two = before.get("arguments"), after.get("arguments")
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        told += [
            _difference(f"--{name.replace('_', '-')}", one.get(name), two.get(name))
            for name in dict.fromkeys([*one, *two])
            if name not in _NOT_OPTIONS and one.get(name) != two.get(name)
        ]
    return ", ".join(told[:SHOWN])


def _difference(option: str, before: object, after: object) -> str:
    if after is None:
        return f"without {option} {spelled(before)}"
    return f"with {option} {spelled(after)}" if before is None else f"{option} {spelled(before)} → {spelled(after)}"


def spelled(value: object) -> str:
    """Return a value as people write it: the items of a list, and no list of Python's."""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _refused(incident: Incident) -> set[tuple[int, int]]:
    """Return the lines with which the command line's parser ended a program, each as its first and its last."""
    lines = (*(hit.line for hit in incident.hits if not hit.quoted), *incident.errors)
    return {(line.number, line.number) for line in lines if _REFUSED.search(line.text)}


def _fell(incident: Incident) -> Iterable[tuple[int, int]]:
    """Yield the first and the last line of each exception that ended the program itself."""
    seen: set[tuple[object, ...]] = set()
    for trace in incident.traces:
        chained = trace.cause_of is not None  # what was raised from it ends the program
        if not trace.kind or chained or trace.level or trace.kind == "KeyboardInterrupt" or trace.count > 1:
            continue
        outer = trace.frames[:_OUTERMOST]
        entry = next((at for at, frame in enumerate(outer) if _ENTRY.search(frame.path)), None)
        asked = any(frame.path.startswith(_OF_REQUESTS) for frame in outer[:entry])
        if entry is not None and not asked and trace.key() not in seen:
            seen.add(trace.key())
            root, link = trace, trace.raised_from
            for _ in range(_CHAIN):
                if link is not None:
                    root, link = link, link.raised_from
            yield min(root.first, trace.first), max(trace.last, trace.number)


def _cut(incident: Incident, cuts: list[int]) -> list[Incident]:
    """Return a start cut before some of its lines; facts that were read of all of it are those of the last part."""
    bounds = [incident.first, *cuts, incident.last + 1]
    parts: list[Incident] = []
    for first, behind in pairwise(bounds):
        inside = range(first, behind)
        stages = [span for span in incident.stages if span.line in inside]
        last = behind > incident.last
        parts.append(
            replace(
                incident,
                first=first,
                last=behind - 1,
                hits=[hit for hit in incident.hits if hit.line.number in inside],
                traces=[trace for trace in incident.traces if trace.number in inside],
                errors=[line for line in incident.errors if line.number in inside],
                sites=[line for line in incident.sites if line.number in inside],
                stages=stages,
                reached=incident.reached if last and stages else stages[-1].stage if stages else "",
                serving=incident.serving if last else None,
                standstill=incident.standstill if last else None,
                situation=None,
            )
        )
    return parts
