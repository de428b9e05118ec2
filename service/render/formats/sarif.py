"""SARIF 2.1.0 for code scanning and other viewers of findings: one result for each log with a failure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from urllib.parse import quote

from ....classifier.report.model import Evidence, Report
from ....classifier.report.shown import shown
from ....classifier.version import version
from ....corpus.store import Corpus
from ..interface import Options, Result
from ..words import left_out
from . import markdown

ABOUT = "SARIF 2.1.0, for code scanning"
MEDIA_TYPE = "application/sarif+json"
COMPLETE = False

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
STDIN = "standard-input.log"
"""What a piped log is called: a result must name an artifact."""


def render(results: Sequence[Result], options: Options) -> str:
    """Return one SARIF log with one run for all results."""
    rules = {result.report.cause: _rule(result.report) for result in results if _found(result.report)}
    order = list(rules)
    run = {
        "tool": {"driver": {"name": "vllm-triage", "version": version(), "rules": list(rules.values())}},
        "artifacts": [
            {"location": {"uri": _uri(result.name)}, "length": result.report.input.bytes, "mimeType": "text/plain"}
            for result in results
        ],
        "results": [
            _result(result, index, order, options) for index, result in enumerate(results) if _found(result.report)
        ],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"


def _rule(report: Report) -> dict[str, object]:
    """Return what SARIF calls a rule: the cause, whatever log it was found in."""
    from ....classifier.templates import fill, sentences

    name = report.cause.partition("/")[2]
    corpus = _corpus()
    bucket = corpus.bucket(report.bucket) if report.bucket in corpus.buckets() else None
    cause = bucket.cause(name) if bucket else None
    title = fill(cause.title, {})[0] if cause else shown(report.title)
    rule: dict[str, object] = {
        "id": report.cause,
        "name": "".join(part.capitalize() for part in report.cause.replace("/", "_").split("_")),
        "shortDescription": {"text": title.strip() or report.cause},
        "defaultConfiguration": {"level": _level(report)},
        "properties": {"tags": ["vllm", report.bucket]},
    }
    if bucket and (meaning := sentences(cause.summary, {}) if cause else bucket.meaning):
        rule["fullDescription"] = {"text": meaning}
        rule["help"] = {"text": f"{meaning}\n\nvllm-triage explain {report.cause}"}
    return rule


@cache
def _corpus() -> Corpus:
    from ....corpus.store import load, plugin_folders

    return load(plugin_folders())


def _result(result: Result, index: int, order: list[str], options: Options) -> dict[str, object]:
    report = result.report
    told = markdown.render([Result("-", report)], options)
    fixes = "".join(f"\n{fix.rank}. {fix.title}: {fix.change}" for fix in report.fixes[:3])
    text = ". ".join(part.rstrip(".") for part in (report.title, report.summary) if part)
    found: dict[str, object] = {
        "ruleId": report.cause,
        "ruleIndex": order.index(report.cause),
        "level": _level(report),
        "message": {"text": f"{text}.{fixes}", "markdown": told},
        "locations": [_location(item, item.process, result.name, index) for item in report.evidence[:1]],
        "rank": round(100 * report.confidence, 1),
        "partialFingerprints": {"cause/v1": _fingerprint(report)},
        "properties": {
            "confidence": report.confidence,
            "decided_by": report.decided_by,
            "facts": report.facts,
            "fixes": [fix.to_dict() for fix in report.fixes],
            "corrected_command": report.corrected_command,
        },
    }
    related = [(item, item.process) for item in report.evidence[1:]]
    related += [(item, "raised from it") for item in report.chain]
    related += [(item, "only a symptom") for item in report.symptoms]
    if related:
        found["relatedLocations"] = [
            {**_location(item, told, result.name, index), "id": number}
            for number, (item, told) in enumerate(related, 1)
        ]
    if why := left_out(report):
        found["suppressions"] = [{"kind": "external", "justification": why}]
    if not found["locations"]:
        found["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": _uri(result.name), "index": index}}}]
    return found


def _location(item: Evidence, role: str, name: str, index: int) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(name), "index": index}}
    if item.line > 0:
        place["region"] = {"startLine": item.line, "snippet": {"text": item.text}}
    return {"physicalLocation": place, **({"message": {"text": role}} if role else {})}


def _found(report: Report) -> bool:
    """Return whether there is a failure to tell of, also one that the question leaves out."""
    return report.bucket != "no_failure"


def _level(report: Report) -> str:
    return "warning" if report.bucket == "unknown" else "error"


def _fingerprint(report: Report) -> str:
    """Return what makes two results the same finding: the cause, and what it was found in."""
    what = (report.cause, report.facts.get("model", ""), report.facts.get("vllm_version", ""))
    return hashlib.sha256("\0".join(map(str, what)).encode("utf-8", "replace")).hexdigest()[:16]


def _uri(name: str) -> str:
    """Return a file's name as a relative reference."""
    name = STDIN if name == "-" else shown(name)
    return quote(name.replace("\\", "/").lstrip("/"), safe="/") or STDIN
