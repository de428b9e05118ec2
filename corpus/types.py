"""What is known, as classes: buckets, their causes, the rules that prove these, and the fixes. One class for each idea.

A rule file (schema.py) and the compiled corpus (store.py) fill the same classes. The names of the keys in a rule file are
those of the attributes, lists in the singular: ``[[cause.fix]]`` fills ``Cause.fixes``.
"""

from __future__ import annotations

from marshal import loads

from .records import Mutable, field, record
from .regex_engine import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from regex import Pattern

    from .actions import Action, Packed
    from .kinds import Finding, Kind, Level, Moves, Role, Safety, Scope, Side, Stage, Strength, Tag

UNNAMED = ("unknown", "no_failure")
"""Buckets that name no failure."""
NETS = ("weak", "guess")
"""Strengths of rules that catch what no other one knows: what they name is a kind of failure rather than a cause."""

EXPRESSIONS = ("pattern", "exception", "message", "frames", "innermost", "not_frames")
"""The fields of a rule that are regular expressions."""


@record(slots=True)
class Fix(Mutable):
    """One recommended change. Texts are templates (``{name|fallback}``)."""

    title: str
    kind: Kind
    does: tuple[Packed, ...]
    """Its actions, packed (``actions``); in the file their text form, under the key ``change`` (action_text.py)."""
    why: str
    cost: str
    verify: str = ""
    option: str = ""
    value: str = ""
    safety: Safety = "safe"
    versions: str = ""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault is gone by vLLM's own sources."""
    restart: bool | None = None
    """Whether the server must be started anew for it; None: not said in the file, worked out (effort.py)."""
    root: bool | None = None
    """Whether it needs the superuser, or access to the host; None: likewise."""
    when: tuple[str, ...] = ()
    """Conditions on the log's facts, all of which must hold."""
    mentions: str = ""
    """Regular expression, whatever the case, that the error, its stack, the lines around it or the arguments must hold."""
    unless_mentions: str = ""
    """The same, of which they must hold nothing."""
    first_when: tuple[str, ...] = ()
    """Conditions that, where the log shows all of them, put the fix before those that stand before it in the file."""
    first_mentions: str = ""
    """The same as a regular expression, looked for where ``mentions`` is."""
    moves: Moves = ""
    """For a value with an order: whether the fix raises or lowers it. One that would do neither is not shown."""
    source: str = ""
    tags: tuple[Tag, ...] = ()
    """What kind of advice it is, where that does not follow from its actions."""
    remark: str = ""
    """For people, behind what they paste: ``# on every node``. In the file the end of ``change``."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """What it does."""
        from .actions import unpacked

        return unpacked(self.does)

    @property
    def change(self) -> str:
        """What it does as people read and paste it."""
        from .actions import written

        return written(self.actions) + self.remark


@record(slots=True)
class Rule(Mutable):
    """A line rule (``pattern``), or a traceback rule (``exception``, ``message``, ``frames``, ``innermost``)."""

    id: str
    """With the bucket in front: ``kv_cache_oom/max-seq-len-v1``. In the file without it."""
    role: Role
    cause: str = ""
    """Id of a cause of the same bucket; "" for a rule that leads to none."""
    strength: Strength = "strong"
    pattern: str = ""
    literals: tuple[str, ...] = ()
    """Strings of which every line that matches holds one."""
    exception: str = ""
    message: str = ""
    frames: str = ""
    innermost: str = ""
    not_frames: str = ""
    levels: tuple[Level, ...] = ()
    """Log levels on which a line rule may fire; empty: on all."""
    stages: tuple[Stage, ...] = ()
    requires: tuple[str, ...] = ()
    """Full ids of rules, of which one must have fired."""
    unless: tuple[str, ...] = ()
    """Full ids of rules, of which none may have fired."""
    confirmed_by: tuple[str, ...] = ()
    refuted_by: tuple[str, ...] = ()
    """Those of its cause: what in the same log speaks for it, or against it."""
    scope: Scope = "any"
    stage: Stage | Literal[""] = ""
    start: str = ""
    """What begins with such a line (``fact_keys.STARTS``)."""
    reader: str = ""
    """How a fact's line is read, where its captures are not the facts (``fact_keys.READERS``)."""
    continues: str = ""
    """What tells that it goes on over the next lines (``fact_keys.CONTINUATIONS``)."""
    speaker: str = ""
    """Who must have said it (``fact_keys.SPEAKERS``)."""
    in_code: bool = False
    """Whether it counts where a traceback shows source code."""
    frequent: bool = False
    source: str = ""
    versions: str = ""
    note: str = ""
    match: tuple[str, ...] = ()
    """Log texts on which the rule fires. In the rule file alone, as ``reject`` and ``note``: the compiled corpus has none."""
    reject: tuple[str, ...] = ()
    """Log texts on which it must not. Those of other buckets' rules, healthy logs and near misses are tried anyway."""
    overlaps: tuple[str, ...] = ()
    """Buckets on whose examples it fires as well, for its words are theirs too."""
    line: int = field(default=0, init=False)
    """Line of the rule file on which it stands; 0 where that is not known."""
    bucket: str = field(init=False)
    needs: dict[str, list[str]] = field(init=False)
    """For each expression on exceptions the strings of which a text must hold one; for ``names``, all class names."""
    ready: dict[str, bytes] = field(init=False)
    """Compiled expressions by their text, shared by all rules."""
    compiled: dict[str, Pattern[str]] = field(init=False)

    @property
    def place_alone(self) -> bool:
        """Whether it knows where an exception was raised, and not what it said: no words, or those that it must not have."""
        words = self.pattern or self.message.removeprefix("^")
        return self.strength == "guess" or (self.strength == "weak" and (not words or words.startswith("(?!")))

    def prepare(self, needs: dict[str, list[str]], ready: dict[str, bytes]) -> None:
        """Make a rule that was read ready for matching."""
        self.bucket = self.id.partition("/")[0]
        self.needs = needs
        self.ready = ready
        self.compiled = {}

    def expression(self, name: str) -> Pattern[str]:
        """Return the compiled expression of the field ``name``, made on first use."""
        found = self.compiled.get(name)
        if found is None:
            text: str = getattr(self, name)
            stored = self.ready.get(text)
            if stored is not None:
                found = engine().compile(*loads(stored))  # noqa: S302 - made from our own rules
            else:
                import regex

                found = regex.compile(text)
            self.compiled[name] = found
        return found

    @property
    def name(self) -> str:
        """The id within the bucket, as it stands in the file."""
        return self.id.partition("/")[2]

    @property
    def specific(self) -> bool:
        """Whether the rule asks for more evidence than its own words."""
        return bool(self.frames or self.innermost or self.stages or self.requires or self.not_frames)


@record(slots=True)
class Cause(Mutable):
    """A finer id within a bucket, with the words that a person reads, the rules that prove it, and the fixes, best first."""

    id: str
    title: str
    summary: str
    confirm: str = ""
    refute: str = ""
    confirmed_by: tuple[str, ...] = ()
    """Full ids of rules, or conditions on facts, captures and arguments, any of which shows that it is this cause."""
    refuted_by: tuple[str, ...] = ()
    """The same that show another cause: it loses, or is told with less confidence where nothing else is found."""
    rules: tuple[Rule, ...] = ()
    """The rules that stand within it; ``Bucket.rules`` has these as well."""
    fixes: tuple[Fix, ...] = ()
    concluded_from: Finding | Literal[""] = ""
    """What the engine finds without a rule, and answers with this cause."""
    also: tuple[str, ...] = ()
    """Buckets that are as true of it, in another reader's eyes."""
    line: int = field(default=0, init=False)
    """Line of the rule file on which it stands; 0 where that is not known."""


@record(slots=True, kw_only=True)
class Traits(Mutable):
    """What is peculiar to a bucket and counts in decisions: keys of its file, at hand without its words."""

    waits: bool = False
    """Whether its symptoms say that something waits: over as soon as requests are answered again."""
    strangers_below: int = 0
    """How often its symptoms must be said at a server that came up to be more than probes and strangers' requests."""
    wrapper_rank: int = 0
    """Where wrappers are all that a log shows: a bucket of a higher rank says less, and answers only without one of a lower."""
    yields: float = 0.0
    """From 0 to 1: how far its words give way to another bucket's in the same log, for they are said about, or after, a
    fault that others name (text model)."""
    effect: bool = False
    """Whether it tells what is felt of an engine that stands still, or of a server that crawls, and not why."""
    side: Side = "server"
    """Who carries out its steps: who runs the server, or who sends the requests."""


@record(slots=True)
class Bucket(Traits):
    """One kind of failure: one file of ``corpus/buckets/``."""

    id: str
    title: str
    meaning: str
    confusers: tuple[str, ...] = ()
    """Excerpts that look like this bucket and are not. In the rule file alone."""
    causes: tuple[Cause, ...] = ()
    rules: tuple[Rule, ...] = ()
    """All rules: those within the causes in the order of the file, then those of no cause."""

    def cause(self, name: str) -> Cause | None:
        """Return the cause with this id; None where there is none."""
        return next((cause for cause in self.causes if cause.id == name), None)
