"""``vllm-triage explain BUCKET|CAUSE``: what it is, what proves it, how it is fixed. Offline."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any


def run(words: Sequence[str]) -> int:
    """Print the page of a bucket or a cause; exit code 2 where there is none."""
    parser = argparse.ArgumentParser(
        prog="vllm-triage explain", description="Say what a bucket or a cause is, what proves it, and how it is fixed."
    )
    parser.add_argument(
        "id", metavar="BUCKET|CAUSE|RULE", help="for example kv_cache_oom or kv_cache_oom/context_exceeds_cache"
    )
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--rules", action="append", default=[], metavar="FOLDER", help="add the rule files of a folder (repeatable)"
    )
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ...corpus.store import load, plugin_folders

    corpus = load([*options.rules, *plugin_folders()])
    name = options.id
    bucket, _, part = name.partition("/")
    if bucket not in corpus.buckets():
        near = difflib.get_close_matches(name, [*corpus.buckets(), *(rule.id for rule in corpus.rules)], 3, 0.5)
        print(
            f"vllm-triage: no bucket {bucket!r}"
            + (f"; near: {', '.join(near)}" if near else "; vllm-triage rules lists them"),
            file=sys.stderr,
        )
        return 2
    texts = corpus.texts(bucket)
    rules = [rule for rule in corpus.rules if rule.bucket == bucket]
    if part:
        rules = [rule for rule in rules if part in (rule.cause, rule.id.partition("/")[2])]
        causes = {
            key: value for key, value in texts["causes"].items() if key == part or key in {rule.cause for rule in rules}
        }
        if not causes and not rules:
            print(
                f"vllm-triage: {bucket} has no cause or rule {part!r}; causes: {', '.join(texts['causes'])}",
                file=sys.stderr,
            )
            return 2
    else:
        causes = texts["causes"]
    if options.format == "json":
        import json

        print(
            json.dumps(
                {
                    **texts,
                    "causes": causes,
                    "rules": [
                        {
                            "id": rule.id,
                            "role": rule.role,
                            "cause": rule.cause,
                            "pattern": rule.pattern,
                            "versions": rule.versions,
                        }
                        for rule in rules
                    ],
                },
                ensure_ascii=False,
                indent=2,
            )
        )
        return 0
    _print(texts, causes, rules)
    return 0


def _print(texts: dict[str, Any], causes: dict[str, Any], rules: list[Any]) -> None:
    from ...classifier.advise import fill, sentences

    print(f"{texts['id']}: {texts['title']}\n")
    _wrap(texts["meaning"], "")
    for key, cause in causes.items():
        print(f"\n{texts['id']}/{key}")
        _wrap(_plain(cause["title"]), "  ")
        if summary := sentences(cause["summary"], {}):
            _wrap(summary, "  ")
        for label in ("confirm", "refute"):
            if cause[label]:
                _wrap(f"{label.capitalize()}: {_plain(cause[label])}", "  ")
        for number, fix in enumerate(cause["fix"], 1):
            print()
            _wrap(
                f"{number}. {_plain(fix['title'])}" + (f"   (vLLM {fix['versions']})" if fix["versions"] else ""),
                "    ",
            )
            change = fill(fix["change"], {})[0]
            if change and change != fix["title"]:
                _wrap(change, "       ")
            for text in (
                fix["why"],
                f"Costs: {fix['cost']}" if fix["cost"].lower().rstrip(".") != "none" else "",
                f"Check: {fix['verify']}" if fix["verify"] else "",
                fix["source"],
            ):
                if text:
                    _wrap(_plain(text), "       ")
    print(f"\n{len(rules)} rules: " + ", ".join(rule.id.partition("/")[2] for rule in rules))


def _plain(template: str) -> str:
    from ...classifier.advise import fill

    return fill(template, {})[0]


def _wrap(text: str, indent: str) -> None:
    import shutil
    import textwrap

    width = min(110, shutil.get_terminal_size((100, 24)).columns)
    print(
        textwrap.fill(
            text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )
