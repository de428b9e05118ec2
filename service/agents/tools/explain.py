"""``explain``: what a bucket or a cause is, and how it is fixed in general."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from ....classifier.templates import fill, sentences
from ....corpus.page import page_of
from ....corpus.types import Bucket, Cause
from ...knowledge import Page, UnknownIdError, look_up, rule_summary
from ...wire import Bucket as Described
from ..budget import SHORT, compact, cut, tokens
from ..desk import Desk
from ..interface import Answer, Arguments, CannotError, Detail, Progress

TITLE = "Explain a kind of vLLM failure"
ABOUT = (
    "Say what a bucket (kv_cache_oom) or a cause (kv_cache_oom/context_exceeds_cache) is, how to confirm it, and how it is "
    "fixed in general. For a failure at hand triage_log is better: it has the values."
)
MORE = 'detail="full" has all causes, fixes and rules.'


class Asked(Arguments):
    """What is to be explained."""

    id: Annotated[str, Field(min_length=1, max_length=200, description="bucket, bucket/cause or bucket/rule")]
    detail: Annotated[Detail, Field(description="short: at most 600 tokens; full: all")] = "short"


def schema() -> dict[str, object]:
    """Return the schema of a bucket's page (``GET /v1/buckets/ID``)."""
    return TypeAdapter(Described).json_schema(mode="serialization")


async def call(asked: Asked, desk: Desk, _progress: Progress) -> Answer:
    """Answer from the corpus."""
    try:
        page = look_up(desk.triage.corpus, asked.id)
    except UnknownIdError as error:
        raise CannotError(
            str(error).replace("vllm-triage rules lists them", "the resource vllm-triage://buckets lists them")
        ) from None
    if asked.detail == "full":
        return Answer(text_of(page), data_of(page))
    return _short(page)


def text_of(page: Page) -> str:
    """Return all that is known as text."""
    return "\n".join(
        [*_head(page.bucket, 10_000), *(line for cause in page.bucket.causes for line in _cause(page.bucket, cause))]
    )


def data_of(page: Page) -> dict[str, object]:
    """Return all that is known as the HTTP API shows it."""
    return {**page_of(page.bucket), "rules": [rule_summary(rule) for rule in page.rules]}


def _short(page: Page) -> Answer:
    """Return the whole page where it fits, else a bucket's causes by their titles, or a cause's first fixes."""
    whole = Answer(text_of(page), {**data_of(page), "rules": []})
    if max(tokens(whole.text), tokens(compact(whole.data))) <= SHORT:
        return whole
    causes = page.bucket.causes
    for words, most in ((400, len(causes)), (200, 12), (100, 6)):
        lines = [*_head(page.bucket, words)]
        told: dict[str, object] = {}
        for cause in causes[:most]:
            # Fixes with conditions are for some logs alone.
            usual = next((fix for fix in cause.fixes if not fix.when and not fix.mentions), None)
            fix = cut(_plain(usual.title), 90) if usual else ""
            lines.append(f"{page.bucket.id}/{cause.id}: {_plain(cause.title)}" + (f". Usual fix: {fix}" if fix else ""))
            told[cause.id] = {"title": _plain(cause.title), "fix": [{"title": fix}] if fix else []}
        if len(causes) == 1:
            lines = _within([*_head(page.bucket, words), *_cause(page.bucket, causes[0])], SHORT - tokens(MORE) - 1)
        bucket = page.bucket
        data: dict[str, object] = {
            "id": bucket.id, "title": bucket.title, "meaning": cut(bucket.meaning, words), "causes": told, "rules": [],
        }  # fmt: skip
        text = "\n".join([*lines, MORE])
        if max(tokens(text), tokens(compact(data))) <= SHORT:
            break
    return Answer(text, data)


def _within(lines: list[str], budget: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if tokens("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return kept


def _head(bucket: Bucket, words: int) -> list[str]:
    return [f"{bucket.id}: {bucket.title}", cut(bucket.meaning, words)]


def _cause(bucket: Bucket, cause: Cause) -> list[str]:
    lines = [f"{bucket.id}/{cause.id}: {_plain(cause.title)}", sentences(cause.summary, {})]
    lines += [
        f"{label}: {_plain(text)}" for label, text in (("Confirm", cause.confirm), ("Refute", cause.refute)) if text
    ]
    for number, fix in enumerate(cause.fixes, 1):
        change = f": {_plain(fix.change)}" if fix.change != fix.title else ""
        versions = f" [vLLM {fix.versions}]" if fix.versions else ""
        lines.append(f"{number}. {_plain(fix.title)}{change} ({sentences(fix.why, {})}){versions}")
    return [line for line in lines if line]


def _plain(template: str) -> str:
    return fill(template, {})[0]
