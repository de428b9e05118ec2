"""Rows from the sources of vLLM releases: every message that can be raised or logged, below the callers that lead to it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ....classifier.api import Triage
from ...examples.row import Row
from ...messages.coverage import message_line, traceback
from ...messages.templates import Template
from .callpaths import CallGraph, call_graph
from .label import label
from .sources import Reader, in_order, release_of

HEALTHY_WEIGHT, SURVIVED_WEIGHT = 0.3, 1.0
"""Weights of what is logged without anything having failed, and of errors that are survived."""
WAYS = 2
"""Different call paths that are shown of one message."""


def release_rows(places: list[Path], engine: Triage, salt: int, progress: Callable[[str], None]) -> Iterator[Row]:
    """Yield the rows of releases, each message once, with the first release that has it.

    Args:
        places: Releases as :mod:`sources` reads them.
        engine: Rules that label.
        salt: Seed; each message draws its call paths by itself.
        progress: Told about each release.
    """
    seen: set[str] = set()
    reader = Reader()
    for place in in_order(places):
        release = release_of(place)
        modules = reader.modules(place)
        fresh = _fresh((template for module in modules for template in module.messages), seen)
        graph = call_graph(modules) if fresh else CallGraph()
        for template in fresh:
            bucket, cause, weight = label(template, engine)
            if bucket == "no_failure":
                # Logged as an error, and survived.
                text = message_line(template).rstrip("\n")
                yield Row(text, bucket, template.fixed, "healthy", release, "", SURVIVED_WEIGHT)
            elif bucket:
                draw = random.Random(f"{salt}:{template.fixed}")  # noqa: S311 (nothing is secret here)
                texts = _shown(template, graph, draw)
                for text in texts:
                    share = weight / len(texts)
                    yield Row(text.rstrip("\n"), bucket, template.fixed, "release", release, "", share, cause)
        levels = {id(template): level for module in modules for template, level in module.healthy}
        healthy = _fresh((template for module in modules for template, _ in module.healthy), seen)
        for template in healthy:
            where = f"[{template.path.rpartition('/')[2]}:{template.line}]"
            text = f"{levels[id(template)]} 11-02 10:00:00 {where} {template.text}"
            yield Row(text, "no_failure", template.fixed, "healthy", release, "", HEALTHY_WEIGHT)
        progress(f"{release}: {len(fresh)} new errors, {len(healthy)} new lines of healthy logs")


def _fresh(templates: Iterable[Template], seen: set[str]) -> list[Template]:
    found = []
    for template in templates:
        if template.fixed not in seen:
            seen.add(template.fixed)
            found.append(template)
    return found


def _shown(template: Template, graph: CallGraph, draw: random.Random) -> list[str]:
    """Return a message as a logged line, or as tracebacks show it."""
    if template.kind == "log":
        return [message_line(template)]
    head, _, rest = traceback(template).partition("\n")
    ways = {
        tuple(step.printed() for step in graph.way(template.path, template.function, draw)): None for _ in range(WAYS)
    }
    return [f"{head}\n{''.join(way)}{rest}" for way in ways]
