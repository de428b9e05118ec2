"""What a browser is shown in the place of a problem's JSON: one small page that loads nothing."""

from __future__ import annotations

from html import escape

from .clothes import CLOTHES

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_STYLE = (
    f"{CLOTHES}body{{max-width:40rem;margin:15vh auto;padding:0 1.2rem;font:16px/1.5 var(--sans);color:var(--ink);background:var(--paper)}}"
    "h1{font-size:1.6rem;margin-bottom:.3rem}code{font:.9em var(--mono);color:var(--soft);overflow-wrap:anywhere}a{color:var(--accent)}"
)


def problem_page(status: int, title: str, detail: str, path: str) -> str:
    """Return the page of a problem, with the way to the front page."""
    # Below any root path: as many folders up as the path has.
    home = "../" * max(0, path.strip("/").count("/")) or "./"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)} – vllm-triage</title><style>{_STYLE}</style>"
        f"<h1>{escape(title)}</h1><p>{escape(detail)}</p><p><code>{status} {escape(path[:200])}</code></p>"
        f'<p><a href="{home}">Triage a log</a></p>\n'
    )
