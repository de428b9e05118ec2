"""``vllm-triage explain BUCKET|CAUSE``: what it is, what proves it, how it is fixed. Offline."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ....corpus.page import page_of
from ....corpus.types import Bucket, Cause, Fix, Rule
from ...knowledge import UnknownIdError, look_up, rule_summary
from ..arguments import add_rules
from ..messages import complain


def run(words: Sequence[str]) -> int:
    """Print the page of a bucket or a cause; exit code 2 where there is none."""
    about = "Say what a bucket or a cause is, what proves it, and how it is fixed."
    example = "for example kv_cache_oom or kv_cache_oom/context_exceeds_cache"
    parser = argparse.ArgumentParser(prog="vllm-triage explain", description=about)
    parser.add_argument("id", metavar="BUCKET|CAUSE|RULE", help=example)
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    add_rules(parser)
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....corpus.store import load, plugin_folders

    try:
        page = look_up(load([*options.rules, *plugin_folders()]), options.id)
    except UnknownIdError as error:
        return complain(str(error))
    if options.format == "json":
        told = [rule_summary(rule) for rule in page.rules]
        print(json.dumps({**page_of(page.bucket), "rules": told}, ensure_ascii=False, indent=2))
        return 0
    _print(page.bucket, page.bucket.causes, page.rules)
    return 0


def _print(bucket: Bucket, causes: Sequence[Cause], rules: Sequence[Rule]) -> None:
    from ....classifier.templates import sentences

    print(f"{bucket.id}: {bucket.title}\n")
    _wrap(bucket.meaning, "")
    for cause in causes:
        print(f"\n{bucket.id}/{cause.id}")
        _wrap(_plain(cause.title), "  ")
        _wrap(sentences(cause.summary, {}), "  ")
        for label, text in (("Confirm", cause.confirm), ("Refute", cause.refute)):
            if text:
                _wrap(f"{label}: {_plain(text)}", "  ")
        for number, fix in enumerate(cause.fixes, 1):
            _print_fix(number, fix)
    print(f"\n{len(rules)} rules: " + ", ".join(rule.name for rule in rules))


def _print_fix(number: int, fix: Fix) -> None:
    versions = f"   (vLLM {fix.versions})" if fix.versions else ""
    costs = "" if fix.cost.lower().rstrip(".") == "none" else f"Costs: {fix.cost}"
    check = f"Check: {fix.verify}" if fix.verify else ""
    change = _plain(fix.change)
    print()
    _wrap(f"{number}. {_plain(fix.title)}{versions}", "    ")
    for text in (change if change != fix.title else "", fix.why, costs, check, fix.source):
        _wrap(_plain(text), "       ")


def _plain(template: str) -> str:
    from ....classifier.templates import fill

    return fill(template, {})[0]


def _wrap(text: str, indent: str) -> None:
    import shutil
    import textwrap

    if not text:
        return
    width = min(110, shutil.get_terminal_size((100, 24)).columns)
    wrapper = textwrap.TextWrapper(width, indent, indent, break_long_words=False, break_on_hyphens=False)
    print(wrapper.fill(text))
