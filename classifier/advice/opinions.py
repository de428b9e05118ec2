"""Proposals of others than the rules, as one more source: nothing of them is believed that can be checked (docs/ask.md).

What a fact refutes is withheld with that fact; what is left says who proposed it, and what was checked. Which stands first, a rule's
fix or a proposed one, follows how often either was right where answers were decided this way.
"""

from __future__ import annotations

import json
import os
import re

from ...corpus import options
from ...corpus.actions import (
    Action,
    DropOption,
    DropVariable,
    DropWords,
    Install,
    Run,
    Sentence,
    SetOption,
    SetVariable,
    Step,
    Uninstall,
    written,
)
from ...corpus.records import Record, record, replace
from ..fix import CAUSE, Fix, ranked
from ..proposal import BEHIND, OVERRULED
from .pipeline import fitted
from .restricted import asks_for_own, is_harmful, restricted
from .track_record import FIRST, JUDGED, LATER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...corpus.guards import Guards
    from ..proposal import Heard, ProposedFix
    from ..verdict.types import Verdict
    from .context import Context

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opinion_record.json")  # noqa: PTH100, PTH118, PTH120
PRIOR = 4
"""Answers, right as often as all are, that a way of deciding is given besides those that were measured."""
_SETTINGS = (SetOption, SetVariable, DropOption, DropVariable, DropWords)
_OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?:\.\w+)*|\bVLLM_[A-Z0-9_]+\b")
_OTHERS = re.compile(r"\b(?:docker|containers?|compose|pod|image|podman|pip|uv|apt|ray|helm|kubectl|nvidia-smi|cmake|torchrun|mpirun|srun|conda|git|nsys|hf|huggingface-cli)\b", re.IGNORECASE)  # fmt: skip
"""Programs whose options a sentence may name."""
_INTEGER = re.compile(r"-?\d+(?:\.\d+)?[kKmMgGtT]?(?:iB|B)?|auto")


@record(slots=True, frozen=True)
class Opinion(Record):
    """What is left of a proposal."""

    heard: Heard
    fixes: tuple[Fix, ...] = ()
    withheld: tuple[tuple[str, str], ...] = ()
    share: float = 0.0
    """How often the first fix of such proposals was right."""
    agrees: bool | None = None
    """Whether it names the rules' cause; None where one of both names none."""
    first: bool = False
    """Whether its fix stands before those of the rules."""


def weighed(heard: Heard, context: Context, guards: Guards, verdict: Verdict) -> Opinion:
    """Return a proposal as far as it holds.

    Args:
        heard: The proposal, its lines looked up.
        context: Of the failed start.
        guards: The rows of what speaks against fixes.
        verdict: Of the rules.
    """
    proposal = heard.proposal
    problem = heard.problem
    if not problem and any(map(is_harmful, (proposal.cause, proposal.missing))):
        problem = "its words ask for what no answer asks for"
    agrees = proposal.candidate == verdict.cause if proposal.cause and verdict.bucket != "unknown" else None
    share, later = share_of(verdict, proposal.confidence), share_of_later()
    kept: list[Fix] = []
    withheld: list[tuple[str, str]] = []
    for one in proposal.fixes:
        fix, reason = (None, problem) if problem else _checked(one, heard, context, guards)
        if fix is not None and kept and later < LATER:
            withheld.append(
                (one.title, f"{JUDGED[0]}such advice was right in {later:.0%} of logs that nobody had read")
            )
        elif fix is not None and all(fix.change != other.change for other in kept):
            own = share if one is proposal.fixes[0] else min(share, later)
            kept.append(replace(fix, confidence=round(own, 2)))
        elif fix is None:
            harmful = is_harmful(f"{one.title} {reason}")
            withheld.append(
                ("a fix" if harmful else one.title, "its words ask for what no answer asks for" if harmful else reason)
            )
    return Opinion(
        replace(heard, problem=problem), tuple(kept if share >= FIRST else ()), tuple(withheld), share, agrees
    )


def joined(fixes: Sequence[Fix], opinions: Sequence[Opinion]) -> tuple[list[Fix], list[Opinion], list[tuple[str, str]]]:
    """Return the fixes of rules and proposals in one order, the opinions with which of them stand first, and what falls for them.

    Args:
        fixes: Of the rules, best first; those of users' own rules have no share and stand first.
        opinions: What is left of each proposal.
    """
    made, told = list(fixes), []
    fallen: list[tuple[str, str]] = []
    for opinion in opinions:
        same = {fix.change: other.change for fix in opinion.fixes if (other := _same(fix, made)) is not None}
        checked = {same[fix.change]: fix.checked for fix in opinion.fixes if fix.change in same}
        made = [replace(fix, checked=checked.get(fix.change, fix.checked)) for fix in made]
        others = [fix for fix in opinion.fixes if fix.change not in same]
        before = bool(opinion.fixes) and (not made or _is_less(made[0], opinion.share))
        if before and opinion.fixes[0].change in same:
            # Rules advise it too: theirs is shown.
            lead = [fix for fix in made if fix.change == same[opinion.fixes[0].change]]
            made = [*lead, *others, *(fix for fix in made if fix not in lead)]
        else:
            made = [*others, *made] if before else [*made, *others]
        if before:
            kept = [fix for fix in made if _stays(fix, opinion, same.values())]
            fallen += [(fix.title, BEHIND if opinion.agrees else OVERRULED) for fix in made if fix not in kept]
            made = kept
        told.append(replace(opinion, first=before))
    return ranked(made), told, fallen


def _stays(fix: Fix, opinion: Opinion, same: Iterable[str]) -> bool:
    """Return whether a fix is shown behind a proposal's: as one of its own, or a sure one for the same cause."""
    if fix.proposed_by or fix.confidence is None or fix.change in same:
        return True
    return opinion.agrees is True and fix.confidence >= LATER


def _is_less(rule: Fix, share: float) -> bool:
    """Return whether a rule's fix was right less often; a user's own has no share, and is behind nobody's."""
    return rule.confidence is not None and rule.confidence < share


def share_of(verdict: Verdict, confidence: float) -> float:
    """Return how often the first fix of a proposal was right that was as sure of itself, where rules decided this way.

    The file holds right ones and all, by ``decided_by`` and by whether the proposal was sure of itself, "" for what was not measured
    apart; it is written by ``python -m vllm_triage.training.ask --fit``.
    """
    table = _record()["first"]
    all_right, all_ = table[""]
    right, count = table.get(key_of(verdict.decided_by, confidence), (0, 0))
    return (right + PRIOR * all_right / all_) / (count + PRIOR)


def share_of_later() -> float:
    """Return how often a fix was right that a proposal named after its first."""
    right, count = _record()["later"][""]
    return right / count


def _record() -> dict[str, dict[str, list[int]]]:
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123
        return json.load(file)  # type: ignore[no-any-return]


def key_of(decided_by: str, confidence: float) -> str:
    """Return under which name the record holds proposals of some kind."""
    return f"{decided_by} {'sure' if confidence >= 0.8 else 'likely' if confidence >= 0.5 else 'unsure'}"


def _same(fix: Fix, others: Sequence[Fix]) -> Fix | None:
    """Return the fix that does what another one does; None where none does."""
    does = [each for each in fix.actions if isinstance(each, _SETTINGS)]
    return next(
        (one for one in others if one.change == fix.change or (does and _settings(one) == _settings(fix))), None
    )


def _settings(fix: Fix) -> list[str]:
    return sorted(repr(each) for each in fix.actions if isinstance(each, _SETTINGS))


# One fix


def _checked(one: ProposedFix, heard: Heard, context: Context, guards: Guards) -> tuple[Fix | None, str]:
    """Return a fix as it holds here, with what was checked, or None with the fact that refutes it."""
    if one.problem:
        return None, one.problem
    if is_harmful(f"{one.title} {one.why} {one.predicts}"):
        return None, "its words ask for what no answer asks for"
    others = [each for each in one.actions if _is_anothers(each, context, heard) and not restricted(each, context)]
    actions = tuple(Step(written((each,))) if each in others else _named(each, context) for each in one.actions)
    # What else it does does not hang on a command that may do more than look.
    actions = tuple(each for each in actions if not isinstance(each, Run) or not restricted(each, context)) or actions
    for action in actions:
        if reason := restricted(action, context) or _lacking(action, context):
            return None, reason
    set_ = [each for each in actions if isinstance(each, SetOption) and "." not in each.name]
    if len(set_) == len(actions) and all(_is(each, _in_force(each, context)) for each in set_):
        return None, f"{set_[0].name} is so already"
    fitting, reason = fitted(_fix(one, actions, heard), context, guards)
    if fitting is None:
        return None, reason
    return replace(fitting, checked=_told(fitting, written(others), heard, context)), ""


def _named(action: Action, context: Context) -> Action:
    """Return an action as rules write it: ``--no-…`` as what is negated, sentences with the options that they name."""
    if isinstance(action, SetOption) and action.name.startswith("--no-") and not action.values:
        return replace(action, name=f"--{action.name[5:]}", negative=True)
    if (
        isinstance(action, SetOption)
        and action.values in (("true",), ("True",))
        and _kind(action.name, context) == "switch"
    ):
        return replace(action, values=())
    if isinstance(action, SetVariable) and asks_for_own(action):
        return replace(action, value="hf_…")
    if isinstance(action, Install):
        # Without bounds `-U` would take what depends on it along: torch with torchvision.
        return replace(
            action, upgrade=action.package == "vllm" if not action.spec else not action.spec.startswith("==")
        )
    if isinstance(action, Sentence) and not _OTHERS.search(action.text):
        return replace(action, names=tuple(dict.fromkeys(_OPTION.findall(action.text))))
    return action


def _kind(name: str, context: Context) -> str:
    about = options.describe(name, context.release)
    return about.kind if about is not None else ""


def _lacking(action: Action, context: Context) -> str:
    """Return that the releases that can have written the log lack an option, or what it is set to; "" where they have it."""
    if isinstance(action, (SetOption, DropOption)):
        names: tuple[str, ...] = (action.name,)
    elif isinstance(action, Sentence):
        names = action.names
    else:
        ours = isinstance(action, (SetVariable, DropVariable)) and action.name.startswith("VLLM_")
        names = (action.name,) if ours and isinstance(action, (SetVariable, DropVariable)) else ()
    given = str(context.facts.get("command") or "")
    for name in names:
        if context.bound.having(name) is None and not (isinstance(action, DropOption) and name in given):
            known = options.lifetime(name)
            return f"vLLM {context.bound} has no {name}" + (f": {known} has" if known else "; no release has")
    if not isinstance(action, SetOption):
        return ""
    return _misvalued(action, context)


def _is_anothers(action: Action, context: Context, heard: Heard) -> bool:
    """Return whether nobody here knows a setting: another engine's option, or a variable of a fork that its very log names."""
    if isinstance(action, (SetOption, DropOption)):
        return bool(context.other_engine) and not options.lifetime(action.name)
    if not isinstance(action, (SetVariable, DropVariable)) or not action.name.startswith("VLLM_"):
        return False
    return not options.lifetime(action.name) and action.name in heard.variables


def _in_force(action: SetOption, context: Context) -> object:
    """Return what an option is set to; the default counts where the log lists what was given."""
    name = action.name.lstrip("-").replace("-", "_")
    return context.in_force(action.name) if context.arguments else context.facts.get(name)


def _is(action: SetOption, value: object) -> bool:
    """Return whether an option has what it would be set to."""
    if not action.values:
        return value is (not action.negative)
    return len(action.values) == 1 and value is not None and str(value).lower() == action.value.lower()


def _misvalued(action: SetOption, context: Context) -> str:
    """Return that an option cannot have a value; "" where it can, or nobody knows."""
    about = options.describe(action.name, context.release) if context.told else None
    if about is None or "." in action.name:
        return ""
    choices = {str(choice).lower() for choice in about.choices}
    for value in action.values:
        if choices and value.lower() not in choices:
            return f"{value} is not among the values of {action.name} in {context.told}"
        if about.kind == "int" and not _INTEGER.fullmatch(value):
            return f"{action.name} takes a number"
        if about.kind == "json" and value.startswith("{") and (keys := _unknown_keys(value, about.keys)):
            return f"{action.name} has no key {keys[0]} in {context.told}"
    return ""


def _unknown_keys(value: str, keys: Sequence[str]) -> list[str]:
    try:
        table = json.loads(value)
    except (ValueError, RecursionError):
        return ["that can be read"]
    return [str(key) for key in table if keys and key not in keys] if isinstance(table, dict) else []


def _fix(one: ProposedFix, actions: tuple[Action, ...], heard: Heard) -> Fix:
    set_ = actions[0] if len(actions) == 1 and isinstance(actions[0], SetOption) else None
    if all(isinstance(each, (SetVariable, DropVariable)) for each in actions):
        kind = "env"
    elif all(isinstance(each, _SETTINGS) for each in actions):
        kind = "flag"
    else:
        kind = "step" if all(isinstance(each, Sentence) for each in actions) else "command"
    restart = kind in ("flag", "env") or any(isinstance(each, (Install, Uninstall)) for each in actions)
    return Fix(
        one.title, kind, actions, one.why, "A restart." if restart else "", verify=one.predicts, option=set_.name if set_ else "",
        value=set_.value if set_ else "", restart=restart, proposed_by=heard.proposal.source, whole=True, tier=CAUSE,
    )  # fmt: skip


def _is_known(variable: str) -> bool:
    return variable.startswith("VLLM_") or bool(options.owner(variable))


def _told(fix: Fix, others: str, heard: Heard, context: Context) -> str:
    """Return who proposed a fix, and what was checked of it."""
    told = []
    named = [each.name for each in fix.actions if isinstance(each, (SetOption, SetVariable, DropOption))]
    names = [name for name in named if name.startswith(("--", "VLLM_"))]
    if names:
        told.append(f"{'options exist' if len(names) > 1 else 'option exists'} in {context.bound}")
    if fix.options or fix.variables:
        told.append("not in force")
    strange = [each.name for each in fix.actions if isinstance(each, SetVariable) and not _is_known(each.name)]
    if strange or others:
        told.append(f"{others or strange[0]} is in no list of ours")
    if fix.dropped and context.arguments:
        told.append("in force")
    if any(isinstance(each, (Install, Uninstall)) for each in fix.actions):
        told.append("a package that vLLM needs")
    if heard.lines:
        told.append(f"line{'s' if len(heard.lines) > 1 else ''} {', '.join(str(line) for line, _ in heard.lines[:4])}")
    return f"Proposed by {heard.proposal.source}, checked: {', '.join(told) or 'nothing in the log speaks against it'}."
