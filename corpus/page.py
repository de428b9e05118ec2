"""A bucket as a page to read: what ``vllm-triage explain -f json`` and ``GET /v1/buckets/ID`` are made of."""

from __future__ import annotations

from dataclasses import fields

from .types import Bucket, Cause, Fix


def page_of(bucket: Bucket) -> dict[str, object]:
    """Return title, meaning and causes (by id, with their fixes) of a bucket, ready for JSON."""
    causes = {cause.id: _cause(cause) for cause in bucket.causes}
    return {"id": bucket.id, "title": bucket.title, "meaning": bucket.meaning, "causes": causes}


def _cause(cause: Cause) -> dict[str, object]:
    words = {name: getattr(cause, name) for name in ("id", "title", "summary", "confirm", "refute")}
    return {**words, "fix": [_fix(fix) for fix in cause.fixes]}


def _fix(fix: Fix) -> dict[str, object]:
    told = {item.name: getattr(fix, item.name) for item in fields(Fix)}
    return {**told, "when": list(fix.when)}
