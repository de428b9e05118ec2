"""The corrected command for a shell."""

from __future__ import annotations

from collections.abc import Mapping

from .start import Start
from .words import Word, join


def shell(start: Start, facts: Mapping[str, object]) -> str:
    """Return one line to paste: the command as it was run, or ``vllm serve …`` where it stood in a manifest."""
    del facts
    return join(shell_words(start))


def shell_words(start: Start) -> list[Word]:
    """Return the command's words; of a manifest, or of arguments alone, as ``vllm serve`` takes them."""
    if start.manifest is None and (start.before or start.inner is not None):
        return start.words()
    assigned = []
    for name, value in start.variables():
        word = Word(f"{name}={value.value}")
        assigned.append(Word(word.value, f'{name}="{value.value}"') if value.expands else word)
    model = start.model()
    words = [*assigned, Word("vllm"), Word("serve"), *([model] if model is not None else [])]
    return words + [word for part in start.others() for word in part.words]
