"""Charts as SVG that stands in the page: no script, no file from elsewhere, a table beside each says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil

from .summary import Share

WIDTH, HEIGHT = 880, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 44
COLORS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#9c6b4e", "#a463f2", "#8b949e")
"""Told apart by people who see colours otherwise, too; the last one is for all others."""
OTHERS = "all others"


def stacked(weeks: Mapping[str, Mapping[str, int]], title: str) -> str:
    """Return stacked bars: failed starts a week, by bucket, the most frequent buckets each in a colour of its own."""
    totals: dict[str, int] = {}
    for buckets in weeks.values():
        for bucket, number in buckets.items():
            totals[bucket] = totals.get(bucket, 0) + number
    top = sorted(totals, key=lambda name: (-totals[name], name))[: len(COLORS) - 1]
    names = [*top, OTHERS] if len(totals) > len(top) else top
    colors = dict(zip(names, COLORS, strict=False)) | ({OTHERS: COLORS[-1]} if OTHERS in names else {})
    columns = [(week, _columns(buckets, top, names)) for week, buckets in weeks.items()]
    most = nice(max((sum(number for _, number in parts) for _, parts in columns), default=1))
    body = [_grid(most, "{:,.0f}")]
    for index, (week, parts) in enumerate(columns):
        x, width = _slot(index, len(columns))
        base = float(HEIGHT - BOTTOM)
        for name, number in parts:
            height = number / most * (HEIGHT - TOP - BOTTOM)
            base -= height
            told = escape(f"{week}: {number:,} × {name}")
            body.append(
                f'<rect x="{x:.1f}" y="{base:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colors[name]}">'
                f"<title>{told}</title></rect>"
            )
        body.append(_below(index, len(columns), week))
    legend = "".join(
        f'<span><i style="background:{colors[name]}"></i>{escape(name)} {_number(totals, name, top)}</span>' for name in names
    )  # fmt: skip
    return f'{_svg(title, body)}<p class="legend">{legend}</p>'


def whiskers(shares: Sequence[Share], title: str) -> str:
    """Return points with their intervals: the share of failed logs of each."""
    most = min(1.0, nice(100 * max((share.high for share in shares), default=1.0)) / 100)
    body = [_grid(most, "{:.0%}")]
    for index, share in enumerate(shares):
        x, width = _slot(index, len(shares))
        middle = x + width / 2
        points = [_y(value, most) for value in (share.low, share.high, _part(share))]
        low, high, mean = points
        told = escape(
            f"{share.name}: {share.failed_logs:,} of {share.logs:,} logs, {_part(share):.1%}"
            f" ({share.low:.1%} to {share.high:.1%})"
        )
        body.append(
            f'<g><title>{told}</title><line x1="{middle:.1f}" y1="{low:.1f}" x2="{middle:.1f}" y2="{high:.1f}" class="reach"/>'
            f'<circle cx="{middle:.1f}" cy="{mean:.1f}" r="4" fill="{COLORS[0]}"/></g>'
        )
        body.append(_below(index, len(shares), share.name))
    return _svg(title, body)


def nice(value: float) -> float:
    """Return a round number that is no smaller."""
    if value <= 0:
        return 1
    size = float(10 ** (len(str(ceil(value))) - 1))
    return next(step * size for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * size >= value)


def _columns(buckets: Mapping[str, int], top: Sequence[str], names: Sequence[str]) -> list[tuple[str, int]]:
    parts = [(name, buckets.get(name, 0)) for name in top]
    if OTHERS in names:
        parts.append((OTHERS, sum(number for name, number in buckets.items() if name not in top)))
    return [(name, number) for name, number in parts if number]


def _number(totals: Mapping[str, int], name: str, top: Sequence[str]) -> str:
    own = totals[name] if name in totals else sum(number for other, number in totals.items() if other not in top)
    return f"{own:,}"


def _part(share: Share) -> float:
    return share.failed_logs / share.logs if share.logs else 0.0


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)


def _slot(index: int, count: int) -> tuple[float, float]:
    """Return where a column begins, and its width."""
    step = (WIDTH - LEFT - RIGHT) / max(1, count)
    width = min(48.0, step * 0.7)
    return LEFT + index * step + (step - width) / 2, width


def _below(index: int, count: int, text: str) -> str:
    # As many labels as have room.
    every = max(1, ceil(count / 12))
    if index % every:
        return ""
    x, width = _slot(index, count)
    return f'<text x="{x + width / 2:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(text[:14])}</text>'


def _grid(most: float, form: str) -> str:
    lines = []
    for step in range(5):
        value = most * step / 4
        y = _y(value, most)
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="grid"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{form.format(value)}</text>')
    return "".join(lines)


def _svg(title: str, body: Sequence[str]) -> str:
    told = escape(title)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}"><title>{told}</title>{"".join(body)}</svg>'
    )
