"""The typed form of the answer (pydantic), and the one call that most users need."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..api import shared
from .contract import SCHEMA_VERSION, as_dict
from .types import Diagnosis


class _Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class EvidenceLine(_Model):
    """A line of the log that proves something."""

    line: int = Field(description="1-based line number in the raw input")
    text: str
    process: str = ""
    count: int = Field(1, description="how often it was printed")


class ContextLine(_Model):
    """A line near the deciding one."""

    line: int = Field(description="1-based line number in the raw input")
    text: str
    process: str = ""


class Alternative(_Model):
    """Another bucket that the log may belong to."""

    bucket: str
    confidence: float = Field(ge=0, le=1)


class Stage(_Model):
    """A start-up stage that the log shows."""

    stage: str
    line: int
    time: str = ""
    seconds: float | None = None


class Startup(_Model):
    """How far the last server start got."""

    reached: str
    stages: list[Stage] = []


class RankedFix(_Model):
    """One recommended change, ready to paste."""

    rank: int
    title: str
    kind: Literal["flag", "env", "command", "step"]
    option: str = ""
    value: str = ""
    change: str
    why: str
    cost: str
    safety: str = "safe"
    restart: bool = Field(False, description="the server must be started anew for it")
    root: bool = Field(False, description="needs the superuser, or access to the host")
    verify: str = ""
    versions: str = ""
    fixed_in: str = Field(
        "", description="for an upgrade: the release from which the fault, or the deciding words, are gone"
    )
    source: str = ""


class Corrected(_Model):
    """The start command with the first fix that can be pasted, in several forms."""

    shell: str
    docker: str
    compose: str
    kubernetes: str
    helm: str
    python: str
    diff: str = Field(description="unified diff against what was run, one option a line")
    fix: int = Field(description="rank of the fix that was applied")
    basis: Literal["command", "arguments", "configuration"] = Field(description="what the command was made of")


class Input(_Model):
    """How much was read."""

    lines: int
    bytes: int = Field(description="before unpacking or decoding")


class Report(_Model):
    """The answer: root cause, proof, fixes. The same fields as ``vllm-triage --format json``."""

    schema_version: str = SCHEMA_VERSION
    bucket: str
    cause: str
    confidence: float = Field(ge=0, le=1)
    decided_by: Literal["rule", "model", "stage", "none"]
    title: str
    summary: str = ""
    evidence: list[EvidenceLine] = []
    symptoms: list[EvidenceLine] = []
    chain: list[EvidenceLine] = []
    context: list[ContextLine] = Field([], description="lines around the deciding one, that one included")
    alternatives: list[Alternative] = []
    startup: Startup
    facts: dict[str, Any] = {}
    fixes: list[RankedFix] = []
    corrected_command: str = ""
    corrected: Corrected | None = None
    incidents: int = 1
    confirm: str = ""
    refute: str = ""
    notes: list[str] = []
    input: Input

    @property
    def failed(self) -> bool:
        """Whether a failure was found."""
        return self.bucket != "no_failure"

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Report:
        """Build the report of a diagnosis."""
        return cls.model_validate(as_dict(diagnosis))


def triage(source: str | bytes | os.PathLike[str] | IO[bytes] | IO[str] | Iterable[str] | Iterable[bytes]) -> Report:
    """Read a vLLM log and return the root cause, the lines that prove it, and ranked fixes.

    Args:
        source: The log itself (``str``, ``bytes``), a path object, an open file, or an iterable of lines. gzip and zstd
            are unpacked.

    Raises:
        InputError: The source cannot be read.

    Example:
        >>> report = triage("ValueError: No available memory for the cache blocks.")
        >>> report.bucket
        'kv_cache_oom'
    """
    return Report.of(shared().diagnose(source))
