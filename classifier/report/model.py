"""The answer: one tree of frozen dataclasses, which everything shows (docs/output.md).

It is built once (build.py), masked and cut there, so that whoever shows it cannot leak. JSON is the tree as it stands, field
by field; the JSON Schema and the way back from JSON are made of it where they are asked for (schema.py).
"""

from __future__ import annotations

from ...corpus.records import Record, field, fields_of, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal, Self, TypeAlias

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from .known_facts import KnownFacts
    from .pack.model import Pack

    Facts: TypeAlias = KnownFacts
else:
    # For whoever reads it back: any name may be there.
    Facts = dict[str, object]

SCHEMA_VERSION = "1.3"
"""Raised in its second number when fields are added, in its first when one changes or goes."""

INNER = {"exclude": True}
"""Marks a field that is for whoever shows a report here and now: it is in no JSON."""
OPTIONAL = {"optional": True}
"""Marks a field that is not in the JSON where it says nothing."""
SHARE = {"ge": 0, "le": 1}
"""Marks a number from 0 to 1."""


class Node(Record):
    """A part of a report."""

    __slots__ = ()
    __pydantic_core_schema__: ClassVar[CoreSchema | None]
    __pydantic_config__: ClassVar[dict[str, bool]] = {"use_attribute_docstrings": True}
    """The text below a field is its description in the JSON Schema."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return pydantic's schema of a part, made once: it keeps those of its own classes, and reads sources for others."""
        if "__pydantic_core_schema__" not in cls.__dict__:
            from pydantic import TypeAdapter

            cls.__pydantic_core_schema__ = None  # while it is made: a part may hold parts of its own kind
            cls.__pydantic_core_schema__ = TypeAdapter(cls).core_schema
        return handler(source)

    def to_dict(self) -> dict[str, object]:
        """Return plain values ready for JSON, in the order of the fields; optional ones that say nothing are left out."""
        return {
            name: _plain(value)
            for name, optional in _names(self.__class__).items()
            if (value := getattr(self, name)) not in ("", None, ()) or not optional
        }


_NAMES: dict[type[Node], dict[str, bool]] = {}


def _names(kind: type[Node]) -> dict[str, bool]:
    """Return the fields of a class that are in the JSON, and whether each is optional there."""
    if kind not in _NAMES:
        _NAMES[kind] = {
            own.name: "optional" in own.metadata for own in fields_of(kind) if "exclude" not in own.metadata
        }
    return _NAMES[kind]


def _plain(value: object) -> object:
    if isinstance(value, Node):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


@record(frozen=True, slots=True, kw_only=True)
class Evidence(Node):
    """A line of the log that proves something."""

    line: int
    """1-based line number in the raw input"""
    text: str
    process: str = ""
    count: int = 1
    """how often it was printed"""
    mark: bool = field(default=False, compare=False, metadata=INNER)
    """Whether the text is our own: the line only shows how far the server got."""


@record(frozen=True, slots=True, kw_only=True)
class ContextLine(Node):
    """A line near the deciding one."""

    line: int
    """1-based line number in the raw input"""
    text: str
    process: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Alternative(Node):
    """Another bucket that the log may belong to."""

    bucket: str
    confidence: float = field(metadata=SHARE)


@record(frozen=True, slots=True, kw_only=True)
class Stage(Node):
    """A start-up stage that the log shows."""

    stage: str
    line: int
    time: str = field(default="", metadata=OPTIONAL)
    seconds: float | None = field(default=None, metadata=OPTIONAL)


@record(frozen=True, slots=True, kw_only=True)
class Startup(Node):
    """How far the last server start got."""

    reached: str
    stages: tuple[Stage, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Action(Node):
    """One thing that a fix does: its kind, and of the other fields those that the kind has (docs/decisions/0001-actions.md)."""

    do: Literal[
        "set_option", "drop_option", "drop_words", "set_variable", "drop_variable", "install", "uninstall", "use_image", "serve", "run",
        "expand", "change_request", "wait", "look", "step",
    ]  # fmt: skip
    name: str = field(default="", metadata=OPTIONAL)
    """of an option, with the keys of a JSON value behind dots, or of a variable"""
    values: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """of an option; a switch has none"""
    value: str = field(default="", metadata=OPTIONAL)
    """of a variable"""
    negative: bool | None = field(default=None, metadata=OPTIONAL)
    """written `--no-…`"""
    joined: bool | None = field(default=None, metadata=OPTIONAL)
    """written `--name=value`"""
    open: bool | None = field(default=None, metadata=OPTIONAL)
    """a person has to fill something in"""
    export: bool | None = field(default=None, metadata=OPTIONAL)
    given: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """the words to take out, as they stand in the start command"""
    words: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    package: str = field(default="", metadata=OPTIONAL)
    spec: str = field(default="", metadata=OPTIONAL)
    """versions of a package; whichever the index has where there is none"""
    upgrade: bool | None = field(default=None, metadata=OPTIONAL)
    by: str = field(default="", metadata=OPTIONAL)
    """the installer where it is not pip"""
    flags: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    image: str = field(default="", metadata=OPTIONAL)
    model: str = field(default="", metadata=OPTIONAL)
    """what is served where it is not the start command's own"""
    output: str = field(default="", metadata=OPTIONAL)
    command: str = field(default="", metadata=OPTIONAL)
    shell: str = field(default="", metadata=OPTIONAL)
    text: str = field(default="", metadata=OPTIONAL)
    names: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """options that the text mentions"""
    slot: str = field(default="", metadata=OPTIONAL)
    drop: bool | None = field(default=None, metadata=OPTIONAL)


@record(frozen=True, slots=True, kw_only=True)
class Prediction(Node):
    """What the log shows if a fix changes what is at fault."""

    condition: str
    seen: bool | None = None
    """null where the log does not tell"""


@record(frozen=True, slots=True, kw_only=True)
class Effect(Node):
    """What a fix changes, needs, predicts and costs, as data."""

    changes: tuple[str, ...]
    """quantities and parts: `memory.kv_cache_needed`, `kernel.attention`, `transport.hub`, `package.vllm`, `request` …"""
    needs: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """conditions on facts that must hold"""
    predicts: tuple[Prediction, ...] = field(default=(), metadata=OPTIONAL)
    exists: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """releases of vLLM that have each option and variable that it sets"""
    costs: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """of `speed`, `quality`, `security`, `capacity`"""
    downloads: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    """packages and images"""
    restart_seconds: float | None = field(default=None, metadata=OPTIONAL)
    """how long the start took as far as it got: a new one takes that at least"""
    kv_cache_gib: float | None = field(default=None, metadata=OPTIONAL)
    """KV cache that there is then, by the ledger of `memory`"""
    kv_cache_needed_gib: float | None = field(default=None, metadata=OPTIONAL)
    """what one request of the full context needs of it then"""

    @property
    def told(self) -> str:
        """The same in a line for people."""
        parts = [f"changes {', '.join(self.changes)}"]
        if self.kv_cache_gib is not None and self.kv_cache_needed_gib is not None:
            parts.append(f"KV cache {self.kv_cache_gib:g} GiB for {self.kv_cache_needed_gib:g} GiB")
        parts += [f"needs {need}" for need in self.needs]
        parts += [f"at odds with the log: not {each.condition}" for each in self.predicts if each.seen is False]
        parts += [f"downloads {', '.join(self.downloads)}"] if self.downloads else []
        parts += [f"{self.restart_seconds:.0f} s or more to start"] if self.restart_seconds else []
        parts += [f"at the cost of {', '.join(self.costs)}"] if self.costs else []
        return "; ".join([*parts, *(f"exists: {each}" for each in self.exists)])


@record(frozen=True, slots=True, kw_only=True)
class Fix(Node):
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
    restart: bool = False
    """the server must be started anew for it"""
    root: bool = False
    """needs the superuser, or access to the host"""
    verify: str = ""
    versions: str = ""
    fixed_in: str = ""
    """for an upgrade: the release from which the fault, or the deciding words, are gone"""
    source: str = ""
    confidence: float | None = field(default=None, metadata=OPTIONAL)
    """how often such advice was right on logs that nobody had read (docs/advice.md); the report's own is that of the cause"""
    proposed_by: str = field(default="", metadata=OPTIONAL)
    """who proposes it where no rule does: the name of a model that was asked (docs/ask.md)"""
    actions: tuple[Action, ...] = ()
    """what it does, as data; `change` is written from it"""
    effect: Effect | None = field(default=None, metadata=OPTIONAL)

    @property
    def pasted(self) -> bool:
        """Whether ``change`` is to be pasted; a step is to be read."""
        return self.kind != "step" and bool(self.change)

    @property
    def costs(self) -> str:
        """What it costs; empty where it costs nothing."""
        return "" if self.cost.lower().rstrip(".") in ("", "none") else self.cost


@record(frozen=True, slots=True, kw_only=True)
class Withheld(Node):
    """A fix that is known for the cause and cannot help here."""

    title: str
    reason: str
    proposed_by: str = field(default="", metadata=OPTIONAL)
    """who proposed it, where no rule did"""


@record(frozen=True, slots=True, kw_only=True)
class Proposed(Node):
    """What a model that was asked concludes, as far as it holds; its fixes stand among the others (docs/ask.md)."""

    source: str
    """the name of the model"""
    cause: str
    """in its words; empty where it says that the log does not tell, or where nothing of it holds"""
    confidence: float = field(metadata=SHARE)
    """by its own word"""
    share: float = field(metadata=SHARE)
    """how often the first fix of such proposals was right"""
    evidence: tuple[Evidence, ...] = ()
    """the lines that prove it by its word, as they stand in the log"""
    agrees: bool | None = None
    """whether it names the cause of the rules; null where one of both names none"""
    against: tuple[int, ...] = field(default=(), metadata=OPTIONAL)
    """the lines of the rules, where it names another cause than they do"""
    first: bool = False
    """whether its fix stands before those of the rules, by how often either was right"""
    missing: str = field(default="", metadata=OPTIONAL)
    """what would have to be seen, where the log does not tell"""
    problem: str = field(default="", metadata=OPTIONAL)
    """why nothing of it holds"""

    @property
    def told(self) -> str:
        """What it concludes, and how that stands to the rules, in a sentence."""
        if self.problem:
            return f"{self.source} was asked; its answer does not hold: {self.problem}."
        lines = ", ".join(str(item.line) for item in self.evidence)
        rules = f" against {', '.join(map(str, self.against))}" if self.against else ""
        place = f" (line{'s' if len(self.evidence) > 1 else ''} {lines}{rules})" if lines else ""
        if not self.cause:
            return f"{self.source} does not find the cause in the log" + (f": {self.missing}" if self.missing else ".")
        sees = {True: "names the same cause", False: "names another cause than the rules", None: "names the cause"}
        return f"{self.source} {sees[self.agrees]}{place}: {self.cause}"


@record(frozen=True, slots=True, kw_only=True)
class Corrected(Node):
    """The start command with the first fix that can be pasted, in several forms."""

    shell: str
    docker: str
    compose: str
    kubernetes: str
    helm: str
    python: str
    diff: str
    """unified diff against what was run, one option a line"""
    fix: int
    """rank of the fix that was applied"""
    basis: Literal["command", "arguments", "configuration"]
    """what the command was made of"""


@record(frozen=True, slots=True, kw_only=True)
class Way(Node):
    """A change by which one request of some context fits, by the ledger's arithmetic."""

    change: str
    """options to paste"""
    context: int
    """tokens that one request may have then"""
    yields: str


@record(frozen=True, slots=True, kw_only=True)
class Memory(Node):
    """Where the memory of one GPU goes, in GiB, by the log's own numbers: ``total × share = all the others``."""

    line: str
    """the sum as one line for people"""
    share: float
    weights_gib: float
    kv_cache_gib: float
    total_gib: float | None = field(default=None, metadata=OPTIONAL)
    budget_gib: float | None = field(default=None, metadata=OPTIONAL)
    """share of the total"""
    activations_gib: float | None = field(default=None, metadata=OPTIONAL)
    others_gib: float | None = field(default=None, metadata=OPTIONAL)
    rest_gib: float | None = field(default=None, metadata=OPTIONAL)
    """activations and others together, worked out, where the log does not tell them apart"""
    graphs_gib: float | None = field(default=None, metadata=OPTIONAL)
    """CUDA graphs: within the budget from 0.20 on, before beside it"""
    kv_cache_needed_gib: float | None = field(default=None, metadata=OPTIONAL)
    """for one request of the full context"""
    missing: tuple[str, ...] = ()
    """facts that the log does not tell"""
    ways: tuple[Way, ...] = ()
    """what makes a request fit that does not, the longest context first"""


@record(frozen=True, slots=True, kw_only=True)
class Input(Node):
    """How much was read."""

    lines: int
    bytes: int
    """before unpacking or decoding"""


@record(frozen=True, slots=True, kw_only=True)
class Filtered(Node):
    """Why a failure that was found does not count."""

    by: Literal["ignore", "only"]
    """the question's filter that leaves it out"""
    ids: tuple[str, ...]
    """what `ignore` names it by; what `only` asks for instead"""


@record(frozen=True, slots=True, kw_only=True)
class Story(Node):
    """What happened, told apart from what is wrong."""

    scope: Literal["start", "server", "requests"]
    """what the answer is about: a start that did not come up (or has not yet), a server that had come up, or single requests of
    a server that went on"""
    start: int = 1
    """which of the server's starts in the log, from 1"""
    starts: int = 1
    """how many starts of that server the log holds"""
    first: int
    """line on which that start begins"""
    last: int
    """its last line"""
    starts_failed: int = 0
    """how many starts did not come up, that one included, later ones left out"""
    requests_failed: int = 0
    """how often an error that concerns one request was told of"""
    died_first: Evidence | None = None
    """the first line that shows something fail for good; what follows it are consequences, the deciding line perhaps too"""
    overcome: tuple[Evidence, ...] = ()
    """errors that were history before the end: the server came up, or went on, after them"""
    latent: tuple[str, ...] = ()
    """of a server without a failure: what may go wrong later"""
    told: tuple[str, ...] = ()
    """the same in at most three sentences"""


REFUSED = "no_failure/requests_refused"


@record(frozen=True, slots=True, kw_only=True)
class Report(Node):
    """The answer: root cause, proof, fixes. The same fields as ``vllm-triage --format json``."""

    schema_version: str = SCHEMA_VERSION
    bucket: str
    cause: str
    confidence: float = field(metadata=SHARE)
    decided_by: Literal["rule", "model", "stage", "none"]
    title: str
    summary: str = ""
    evidence: tuple[Evidence, ...] = ()
    symptoms: tuple[Evidence, ...] = ()
    chain: tuple[Evidence, ...] = ()
    context: tuple[ContextLine, ...] = ()
    """lines around the deciding one, that one included"""
    alternatives: tuple[Alternative, ...] = ()
    startup: Startup
    facts: Facts = field(default_factory=dict)  # type: ignore[assignment]
    memory: Memory | None = field(default=None, metadata=OPTIONAL)
    """where the memory of one GPU goes; absent where the log does not tell enough, or its figures contradict each other"""
    fixes: tuple[Fix, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    """fixes of the cause that were left out, each with the reason"""
    proposals: tuple[Proposed, ...] = field(default=(), metadata=OPTIONAL)
    """what models that were asked conclude; absent where none was"""
    corrected_command: str = ""
    corrected: Corrected | None = None
    incidents: int = 1
    story: Story | None = None
    """what died first, what was overcome, how much was hit; null in reports of releases that did not tell"""
    confirm: str = ""
    refute: str = ""
    notes: tuple[str, ...] = ()
    input: Input
    filtered: Filtered | None = field(default=None, metadata=OPTIONAL)
    """where the answer is left out by the question's `ignore` or `only`; absent where it counts"""
    explanation: tuple[str, ...] = field(default=(), compare=False, metadata=INNER)
    """The candidates with their scores and reasons, best first."""
    rule: str = field(default="", compare=False, metadata=INNER)
    """Full id of the rule that decided; empty where none did."""
    strength: str = field(default="", compare=False, metadata=INNER)
    """That rule's strength; empty where none decided."""
    unread: tuple[Evidence, ...] = field(default=(), compare=False, metadata=INNER)
    """Exceptions besides the deciding one that stand, and whose words no rule reads."""

    kept: object = field(default=None, compare=False, metadata=INNER)
    """What packs are made of: text of the log (``Material``), or a large pack; nothing in a report that was read from JSON."""

    @property
    def failed(self) -> bool:
        """Whether a failure was found that counts: none that the question leaves out."""
        return self.bucket != "no_failure" and self.filtered is None

    @property
    def state(self) -> Literal["failed", "unknown", "well"]:
        """How it is shown: ``unknown`` as well where no failure was found, and requests were refused for a reason that is not told."""
        if not self.failed:
            return "unknown" if self.cause == REFUSED and self.filtered is None else "well"
        return "unknown" if self.bucket == "unknown" else "failed"

    def command_as(self, form: str) -> str:
        """Return the corrected start command in one of its forms (the texts of ``Corrected``); "" where there is none."""
        if form == "shell":
            return self.corrected_command
        return str(getattr(self.corrected, form)).rstrip("\n") if self.corrected is not None else ""

    def with_note(self, note: str) -> Self:
        """Return the report with one more note."""
        return replace(self, notes=(*self.notes, note))

    def pack(self, budget: int = 14_000, *, candidates: bool = True) -> Pack:
        """Return the evidence that a reader needs who concludes for himself: a person, an agent, a language model.

        Args:
            budget: Characters that its text may have, from 500 to 60,000; 2,000, 14,000 and 60,000 are sensible.
            candidates: Whether what rules propose, unchecked, is in it.

        Raises:
            InputError: The budget is out of bounds.
        """
        from .pack.choose import make_pack

        return make_pack(self, budget, candidates)

    def to_row(self) -> dict[str, str | int | float | bool]:
        """Return one flat row of plain values: ``pandas.DataFrame(report.to_row() for report in reports)``."""
        from .plain_text import as_row

        return as_row(self)

    def __str__(self) -> str:
        from .plain_text import as_text

        return as_text(self)

    def __repr__(self) -> str:
        place = f", line {self.evidence[0].line}" if self.evidence else ""
        count = len(self.fixes)
        return f"<Report {self.cause} {self.confidence:.0%}{place}, {count} fix{'es' * (count != 1)}>"

    def __hash__(self) -> int:
        # Facts are a table: what is equal has the same evidence, too.
        return hash((self.cause, self.confidence, self.evidence, self.fixes, self.input))

    def to_json(self) -> str:
        """Return the report as JSON, on one line; ``from_json`` is the way back."""
        import json

        return json.dumps(self.to_dict(), ensure_ascii=False, default=str)

    def _repr_html_(self) -> str:
        from .notebook import as_html

        return as_html(self)

    @classmethod
    def from_json(cls, data: str | bytes) -> Report:
        """Read a report from JSON, also one of another release: fields that are not known are left out.

        Raises:
            InputError: It is none.
        """
        from .schema import read

        return read(data)
