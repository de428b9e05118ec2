"""``vllm-triage rules``: what is looked for, as a list or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence


def run(words: Sequence[str]) -> int:
    """Print the rules, all or those of some buckets."""
    parser = argparse.ArgumentParser(
        prog="vllm-triage rules",
        description="List the rules: id, role, cause, and the vLLM releases that print the text.",
    )
    parser.add_argument("bucket", nargs="*", help="only these buckets")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    parser.add_argument("--rules", action="append", default=[], metavar="FOLDER", help="add the rule files of a folder")
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    import sys

    from ...corpus.store import load, plugin_folders

    corpus = load([*options.rules, *plugin_folders()])
    for problem in corpus.problems:
        print(f"vllm-triage: rule file left out: {problem}", file=sys.stderr)
    unknown = [name for name in options.bucket if name not in {*corpus.buckets(), "facts"}]
    if unknown:
        print(f"vllm-triage: no bucket {unknown[0]!r}; there are: {', '.join(corpus.buckets())}", file=sys.stderr)
        return 2
    chosen = [rule for rule in corpus.rules if not options.bucket or rule.bucket in options.bucket]
    if options.format == "json":
        keys = (
            "id",
            "bucket",
            "role",
            "cause",
            "strength",
            "pattern",
            "exception",
            "message",
            "frames",
            "innermost",
            "levels",
            "scope",
            "versions",
            "source",
        )
        print(
            json.dumps(
                [{key: getattr(rule, key) for key in keys if getattr(rule, key)} for rule in chosen],
                ensure_ascii=False,
                indent=2,
            )
        )
        return 0
    width = max((len(rule.id) for rule in chosen), default=0)
    for rule in chosen:
        target = f"{rule.bucket}/{rule.cause}" if rule.cause else ""
        print(
            f"{rule.id:<{width}}  {rule.role:<8}  {rule.strength if rule.role == 'cause' else '':<7}  {target}"
            + (f"  vLLM {rule.versions}" if rule.versions else "")
        )
    print(f"\n{len(chosen)} rules in {len({rule.bucket for rule in chosen})} files")
    return 0
