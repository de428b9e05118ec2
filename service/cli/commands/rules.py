"""``vllm-triage rules``: what is looked for, as a list or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ....corpus.types import Rule
from ...knowledge import rule_data
from ..arguments import add_rules
from ..messages import complain, warn
from ..parser import Parser


def run(words: Sequence[str]) -> int:
    """Print the rules, all or those of some buckets."""
    about = "List the rules: id, role, cause, and the vLLM releases that print the text."
    parser = Parser(prog="vllm-triage rules", description=about)
    parser.add_argument("bucket", nargs="*", help="only these buckets")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    add_rules(parser)
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....corpus.store import load, plugin_folders

    corpus = load([*options.rules, *plugin_folders()])
    for problem in corpus.problems:
        warn(f"rule file left out: {problem}")
    unknown = [name for name in options.bucket if name not in {*corpus.buckets(), "facts"}]
    if unknown:
        return complain(f"no bucket {unknown[0]!r}; there are: {', '.join(corpus.buckets())}")
    chosen = [rule for rule in corpus.rules if not options.bucket or rule.bucket in options.bucket]
    if options.format == "json":
        print(json.dumps([rule_data(rule) for rule in chosen], ensure_ascii=False, indent=2))
        return 0
    _print(chosen)
    return 0


def _print(rules: list[Rule]) -> None:
    width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        strength = rule.strength if rule.role == "cause" else ""
        cause = f"{rule.bucket}/{rule.cause}" if rule.cause else ""
        versions = f"  vLLM {rule.versions}" if rule.versions else ""
        print(f"{rule.id:<{width}}  {rule.role:<8}  {strength:<7}  {cause}{versions}".rstrip())
    print(f"\n{len(rules)} rules in {len({rule.bucket for rule in rules})} files")
