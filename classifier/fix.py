"""A fix on its way from a source to the report: typed actions with the reasons for them."""

from __future__ import annotations

from ..corpus.actions import (
    OWN,
    Action,
    DropOption,
    DropVariable,
    Install,
    Run,
    Serve,
    SetOption,
    SetVariable,
    written,
)  # fmt: skip
from ..corpus.records import Record, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Withheld = list[tuple[str, str]]
    """Titles of fixes that were left out, each with the reason."""

CORRECTION, AHEAD, LEADING, MESSAGE, FIRST, SECOND, CAUSE, CLUE, KNOWN, SEARCH, BLIND = range(11)
"""Tiers, first to last: what the error names is corrected; what acts where the fault is; what the log shows beside a message that a rule knows; what the very message advises; the first
of the cause's fixes, what comes second, and the others; what the error's words or place tell whatever the cause; a known release; a search for others' reports; an upgrade that nothing
speaks for."""
OF_ERROR = "the error's own words"
"""What corrections give as their source."""
OF_SOURCES = "vLLM's sources"
"""What upgrades give that hang on the line that failed, not on the cause."""
OF_TEXT = "the text around the log"
OF_CLUE = "what errors of such words, or from such a place, have in common"


@record(slots=True, frozen=True)
class Effect(Record):
    """What a fix changes, needs, predicts and costs."""

    changes: tuple[str, ...]
    """Quantities and parts: ``memory.kv_cache_needed``, ``kernel.attention``, ``package.vllm`` … (``corpus/effects.py``)."""
    needs: tuple[str, ...] = ()
    """Conditions on facts that must hold."""
    predicts: tuple[tuple[str, bool | None], ...] = ()
    """Conditions that the log shows if what it changes is at fault, and whether it does; None where that is not told."""
    exists: tuple[str, ...] = ()
    """The releases that have each option and variable that it sets."""
    costs: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()
    """Packages and images."""
    restart_seconds: float | None = None
    """How long this start took as far as it got; None without a restart, or where the log does not tell."""
    kv_cache_gib: float | None = None
    """KV cache that there is then, by the ledger."""
    kv_cache_needed_gib: float | None = None
    """What one request of the full context needs of it then."""


@record(slots=True, frozen=True)
class Fix(Record):
    """One thing to do, with this log's values filled in."""

    title: str
    kind: str
    """``flag``, ``env``, ``command`` or ``step``: how the report shows it."""
    actions: tuple[Action, ...]
    """What it changes."""
    why: str
    cost: str
    """What it takes: a restart, a download, quality, security."""
    verify: str = ""
    """What is seen when it has worked."""
    option: str = ""
    value: str = ""
    safety: str = "safe"
    versions: str = ""
    """Releases in which it exists."""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault, or the words that decided, are gone."""
    restart: bool = False
    root: bool = False
    source: str = ""
    whole: bool = False
    """Whether every value of its actions was known."""
    moves: str = ""
    """``up`` or ``down``: which way the value must differ from what is in force."""
    tags: tuple[str, ...] = ()
    remark: str = ""
    """For people, behind what they paste."""
    tier: int = CAUSE
    confidence: float | None = None
    """How often such advice was right; None where it was not asked."""
    proposed_by: str = ""
    """Who, where no rule advises it."""
    checked: str = ""
    """Who proposed it, and what was checked of it; of a rule's fix that was proposed as well, too."""
    rank: int = 0
    effect: Effect | None = None
    """Worked out for what is shown."""

    @property
    def change(self) -> str:
        """What people read and paste."""
        return written(self.actions) + self.remark

    @property
    def exact(self) -> bool:
        """Whether every value is known: it can be pasted as it stands."""
        return self.whole and not any(map(_is_open, self.actions))

    @property
    def options(self) -> list[SetOption]:
        """The options that it sets."""
        return [each for each in self.actions if isinstance(each, SetOption)]

    @property
    def variables(self) -> list[SetVariable]:
        """The variables that it sets."""
        return [each for each in self.actions if isinstance(each, SetVariable)]

    @property
    def dropped(self) -> list[DropOption]:
        """The options that it takes out."""
        return [each for each in self.actions if isinstance(each, DropOption)]

    @property
    def unset(self) -> list[str]:
        """The variables that it takes out."""
        return [each.name for each in self.actions if isinstance(each, DropVariable)]

    @property
    def only_drops(self) -> bool:
        """Whether it does nothing but take options out."""
        return all(isinstance(each, DropOption) for each in self.actions)

    @property
    def sets(self) -> bool:
        """Whether it does nothing but set options and variables."""
        return bool(self.options or self.variables) and len(self.options) + len(self.variables) == len(self.actions)

    @property
    def destructive(self) -> bool:
        """Whether it destroys something, or ends processes: then it comes when nothing milder is left."""
        return self.safety == "destructive"

    def installs(self, package: str = "vllm") -> Install | None:
        """Return the installation of a package; None where it installs none such. To upgrade vLLM is this and nothing else."""
        return next((each for each in self.actions if isinstance(each, Install) and named(each) == package), None)

    @property
    def upgrades_plainly(self) -> bool:
        """Whether it installs the newest vLLM, whichever that is."""
        found = self.installs()
        return found is not None and found.upgrade and not found.spec

    @property
    def upgrade(self) -> bool:
        """Whether it brings a newer vLLM, or tells people to get one."""
        found = self.installs()
        return "newer" in self.tags or (
            found is not None and not found.spec.startswith("==") and (found.upgrade or bool(found.spec))
        )


def named(install: Install) -> str:
    """Return a package's name without its extras."""
    return install.package.partition("[")[0]


def _is_open(action: Action) -> bool:
    if isinstance(action, Serve):
        return OWN in action.model
    return isinstance(action, (SetOption, SetVariable)) and action.open


def with_action(fix: Fix, old: Action, new: Action | None) -> Fix:
    """Return a fix with one action replaced, or taken out."""
    actions = tuple(new if each is old else each for each in fix.actions)
    return replace(fix, actions=tuple(each for each in actions if each is not None))


def because(fix: Fix, why: str) -> str:
    """Return a fix's reason with another one behind it."""
    return f"{fix.why} {why}".strip()


def option(name: str, *values: str) -> tuple[Action, ...]:
    """Return the action that gives an option."""
    return (SetOption(name, values),)


def leave_out(names: Iterable[str]) -> tuple[Action, ...]:
    """Return the actions that take options out."""
    return tuple(map(DropOption, names))


def install(package: str, spec: str = "", upgrade: bool = True) -> tuple[Action, ...]:
    """Return the action that installs a package."""
    return (Install(package, spec, upgrade),)


def ranked(fixes: Sequence[Fix]) -> list[Fix]:
    """Return fixes with their ranks."""
    return [replace(fix, rank=rank) if fix.rank != rank else fix for rank, fix in enumerate(fixes, 1)]


def shell(text: str) -> tuple[Action, ...]:
    """Return the action that runs a command as it stands."""
    return (Run(text),)
