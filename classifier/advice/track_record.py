"""How often advice of a kind was right, and how often refuted by the very log: what decides whether it is shown.

The numbers are those of strict readers' references, on logs whose causes were hidden from the rules as well as on logs with all rules in
sight (``training/advice``, docs/advice.md). A fix is described by how the answer was decided and by what kind of fix it is, never by
its words or its cause: so the record holds for causes that nobody has read.
"""

from __future__ import annotations

import json
import os
from math import exp, log

from ...corpus.actions import DropOption, DropVariable, Install, Run, Sentence, SetOption, SetVariable
from ...corpus.records import replace
from ..fix import AHEAD, BLIND, CAUSE, CLUE, CORRECTION, KNOWN, LEADING, MESSAGE, SECOND, Fix, ranked
from ..fix import FIRST as FIRST_OF_CAUSE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..fix import Withheld
    from ..verdict.types import Verdict

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "track_record.json")  # noqa: PTH100, PTH118, PTH120
CLUES = frozenset(["idiom", "component"])
"""Tags of what the error's words or place ask for."""
UNSPECIFIC = frozenset(["search", "blind"])
"""Tags of what is advised where nothing is known."""
FIRST = 0.45
"""A first fix is shown from this worth on; below it a guess costs people more than silence (docs/advice.md)."""
LATER = 0.65
"""The same for the fixes behind it."""
MARGIN = 0.1
"""By how much such a share must be greater than that of the first fix where a rule decided."""
REFUTED = 0.15
"""Share of fixes that their log refuted, or that did harm, above which one of that kind is not shown."""
JUDGED = ("a guess: ", "a risk: ")
"""How the reason begins why a fix is not shown that no fact speaks against."""
_KINDS = (
    (SetOption, "sets_option"), (DropOption, "drops"), (DropVariable, "drops"), (SetVariable, "sets_variable"), (Run, "runs"),
    (Sentence, "tells"),
)  # fmt: skip
_TIERS = {
    CORRECTION: "correction", AHEAD: "ahead", MESSAGE: "message", FIRST_OF_CAUSE: "first", SECOND: "second", CAUSE: "cause", CLUE: "clue", LEADING: "clue",
    KNOWN: "known_release", BLIND: "blind",
}  # fmt: skip
_table: dict[str, dict[str, float]] = {}


def traits_of(fix: Fix, place: int, verdict: Verdict) -> dict[str, float]:
    """Return by what advice is known: names with their weight.

    Args:
        fix: One that would be shown.
        place: Its place in the answer, from 0.
        verdict: What it is advised for.
    """
    traits = {f"place_{min(place, 2)}": 1.0}
    if fix.tier in (CLUE, LEADING):  # it does not hang on who decided
        traits["by_clue_beside_rule"] = float(verdict.decided_by == "rule")
    else:
        traits |= {f"by_{verdict.decided_by}": 1.0, f"way_{verdict.way or 'none'}": 1.0}
    traits |= {f"tag_{tag}": 1.0 for tag in fix.tags}
    traits[f"tier_{_TIERS.get(fix.tier, 'search')}"] = 1.0
    first = fix.actions[0] if fix.actions else None
    kind = next((name for kinds, name in _KINDS if isinstance(first, kinds)), "other")
    if fix.upgrade:
        kind = "upgrades"
    elif isinstance(first, Install):
        kind = "installs"
    traits[f"does_{kind}"] = 1.0
    if fix.fixed_in:
        traits["fixed_in"] = 1.0
    if fix.value and fix.exact:
        traits["worked_out"] = 1.0
    if fix.source:
        traits["has_source"] = 1.0
    if verdict.decided_by in ("rule", "model") and fix.tier not in (CLUE, LEADING):
        share = min(0.995, max(0.05, verdict.confidence))
        traits["sure" if verdict.decided_by == "rule" else "by_model_sure"] = log(share / (1 - share))
    return traits


def share_of(what: str, traits: Mapping[str, float]) -> float:
    """Return the share of such advice that was ``right`` or ``refuted`` on logs that nobody had read; its ``worth``: that on all, from 0 to 1."""
    if not _table:
        with open(FILE, encoding="utf-8") as file:  # noqa: PTH123
            _table.update(json.load(file)["weights"])
    weights = _table[what]
    return 1 / (1 + exp(-weights[""] - sum(weights.get(name, 0.0) * value for name, value in traits.items())))


def with_clue_ahead(fixes: Sequence[Fix], verdict: Verdict) -> list[Fix]:
    """Return fixes with that in front which the error's words or place ask for, where such advice is more often right than the first."""
    asked = (fix for fix in fixes if CLUES.intersection(fix.tags))
    best = max(asked, key=lambda fix: _as_first(fix, verdict), default=None)
    margin = MARGIN if verdict.decided_by == "rule" else 0.0
    if best is not None and best.upgrade and not UNSPECIFIC.intersection(fixes[0].tags) and _fit(fixes[0], verdict):
        return list(fixes)  # the newest release is tried where nothing else is known
    if best is None or _as_first(best, verdict) <= _as_first(fixes[0], verdict) + margin:
        return list(fixes)
    return ranked([best, *(fix for fix in fixes if fix is not best)])


def _fit(fix: Fix, verdict: Verdict) -> bool:
    """Return whether a fix would be shown as the first."""
    return _as_first(fix, verdict) >= FIRST and share_of("refuted", traits_of(fix, 0, verdict)) <= REFUTED


def _as_first(fix: Fix, verdict: Verdict) -> float:
    return share_of("worth", traits_of(fix, 0, verdict))


def shown(fixes: Sequence[Fix], verdict: Verdict) -> tuple[list[Fix], Withheld]:
    """Return the fixes that are good enough to be shown, each with the share that was right, and the others with the reason."""
    kept: list[Fix] = []
    withheld: Withheld = []
    for place, fix in enumerate(fixes):
        traits = traits_of(fix, place, verdict)
        right, worth, refuted = (share_of(what, traits) for what in ("right", "worth", "refuted"))
        if worth >= (LATER if kept else FIRST) and refuted <= REFUTED:
            kept.append(replace(fix, confidence=round(right, 2)))
        elif worth < (LATER if kept else FIRST):
            withheld.append(
                (fix.title, f"{JUDGED[0]}such advice was right in {right:.0%} of logs that nobody had read")
            )
        else:
            withheld.append(
                (
                    fix.title,
                    f"{JUDGED[1]}such advice was refuted, or did harm, in {refuted:.0%} of logs that nobody had read",
                )
            )
    return ranked(kept), withheld
