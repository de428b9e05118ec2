"""``vllm-triage explain BUCKET|CAUSE``: what it is, what proves it, how it is fixed. Offline."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ....corpus.page import page_of
from ....corpus.types import Bucket, Cause, Fix, Rule
from ...knowledge import UnknownIdError, look_up, rule_summary
from ...render.colors import painter
from ...render.words import without_comment
from ..arguments import add_rules
from ..messages import complain
from ..parser import Parser, columns, wrapped


def run(words: Sequence[str]) -> int:
    """Print the page of a bucket or a cause, or list the buckets; exit code 2 where there is none."""
    about = "Say what a bucket or a cause is, what proves it, and how it is fixed."
    example = "for example kv_cache_oom or kv_cache_oom/context_exceeds_cache"
    parser = Parser(prog="vllm-triage explain", description=about)
    parser.add_argument(
        "id", metavar="BUCKET|CAUSE|RULE", nargs="?", default="", help=f"{example}; without one all are listed"
    )
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    add_rules(parser)
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....corpus.store import load, plugin_folders

    corpus = load([*options.rules, *plugin_folders()])
    if not options.id:
        pages = [corpus.bucket(name) for name in corpus.buckets()]
        _list(pages, as_json=options.format == "json")
        return 0
    try:
        page = look_up(corpus, options.id)
    except UnknownIdError as error:
        return complain(str(error))
    if options.format == "json":
        told = [rule_summary(rule) for rule in page.rules]
        print(json.dumps({**page_of(page.bucket), "rules": told}, ensure_ascii=False, indent=2))
        return 0
    _print(page.bucket, page.bucket.causes, page.rules)
    return 0


def _list(buckets: Sequence[Bucket], *, as_json: bool) -> None:
    if as_json:
        print(
            json.dumps([{"id": bucket.id, "title": bucket.title} for bucket in buckets], ensure_ascii=False, indent=2)
        )
        return
    paint, column = painter(), max(len(bucket.id) for bucket in buckets)
    for bucket in buckets:
        _wrap(f"{bucket.id:<{column}}  {bucket.title}", "", paint(bucket.id, "bold"))
    print("\nvllm-triage explain BUCKET says more, vllm-triage explain BUCKET/CAUSE of one cause")


def _print(bucket: Bucket, causes: Sequence[Cause], rules: Sequence[Rule]) -> None:
    from ....classifier.templates import sentences

    paint = painter()
    print(f"{paint(bucket.id, 'bold')}: {paint(bucket.title, 'bold')}\n")
    _wrap(bucket.meaning, "")
    for cause in causes:
        print(f"\n{paint(f'{bucket.id}/{cause.id}', 'cyan')}")
        _wrap(_plain(cause.title), "  ")
        _wrap(sentences(cause.summary, {}), "  ")
        for label, text in (("Confirm", cause.confirm), ("Refute", cause.refute)):
            if text:
                _wrap(f"{label}: {_plain(text)}", "  ")
        for number, fix in enumerate(cause.fixes, 1):
            _print_fix(number, fix)
    print()
    _wrap(f"{len(rules)} rule{'s' * (len(rules) != 1)}: " + ", ".join(rule.name for rule in rules), "")


def _print_fix(number: int, fix: Fix) -> None:
    from ....classifier.templates import sentences

    versions = f" · vLLM {fix.versions}" if fix.versions else ""
    costs = "" if fix.cost.lower().rstrip(".") == "none" else f"Costs: {fix.cost}"
    check = f"Check: {fix.verify}" if fix.verify else ""
    change, title = _plain(fix.change), _plain(fix.title)
    print()
    _wrap(f"{number}. {title}{versions}", "    ", painter()(title, "bold"))
    if change != fix.title:
        command, comment = without_comment(change)
        # What is copied is not wrapped.
        rows = (
            wrapped(f"       {command}", columns())
            if fix.kind == "step"
            else f"       {command}".replace("\n", "\n       ")
        )
        print("\n".join(painter()(row, "green") for row in rows.split("\n")))
        _wrap(comment, "       ")
    for text in (fix.why, costs, check, fix.source):
        _wrap(sentences(text, {}), "       ")


def _plain(template: str) -> str:
    from ....classifier.templates import fill

    return fill(template, {})[0]


def _wrap(text: str, indent: str, painted: str = "") -> None:
    """Print a text in rows below one another; ``painted`` stands for the same words without colours."""
    if not text:
        return
    bare = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    told = wrapped(indent + text, columns())
    print(told.replace(bare, painted, 1) if bare else told)
