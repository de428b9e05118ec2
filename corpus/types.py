"""What the engine knows, as classes: a rule as it is matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regex import Pattern

try:
    # The C half alone: the Python half of pickle takes longer to import than the whole corpus to load.
    from _pickle import loads
except ImportError:  # another Python than CPython
    from pickle import loads


class Rule:
    """One rule as the engine uses it. Slots by hand: a thousand are made at every start.

    Args:
        row: The values in the order of ``compiler.RULE_KEYS``.
    """

    __slots__ = (
        "bucket",
        "cause",
        "compiled",
        "continues",
        "exception",
        "frames",
        "frequent",
        "id",
        "in_code",
        "innermost",
        "levels",
        "literals",
        "message",
        "needs",
        "not_frames",
        "pattern",
        "reader",
        "ready",
        "requires",
        "role",
        "scope",
        "source",
        "speaker",
        "stage",
        "stages",
        "start",
        "strength",
        "unless",
        "versions",
    )  # fmt: skip

    id: str
    role: str
    cause: str
    strength: str
    pattern: str
    literals: list[str]
    exception: str
    message: str
    frames: str
    innermost: str
    not_frames: str
    levels: list[str]
    stages: list[str]
    requires: list[str]
    unless: list[str]
    scope: str
    stage: str
    start: str
    reader: str
    continues: str
    speaker: str
    in_code: bool
    frequent: bool
    source: str
    versions: str
    needs: dict[str, list[str]]
    bucket: str
    compiled: dict[str, Pattern[str]]
    ready: dict[str, bytes]
    """Compiled expressions by their text, shared by all rules."""

    def __init__(self, row: list[object]) -> None:
        (self.id, self.role, self.cause, self.strength, self.pattern, self.literals, self.exception, self.message,
         self.frames, self.innermost, self.not_frames, self.levels, self.stages, self.requires, self.unless, self.scope,
         self.stage, self.start, self.reader, self.continues, self.speaker, self.in_code, self.frequent, self.source, self.versions, self.needs) = row  # type: ignore[assignment]  # fmt: skip
        self.bucket = self.id.partition("/")[0]
        self.compiled = {}
        self.ready = {}

    def expression(self, name: str) -> Pattern[str]:
        """Return the compiled expression of the field ``name``, made on first use."""
        found = self.compiled.get(name)
        if found is None:
            text: str = getattr(self, name)
            stored = self.ready.get(text)
            if stored is not None:
                found = loads(stored)  # noqa: S301 - made from our own rules
            else:
                import regex

                found = regex.compile(text)
            self.compiled[name] = found
        return found

    @property
    def specific(self) -> bool:
        """Whether the rule asks for more evidence than its own words."""
        return bool(self.frames or self.innermost or self.stages or self.requires or self.not_frames)
