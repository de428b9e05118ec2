"""SARIF 2.1.0 for code scanning and other viewers of findings: one result for each log with a failure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...classifier.report.contract import as_dict, shown, without_secrets
from ...classifier.report.types import Diagnosis, Evidence
from . import markdown
from .interface import Options, Result

if TYPE_CHECKING:
    from ...corpus.store import Corpus

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
STDIN = "standard-input.log"
"""What a piped log is called: a result must name an artifact."""


def render(results: Sequence[Result], options: Options) -> str:
    """Return one SARIF log with one run for all results."""
    from ..cli.main import version

    failures = [result for result in results if result.diagnosis.failed]
    rules = {result.diagnosis.cause: _rule(result.diagnosis) for result in failures}
    order = list(rules)
    run = {
        "tool": {"driver": {"name": "vllm-triage", "version": version(), "rules": list(rules.values())}},
        "artifacts": [
            {"location": {"uri": _uri(result.name)}, "length": result.diagnosis.bytes, "mimeType": "text/plain"}
            for result in results
        ],
        "results": [_result(result, results.index(result), order, options) for result in failures],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"


def _rule(answer: Diagnosis) -> dict[str, Any]:
    """Return what SARIF calls a rule: the cause, whatever log it was found in."""
    from ...classifier.advice.fixes import fill, sentences

    name = answer.cause.partition("/")[2]
    corpus = _corpus()
    bucket = corpus.bucket(answer.bucket) if answer.bucket in corpus.buckets() else None
    cause = bucket.cause(name) if bucket else None
    title = fill(cause.title, {})[0] if cause else shown(without_secrets(answer).title)
    rule: dict[str, Any] = {
        "id": answer.cause,
        "name": "".join(part.capitalize() for part in answer.cause.replace("/", "_").split("_")),
        "shortDescription": {"text": title.strip() or answer.cause},
        "defaultConfiguration": {"level": _level(answer)},
        "properties": {"tags": ["vllm", answer.bucket]},
    }
    if bucket and (meaning := sentences(cause.summary, {}) if cause else bucket.meaning):
        rule["fullDescription"] = {"text": meaning}
        rule["help"] = {"text": f"{meaning}\n\nvllm-triage explain {answer.cause}"}
    return rule


@cache
def _corpus() -> Corpus:
    from ...corpus.store import load, plugin_folders

    return load(plugin_folders())


def _result(result: Result, index: int, order: list[str], options: Options) -> dict[str, Any]:
    report = as_dict(result.diagnosis)
    answer = without_secrets(result.diagnosis)
    told = markdown.render([Result("-", result.diagnosis)], options)
    fixes = "".join(f"\n{fix['rank']}. {fix['title']}: {fix['change']}" for fix in report["fixes"][:3])
    text = ". ".join(part.rstrip(".") for part in (report["title"], report["summary"]) if part)
    found: dict[str, Any] = {
        "ruleId": answer.cause,
        "ruleIndex": order.index(answer.cause),
        "level": _level(answer),
        "message": {"text": f"{text}.{fixes}", "markdown": told},
        "locations": [_location(item, result.name, index) for item in answer.evidence[:1]],
        "rank": round(100 * answer.confidence, 1),
        "partialFingerprints": {"cause/v1": _fingerprint(answer)},
        "properties": {
            "confidence": answer.confidence,
            "decided_by": answer.decided_by,
            "facts": report["facts"],
            "fixes": report["fixes"],
            "corrected_command": report["corrected_command"],
        },
    }
    related = [*answer.evidence[1:], *answer.chain, *answer.symptoms]
    if related:
        found["relatedLocations"] = [
            {**_location(item, result.name, index), "id": number} for number, item in enumerate(related, 1)
        ]
    if not found["locations"]:
        found["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": _uri(result.name), "index": index}}}]
    return found


def _location(item: Evidence, name: str, index: int) -> dict[str, Any]:
    role = {"symptom": "only a symptom", "chain": "raised from it"}.get(item.role, item.process)
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(name), "index": index}}
    if item.line > 0:
        place["region"] = {"startLine": item.line, "snippet": {"text": shown(item.text)}}
    return {"physicalLocation": place, **({"message": {"text": shown(role)}} if role else {})}


def _level(answer: Diagnosis) -> str:
    return "warning" if answer.bucket == "unknown" else "error"


def _fingerprint(answer: Diagnosis) -> str:
    """Return what makes two results the same finding: the cause, and what it was found in."""
    what = (answer.cause, answer.facts.get("model", ""), answer.facts.get("vllm_version", ""))
    return hashlib.sha256("\0".join(map(str, what)).encode("utf-8", "replace")).hexdigest()[:16]


def _uri(name: str) -> str:
    """Return a file's name as a relative reference."""
    name = STDIN if name == "-" else shown(name)
    return quote(name.replace("\\", "/").lstrip("/"), safe="/") or STDIN
