"""Checks rule files: format, literals, pattern costs, and every example that needs no engine.

Run as ``python -m vllm_triage.corpus.check [FILE…]``; exit code 1 when anything is wrong.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import regex

from .lint import lint_pattern
from .literals import MINIMUM, required_literals
from .schema import Bucket, CorpusError, Rule, parse_bucket

HERE = Path(__file__).parent

DECIDED_BY_STAGE = frozenset(
    {
        "nccl_hang/silent_distributed_init", "unknown/below_threshold", "no_failure/healthy",
        "no_failure/nothing_found", "no_failure/still_starting", "no_failure/stopped_from_outside",
        "unknown/unrecognised_failure",
    }
)  # fmt: skip
"""Causes that no rule names: the engine concludes them from how far the log got."""


def check_file(path: Path) -> list[str]:
    """Return the complaints about one rule file, each naming the file and the rule."""
    try:
        with path.open("rb") as file:
            bucket = parse_bucket(tomllib.load(file), path.name)
    except (CorpusError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return [f"{path.name}: {error}" if path.name not in str(error) else str(error)]
    complaints = [] if path.stem == bucket.id else [f"{path.name}: id {bucket.id!r} must be the file's name"]
    complaints += check_bucket(bucket, path.name)
    return complaints


def check_bucket(bucket: Bucket, where: str) -> list[str]:
    """Return complaints about the rules and causes of one parsed bucket."""
    complaints = []
    for rule in bucket.rule:
        complaints += [f"{where}: rule {rule.id}: {complaint}" for complaint in _check_rule(rule)]
    used = {rule.cause for rule in bucket.rule}
    for cause in bucket.cause:
        if not cause.fix and bucket.id not in ("no_failure", "unknown"):
            complaints.append(f"{where}: cause {cause.id}: needs at least one fix")
        if cause.id not in used and f"{bucket.id}/{cause.id}" not in DECIDED_BY_STAGE:
            complaints.append(f"{where}: cause {cause.id}: no rule leads to it")
    if bucket.id != "facts" and len(bucket.confusers) < 2:
        complaints.append(f"{where}: needs at least 2 confusers")
    return complaints


def _check_rule(rule: Rule) -> list[str]:
    complaints = []
    for name in ("pattern", "exception", "message", "frames", "innermost", "not_frames"):
        text = getattr(rule, name)
        if not text:
            continue
        try:
            regex.compile(text)
        except regex.error as error:
            complaints.append(f"{name} does not compile: {error}")
            continue
        complaints += [f"{name}: {complaint}" for complaint in lint_pattern(text)]
    if complaints or not rule.pattern:
        return complaints
    literals = rule.literals or required_literals(rule.pattern)
    if not literals:
        return [f"no literal of {MINIMUM} characters that every match contains; give 'literals' or rewrite the pattern"]
    compiled = regex.compile(rule.pattern)
    for example in rule.match:
        lines = [line for line in map(_peeled, example.splitlines()) if compiled.search(line)]
        if not lines:
            complaints.append(f"does not match its own example {example[:90]!r}")
        elif not any(literal in line for line in lines for literal in literals):
            complaints.append(f"literals {literals} are not in the matching line of {example[:90]!r}")
    if not (rule.frames or rule.not_frames or rule.stages or rule.requires or rule.unless):
        rejects = [text for text in rule.reject if any(_matches(rule, compiled, line) for line in text.splitlines())]
        complaints += [f"matches its own counter-example {text[:90]!r}" for text in rejects]
    return complaints


def _matches(rule: Rule, compiled: Any, line: str) -> bool:
    return bool(compiled.search(_peeled(line))) and (not rule.levels or _level(line) in rule.levels)


_LEVEL = regex.compile(r"^(?:\([^)]*\) )?(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_PREFIX = regex.compile(r"^(?:\([^)]*\) )?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d )(?:\[[^\]]*:\d+\]|[\w./-]+:\d+\]) ?")


def _level(line: str) -> str:
    found = _LEVEL.match(line)
    return found.group(1) if found else ""


def _peeled(line: str) -> str:
    """Return a line without vLLM's own prefix, as the engine tries patterns on it (prefix.py knows many more)."""
    found = _PREFIX.match(line)
    return line[found.end() :] if found else line


def main(arguments: list[str]) -> int:
    """Check the files named (default: all of the corpus) and print what is wrong."""
    paths = [Path(name) for name in arguments] or [*sorted((HERE / "buckets").glob("*.toml")), HERE / "facts.toml"]
    complaints = [complaint for path in paths for complaint in check_file(path)]
    for complaint in complaints:
        print(complaint)
    print(f"{len(paths)} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
