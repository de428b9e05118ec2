"""What the tests of the corrected command share: fixes, answers, and shell commands as hypothesis makes them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

from vllm_triage.classifier.command import corrected, corrected_command
from vllm_triage.classifier.fix import Fix

from ...fixes import made


def fix(change: str, kind: str = "flag", *, rank: int = 1, exact: bool = True, safety: str = "safe") -> Fix:
    """Return a fix that sets what ``change`` says."""
    return made(change, kind, rank=rank, safety=safety, whole=exact)


@dataclass(frozen=True)
class Answer:
    """What a start command becomes with the first of some fixes."""

    facts: dict[str, Any]
    fixes: tuple[Fix, ...]

    @property
    def corrected_command(self) -> str:
        """The command to paste."""
        return corrected_command(self.facts, self.fixes)

    @property
    def corrected(self) -> dict[str, Any] | None:
        """The command in all forms."""
        return corrected(self.corrected_command, self.facts, self.fixes)


def answer(command: str | None, *fixes: Fix, **facts: Any) -> Answer:
    """Return what a log with this start command is answered with, given these fixes."""
    return Answer({"command": command, **facts} if command is not None else facts, fixes)


def load_yaml(text: str) -> Any:
    """Read YAML with PyYAML."""
    return pytest.importorskip("yaml").safe_load(text)


def forms(command: str | None, *fixes: Fix, **facts: Any) -> dict[str, Any]:
    """Return the corrected command in all forms; there must be one."""
    made = answer(command, *fixes, **facts).corrected
    assert made is not None
    return made


# What a value may hold: everything that a shell, YAML or Python could take for something else.
TEXTS = st.text(
    st.sampled_from("abzAZ09 _-./:=,'\"\\$`{}[]()#&*!|>%@~^?;<\té€😀\u2028\x85\ufeff"), min_size=1, max_size=24
).filter(lambda text: not text.startswith("-"))

VALUES = {
    "--chat-template": TEXTS,
    "--tokenizer": TEXTS,
    "--download-dir": TEXTS,
    "--max-num-seqs": st.integers(1, 4096).map(str),
    "--gpu-memory-utilization": st.sampled_from(["0.5", "0.92"]),
    "--seed": st.integers(-5, 5).map(str),
    "--hf-overrides": st.sampled_from(['{"a": {"b": [1, "x\'y"]}}', '{"é": null}']),
}
"""Options with one value, and what it may be."""


@st.composite
def commands(draw: Any) -> list[str]:
    """Draw a start command as words, options spelled in all the ways that vLLM reads."""
    words = ["vllm", "serve", "acme/tiny-7b"]
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True)):
        value = draw(VALUES[name])
        spelled = draw(st.sampled_from([name, name.replace("-", "_").replace("__", "--", 1)]))
        words += [f"{spelled}={value}"] if draw(st.booleans()) else [spelled, value]
    words += draw(st.sampled_from([[], ["--enforce-eager"], ["--no-enable-prefix-caching"], ["-tp", "2"], ["-tp=2"]]))
    words += draw(st.sampled_from([[], ["--served-model-name", "a", "b c"], ["--lora-modules", "a=/l/a", "b=/l/b"]]))
    return words
