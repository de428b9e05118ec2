"""The report as one static HTML page that loads nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from ...classifier.facts.versions import version_key
from ...classifier.version import version
from ..render.words import plural
from ..web.clothes import CLOTHES
from . import charts
from .counts import DIMENSIONS, NOT_TOLD
from .summary import Cause, Share, Summary
from .upgrades import Change, Upgrade

MOST = 40
"""Rows of a table."""
STYLE = f"""{CLOTHES}
body{{font:15px/1.5 var(--sans);color:var(--ink);background:var(--paper);max-width:1200px;margin:1.5rem auto;padding:0 1rem}}
h1{{font-size:1.6rem;margin:0;letter-spacing:-.011em}}h2{{font-size:1.1rem;margin:0 0 .4rem}}p{{margin:.3rem 0}}.soft{{color:var(--soft)}}
section,details{{background:var(--sheet);border:1px solid var(--rule);border-radius:var(--round);margin-top:1rem;padding:.9rem 1.1rem}}
table{{border-collapse:collapse;width:100%;font-size:.9rem}}th,td{{text-align:left;padding:.25rem .8rem .25rem 0;vertical-align:top;
border-bottom:1px solid var(--rule)}}tr:last-child td{{border:0}}th{{color:var(--soft);font-weight:500}}.n{{text-align:right;
font-variant-numeric:tabular-nums;white-space:nowrap}}code{{font:.85em var(--mono);overflow-wrap:anywhere}}i{{font-style:normal;display:inline-block}}
.worse{{color:var(--bad)}}.better{{color:var(--good)}}svg{{width:100%;height:auto;font:11px var(--sans)}}svg text{{fill:var(--soft)}}
.grid{{stroke:var(--rule)}}.reach{{stroke:var(--ink);stroke-width:1.5}}.legend span{{margin-right:1.2rem;white-space:nowrap;font-size:.85rem}}
.legend i{{width:.8em;height:.8em;margin-right:.4em}}.scroll{{overflow-x:auto}}.scroll svg,details>svg{{min-width:680px}}
details{{overflow-x:auto;padding-block:.5rem}}summary{{cursor:pointer}}summary h2{{display:inline-block;margin:.2rem 0}}
main>p{{margin-top:1rem}}a{{color:var(--accent)}}.few tbody tr:nth-child(n+9){{display:none}}.tools{{display:flex;gap:.6rem;margin:.4rem 0}}
.tools input,.tools button{{font:inherit;font-size:.85rem;padding:.25rem .6rem;border:1px solid var(--rule);border-radius:6px;color:inherit;
background:var(--paper)}}.tools input{{border-color:var(--edge);min-width:0}}th button{{all:unset;cursor:pointer}}th button:focus-visible{{outline:2px solid}}
@media(max-width:600px){{td,th{{padding-right:.5rem}}td:nth-child(n+5),th:nth-child(n+5){{display:none}}.few tbody tr:nth-child(n+6){{display:none}}
section,details{{padding-inline:.7rem;margin-top:.7rem}}td:nth-child(2) code{{display:-webkit-box;-webkit-line-clamp:5;-webkit-box-orient:vertical;overflow:hidden}}}}
"""
SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
"""Search, order and CSV. Without it the tables stand in full."""
_HASH = b64encode(sha256(SCRIPT.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'"


def page(summary: Summary, title: str = "What fails in our fleet", service: str = "") -> str:
    """Return the page.

    Args:
        summary: What is told.
        title: Its heading.
        service: Address of a service whose history the causes link to; "" for none.
    """
    parts = [
        _head(summary, title),
        _new(summary, service),
        _causes(summary, service),
        _upgrades(summary),
        _weeks(summary),
    ]
    parts += [_dimension(name, summary.by[name]) for name in DIMENSIONS if name != "week"]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>\n"
        + "\n".join(part if part.startswith("<details") else f"<section>{part}</section>" for part in parts if part)
        + f'\n<p class="soft">vllm-triage {escape(version())}. Intervals hold the true value 95 times in 100 (Wilson; differences:'
        f" Newcombe). Shares are of logs: the starts of a crash loop count once.</p></main><script>{SCRIPT}</script></body></html>\n"
    )


def _head(summary: Summary, title: str) -> str:
    own = summary.all
    days = f", <i>{escape(summary.first)}</i> to <i>{escape(summary.last)}</i>" if summary.first else ""
    unread = f" · {summary.not_read:,} log{'s' * (summary.not_read != 1)} could not be read" if summary.not_read else ""
    return (
        f"<h1>{escape(title)}</h1><p>{plural(own.starts, 'start')} in {plural(own.logs, 'log')}{days}: {own.failed:,} failed, in"
        f" {own.failed_logs:,} logs ({_percent(own)}, {own.low:.1%} to {own.high:.1%}){unread}</p>"
    )


def _weeks(summary: Summary) -> str:
    if not summary.weeks or not summary.buckets:
        return ""
    by_week = summary.by["week"]
    return (
        f"<details><summary><h2>Failed starts a week</h2></summary>{charts.stacked(summary.weeks, 'Failed starts a week, by bucket')}"
        f"<h2>Share of logs with a failure, by week</h2>{charts.whiskers(by_week, 'Share of failed logs by week')}"
        + _table(_SHARES, [_share_row(share) for share in by_week])
        + "</details>"
    )


def _new(summary: Summary, service: str) -> str:
    head = f"<h2>New since {escape(summary.since)}</h2>" if summary.since else ""
    if not head:
        return ""
    if summary.first >= summary.since:
        return head + '<p class="soft">There are no logs from before: nothing can be called new.</p>'
    if not summary.new:
        return head + "<p>No cause that was not seen before.</p>"
    return head + _table(
        _CAUSES, [_cause_row(cause, max(1, summary.all.failed), service) for cause in summary.new[:MOST]]
    )


def _causes(summary: Summary, service: str) -> str:
    if not summary.causes:
        return "<h2>Causes</h2><p>Nothing failed.</p>"
    failed = max(1, summary.all.failed)
    best = summary.causes[0]
    gain = (
        f"<p><strong>Fix {_id(best.id)} and {best.starts / failed:.0%} of the failures go</strong>: {escape(best.fix)}</p>"
        if best.fix
        else ""
    )
    rows = [_cause_row(cause, failed, service) for cause in summary.causes[:MOST]]
    return f"<h2>Causes</h2>{gain}" + _table(_CAUSES, rows) + _rest(len(summary.causes))


def _upgrades(summary: Summary) -> str:
    if not summary.upgrades:
        return ""
    rows = [row for upgrade in summary.upgrades for row in _upgrade_rows(upgrade)]
    note = (
        "<p class='soft'>Share of logs that fail. Nodes and models may differ between releases: look at them before a release is"
        " blamed. Single causes are listed where the change is beyond doubt for all of them together.</p>"
    )
    head = ("upgrade", "what", "before", "after", "change", "interval", "verdict")
    return "<h2>Upgrades</h2>" + note + _table(head, rows)


def _upgrade_rows(upgrade: Upgrade) -> Iterable[Sequence[str]]:
    for change in (upgrade.all, *upgrade.causes):
        yield (
            f"{escape(upgrade.before)} → {escape(upgrade.after)}",
            _id(change.what),
            _n(f"{change.hits_before:,} of {upgrade.logs_before:,}"),
            _n(f"{change.hits_after:,} of {upgrade.logs_after:,}"),
            _n(f"{100 * change.grown:+.1f} points"),
            _n(f"{change.low:+.1%} to {change.high:+.1%}"),
            _verdict(change),
        )


def _verdict(change: Change) -> str:
    return f'<span class="{change.verdict.partition(" ")[0]}">{change.verdict}</span>'


def _dimension(name: str, shares: Sequence[Share]) -> str:
    if not shares or (len(shares) == 1 and shares[0].name.startswith("(")):
        return ""
    chart = charts.whiskers(shares[:24], f"Share of failed logs by {name}") if len(shares) > 1 else ""
    # Releases in their order; of the others what stands out from the rest first, and the unlucky few are not lost among the many.
    order = (
        (lambda share: (share.name == NOT_TOLD, version_key(share.name)))
        if name == "release"
        else (lambda share: -share.low)
    )
    shares = sorted(shares, key=order)
    rows = [_share_row(share) for share in shares[:MOST]]
    told = f"{chart}{_table(_SHARES, rows)}{_rest(len(shares))}"
    return f"<details><summary><h2>By {name if name != 'gpu' else 'GPU'}</h2></summary>{told}</details>"


_SHARES = ("", "starts", "failed", "logs", "failed", "share of logs", "interval")
_CAUSES = ("cause", "first fix", "starts", "of failures", "seen", "releases", "for example")


def _share_row(share: Share) -> Sequence[str]:
    return (
        escape(share.name), _n(f"{share.starts:,}"), _n(f"{share.failed:,}"), _n(f"{share.logs:,}"),
        _n(f"{share.failed_logs:,}"), _n(_percent(share)), _n(f"{share.low:.1%} to {share.high:.1%}"),
    )  # fmt: skip


def _cause_row(cause: Cause, failed: int, service: str) -> Sequence[str]:
    named = f'<span title="vllm-triage explain {escape(cause.id)}">{_id(cause.id)}</span>'
    if service:
        where = f"{service.rstrip('/')}/history?bucket={cause.id.partition('/')[0]}"
        named = f'<a href="{escape(where)}">{named}</a>'
    releases = ", ".join(cause.releases[:6]) + (" …" if len(cause.releases) > 6 else "")
    return (
        f"{escape(cause.title)}<br>{named}", f"<code>{_unbroken(cause.fix)}</code>", _n(f"{cause.starts:,}"),
        _n(f"{cause.starts / failed:.1%}"), _n(f"{escape(cause.first)}<br>{escape(cause.last)}"), escape(releases),
        f'<code title="{escape(cause.example)}">{escape(_end(cause.example))}</code>',
    )  # fmt: skip


def _id(text: str) -> str:
    """Return an id that may be broken where its words end."""
    return f"<code>{escape(text).replace('/', '/<wbr>').replace('_', '_<wbr>')}</code>"


def _unbroken(change: str) -> str:
    """Return a change whose options stay on one row: browsers break a line behind a hyphen."""
    return re.sub(r"--?\w[\w-]{0,40}", r"<i>\g<0></i>", escape(change))


def _end(path: str) -> str:
    """Return what a path is known by."""
    return "/".join(path.rsplit("/", 2)[-2:])


def _percent(share: Share) -> str:
    return f"{share.failed_logs / share.logs:.1%}" if share.logs else "–"


def _n(text: str) -> str:
    """Mark a cell of figures."""
    return f"\0{text}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(text: str) -> str:
        return f'<td class="n">{text[1:]}</td>' if text.startswith("\0") else f"<td>{text}</td>"

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    figures = {index for row in rows[:1] for index, text in enumerate(row) if text.startswith("\0")}
    names = "".join(
        f'<th class="n">{escape(name)}</th>' if index in figures else f"<th>{escape(name)}</th>"
        for index, name in enumerate(head)
    )
    return f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'


def _rest(number: int) -> str:
    return f'<p class="soft">{number - MOST:,} more that are not listed here</p>' if number > MOST else ""
