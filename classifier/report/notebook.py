"""A report as a notebook shows it: one piece of HTML that loads nothing, runs nothing and needs no style sheet.

Notebooks strip styles and scripts from outputs that they do not trust; what is left must still read well.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .model import ContextLine, Evidence, Fix, Report

COLORS = {"failed": "#c62828", "unknown": "#b26a00", "well": "#2e7d32"}
"""Of the bar at the left: readable on light and dark."""
SIGNS = {"failed": "✖", "unknown": "?", "well": "✔"}
MOST_FIXES = 5
FACTS = ("vllm_version", "engine", "model", "gpu_name", "gpu_count", "tensor_parallel_size", "max_model_len")
"""Facts that stand below the title; the others are unfolded."""


def as_html(report: Report) -> str:
    """Return a report as HTML. All text in it is escaped; it is masked as the report is."""
    style = f"border-left:4px solid {COLORS[report.state]};padding:0 0 0 12px;max-width:72em"
    return f'<div style="{style}">{"".join(_parts(report, report.state))}</div>'


def _parts(report: Report, state: str) -> Iterator[str]:
    yield f"<div><strong>{SIGNS[state]} {_text(report.title)}</strong></div>"
    about = [f"{name} {report.facts.get(name)}" for name in FACTS if name in report.facts]
    sure = f"<code>{_text(report.cause)}</code> · {round(report.confidence * 100)} %"
    yield f"<div><small>{sure}{''.join(f' · {_text(item)}' for item in about)}</small></div>"
    if report.filtered is not None:
        yield f"<p><em>left out by {_text(report.filtered.by)}: {_text(', '.join(report.filtered.ids))}</em></p>"
    if report.summary:
        yield f"<p>{_text(report.summary)}</p>"
    yield _proof(report)
    if report.story is not None and report.story.told:
        yield f"<p>{_text(' '.join(report.story.told))}</p>"
    yield from (f"<p><em>{_text(note)}</em></p>" for note in report.notes)
    yield _fixes(report.fixes[:MOST_FIXES])
    if report.corrected_command:
        yield f"<p>Start it with</p><pre>{_text(report.corrected_command)}</pre>"
    if report.alternatives and report.bucket == "unknown":
        near = ", ".join(f"{item.bucket} {round(item.confidence * 100)} %" for item in report.alternatives)
        yield f"<p>Perhaps: {_text(near)}</p>"
    yield _rest(report)


def _proof(report: Report) -> str:
    deciding = [item for item in report.evidence if not item.mark]
    if not deciding:
        return ""
    others = [item for item in deciding if item.line not in {line.line for line in report.context}]
    lines: list[Evidence | ContextLine] = sorted([*others, *report.context], key=lambda item: item.line)
    told = {item.line for item in deciding}
    rows = (f"<strong>{_line(item)}</strong>" if item.line in told else _line(item) for item in lines)
    return "<pre>" + "\n".join(rows) + "</pre>"


def _line(item: Evidence | ContextLine) -> str:
    return f"{item.line}  {_text(item.text)}"


def _fixes(fixes: tuple[Fix, ...]) -> str:
    if not fixes:
        return ""
    return "<ol>" + "".join(f"<li>{_fix(fix)}</li>" for fix in fixes) + "</ol>"


def _fix(fix: Fix) -> str:
    change = f": <code>{_text(fix.change)}</code>" if fix.change not in ("", fix.title) else ""
    parts = [f"{_text(fix.title)}{change}", _text(fix.why)]
    if fix.costs:
        parts.append(f"Costs: {_text(fix.costs)}")
    if fix.verify:
        parts.append(f"Check: {_text(fix.verify)}")
    return "<br>".join(part for part in parts if part)


def _rest(report: Report) -> str:
    lines = [item for item in (*report.chain, *report.symptoms) if not item.mark]
    follows = f"<pre>{chr(10).join(map(_line, lines))}</pre>" if lines else ""
    rows = "".join(f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in report.facts.items())
    found = [_folded(f"What follows from it ({len(lines)})", follows)] if follows else []
    found += [_folded(f"Facts ({len(report.facts)})", f"<table>{rows}</table>")] if rows else []
    if report.kept is not None:
        found.append(_folded("The evidence, to copy for an assistant", f"<pre>{_text(report.pack().prompt())}</pre>"))
    return "".join(found)


def _folded(title: str, inner: str) -> str:
    return f"<details><summary>{title}</summary>{inner}</details>"


def _text(value: object) -> str:
    return escape(str(value))
