"""The story in at most three sentences: what people read before they read lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..lines.prefix import split_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Evidence, Story

MOST = 3
"""Sentences."""
QUOTED = 90
"""Characters of a log line that a sentence quotes."""


def tell(
    story: Story, bucket: str, deciding: int, symptoms: Sequence[int], facts: Mapping[str, object], head: str = ""
) -> tuple[str, ...]:
    """Return the sentences, the most telling first.

    Args:
        story: Without them.
        bucket: Of the answer.
        deciding: Line that decided; 0 for none.
        symptoms: Lines that only follow from it.
        facts: What the log tells of the server.
        head: The situation, where it matters.
    """
    told = [head, _which(story)]
    if bucket == "no_failure":
        told += [_capacity(story, facts), _latent(story)]
    else:
        told += [_hit(story), _died(story, deciding, symptoms)]
    told.append(_overcome(story))
    return tuple(sentence for sentence in told if sentence)[:MOST]


def _which(story: Story) -> str:
    if story.starts < 2:
        return ""
    failed = f"; {story.starts_failed} did not come up" if story.starts_failed else ""
    return f"The log holds {story.starts} starts{failed}; this is about start {story.start}, lines {story.first} to {story.last}."


def _hit(story: Story) -> str:
    if story.scope != "requests":
        return ""
    count = "one was logged" if story.requests_failed < 2 else f"{story.requests_failed} were logged"
    return f"It concerns single requests ({count}); the server itself went on."


def _died(story: Story, deciding: int, symptoms: Sequence[int]) -> str:
    first = story.died_first
    if first is None or not deciding:
        return ""
    who = f" in {first.process}" if first.process else ""
    if first.line < deciding:
        return f"The first error is on line {first.line}{who}: {_quoted(first)}."
    after = [line for line in symptoms if line > first.line]
    if not after:
        return ""
    named = f"line {after[-1]} follows" if len(after) == 1 else f"{len(after)} more, up to line {after[-1]}, follow"
    return f"The first error is on line {first.line}{who}; {named} from it."


def _capacity(story: Story, facts: Mapping[str, object]) -> str:
    tokens, concurrency, length = (facts.get(name) for name in ("kv_cache_tokens", "max_concurrency", "max_model_len"))
    if not isinstance(tokens, int) or story.scope == "start":
        return ""
    sentence = f"The KV cache holds {tokens:,} tokens"
    if isinstance(length, int) and length > 0:
        times = concurrency if isinstance(concurrency, float) else tokens / length
        sentence += f": {times:.1f} requests of the full context of {length:,}" if times >= 1 else ""
    return f"{sentence}."


def _latent(story: Story) -> str:
    return f"To keep an eye on: {'; '.join(story.latent)}." if story.latent else ""


def _overcome(story: Story) -> str:
    if not story.overcome:
        return ""
    first, more = story.overcome[0], len(story.overcome) - 1
    others = f" (and {more} more)" if more else ""
    return f"Overcome, not the cause: line {first.line}{others}, {_quoted(first)}."


def _quoted(item: Evidence) -> str:
    text = split_line(item.line, item.text).text.strip().rstrip(".")
    return f"'{text if len(text) <= QUOTED else text[:QUOTED].rstrip() + ' …'}'"
