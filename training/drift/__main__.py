"""``python -m vllm_triage.training.drift FOLDER…``: each FOLDER holds the unpacked sources of one release (``FOLDER/vllm``)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ...classifier.api import Triage
from .coverage import Coverage, is_start_up, likelihood, measure
from .templates import Template, read_release


def main() -> int:
    """Print coverage by release, the likeliest messages without a rule, and rules whose words no release holds."""
    parser = argparse.ArgumentParser(description="Hold the rules against the message templates of vLLM releases.")
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="unpacked sources of a release, named by it (…/0.33.0)"
    )
    parser.add_argument("--all", action="store_true", help="all messages, not those of start-up alone")
    parser.add_argument("--top", type=int, default=30, help="uncovered messages to list of the newest release")
    parser.add_argument(
        "--least", type=float, default=0.0, help="exit with 1 when coverage of the newest release is below this share"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    engine = Triage()
    results = []
    everything: list[Template] = []
    for folder in options.folders:
        root = folder / "vllm" if (folder / "vllm").is_dir() else folder
        templates = list(read_release(root))
        everything += templates
        results.append(measure(folder.name, (item for item in templates if options.all or is_start_up(item)), engine))
    silent = silent_rules(engine, everything)
    if options.format == "json":
        print(
            json.dumps(
                {"releases": [_as_dict(item, options.top) for item in results], "silent_rules": silent}, indent=2
            )
        )
    else:
        _print(results, silent, options.top)
    newest = results[-1]
    return 1 if newest.total and newest.by_place / newest.total < options.least else 0


def silent_rules(engine: Triage, templates: list[Template]) -> list[str]:
    """Return line rules said to be vLLM's whose pattern no template of the given releases matches."""
    texts = "\n".join(f"{item.kind}: {item.text}" for item in templates)
    return [
        rule.id for rule in engine.corpus.rules
        if rule.pattern and rule.source == "vllm" and rule.role == "cause" and not any(literal in texts for literal in rule.literals)
    ]  # fmt: skip


def _as_dict(result: Coverage, top: int) -> dict[str, object]:
    return {
        "release": result.release, "messages": result.total, "covered_by_words": result.by_words, "covered_with_place": result.by_place, "guesses": result.weak,
        "uncovered": [{"path": item.path, "line": item.line, "kind": item.kind, "text": item.text, "likelihood": likelihood(item)} for item in result.uncovered[:top]],
    }  # fmt: skip


def _print(results: list[Coverage], silent: list[str], top: int) -> None:
    for item in results:
        share = item.by_place / item.total if item.total else 0.0
        print(
            f"{item.release:<10} {item.total:5} messages   by words {item.by_words / max(1, item.total):.2f}   with their place {share:.2f} (guesses {item.weak})"
        )
    newest = results[-1]
    print(f"\n{newest.release}: the likeliest messages without a rule")
    for template in newest.uncovered[:top]:
        print(f"  {likelihood(template):4.0f}  {template.path}:{template.line}  {template.kind}: {template.text[:150]}")
    print(
        f"\n{len(silent)} cause rules of vLLM's own texts whose words stand in none of these releases: {', '.join(silent[:40])}{' …' if len(silent) > 40 else ''}"
    )


if __name__ == "__main__":
    sys.exit(main())
