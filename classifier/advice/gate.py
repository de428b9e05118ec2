"""Tries every fix against what the log tells before it is shown.

What cannot help here is replaced by what can, or left out with the reason: options that the release lacks, another
platform's commands, what is set already, what the error itself refused, values that would move the wrong way, the
registry's vLLM for a build of one's own, switches that lower security and that the log does not ask for.
"""

from __future__ import annotations

import json
import re

from ...corpus.records import replace
from ...corpus.remedies.find import SOURCE
from ..diagnosis import Advice
from ..facts.versions import in_range
from ..patterns.lazy import LazyPattern
from .as_it_was import as_it_was
from .attention_choice import as_possible, with_choices
from .bounds import within_bounds
from .caller import as_called, as_released, caller
from .check import add_checks
from .hub_client import as_installed
from .json_keys import within_json
from .left_out import as_given
from .looks import look, look_elsewhere
from .model_support import as_supported, beside
from .model_type_support import as_known_type
from .named_options import as_named
from .peers import in_the_way
from .platforms import drafts_here, on_platform
from .presumed import asked_so, unfounded, without_idle_parts
from .provenance import from_whom, installed_from
from .python_bound import as_installable
from .situation import Situation
from .switched_on import switched_on
from .upgrades import reached, without_guesses
from .weight_names import as_known_weight
from .worked import before_searches, worked_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..command.parts import Part
    from ..command.words import Word
    from ..incidents.types import Incident
    from ..matching.types import Hit
    from .signs import Signs

Withheld = list[tuple[str, str]]
"""Titles of fixes that were left out, each with the reason."""

_SERVED = ("api_ready", "serving", "shutdown")
"""Stages after which an error is about a request, not about how the server was started."""
_UNSET = LazyPattern(r"unset (?P<names>\w+(?: \w+)*)")
_MEMBER = LazyPattern(r"[A-Z]\w+\.([A-Z][A-Z_]*)")
_OF_MEMORY = (
    "--gpu-memory-utilization", "--device-memory-utilization", "--kv-cache-dtype", "--tensor-parallel-size", "--max-model-len",
)  # fmt: skip
"""Options that the memory ledger can be held against."""
_UNSAFE = (
    (LazyPattern(r"trust[-_]remote[-_]code"), LazyPattern(r"trust[-_ ]remote[-_ ]code|transformers_modules|custom code|remote code|execute the (?:configuration|model) file", re.IGNORECASE)),
    (LazyPattern(r"allow[-_]deprecated[-_]quantization"), LazyPattern(r"allow[-_ ]deprecated[-_ ]quantization|is deprecated", re.IGNORECASE)),
    (LazyPattern(r"VLLM_ALLOW_INSECURE_SERIALIZATION"), LazyPattern(r"insecure.serialization|pickle|serializ", re.IGNORECASE)),
    (LazyPattern(r"--privileged\b"), LazyPattern(r"privileged|seccomp|Operation not permitted|permission", re.IGNORECASE)),
)  # fmt: skip
"""Switches that lower security, and the words of a log that ask for each."""


def sift(
    fixes: list[Advice],
    hit: Hit | None,
    incident: Incident,
    release: str,
    signs: Signs | None,
    leads: list[Advice] | None = None,
) -> tuple[list[Advice], Withheld]:
    """Return the fixes that hold, ranked, and those that were left out.

    Args:
        fixes: Of the cause, in order.
        hit: The rule's hit that decided; None where none did.
        incident: The start of the server.
        release: The one that the advice is for.
        signs: What a failure's words tell; None for a healthy server, whose remarks are not corrected.
        leads: Of the message itself: where one of them holds, the cause's, which are for many messages, are not asked.
    """
    failed = signs is not None
    situation = Situation.of(hit, incident, release, signs)
    corrections: list[Advice] = []
    if failed and hit is not None and hit.rule.scope != "request" and incident.reached not in _SERVED:
        from .corrector import correct

        corrections = [fix for fix in correct(situation.case) if drafts_here(fix, situation)]
        first, last = beside(situation)
        fixes = [*first, *fixes, *last]
    if failed and hit is not None and (way := worked_with(situation, hit.rule.bucket)):
        fixes = [*fixes, way]
    fixes = [*in_the_way(hit, situation), *switched_on(hit, situation), *with_choices(fixes, hit, situation)]
    kept, withheld = _led(leads, situation, corrections) if leads else ([], [])
    if not kept:
        kept, refused = tried(fixes, situation, corrections)
        withheld = [*withheld, *refused]
    if failed and not kept and hit is not None and hit.rule.id:
        kept = [look(situation, nothing_known=True)]
        kept[0].rank = 1
    if failed:
        request = hit is not None and hit.rule.scope == "request"
        add_checks(kept, situation, incident.reached, request or incident.reached in _SERVED)
    return kept, withheld


def tried(
    fixes: list[Advice], situation: Situation, corrections: list[Advice] | None = None
) -> tuple[list[Advice], Withheld]:
    """Return the fixes that hold in a situation, behind the corrections of what the error names, and those left out."""
    kept: list[Advice] = list(corrections or [])
    withheld: Withheld = []
    for fix in fixes:
        if any(_same(fix, other) for other in kept):
            continue
        fitting, reason = _try(fix, situation)
        if fitting is None:
            withheld.append((fix.title, reason))
        elif fitting.change == fix.change or all(other.change != fitting.change for other in kept):
            kept.append(fitting)
    kept = [within_json(as_released(fix, situation.release), situation.case.arguments) for fix in kept]
    kept = [as_installed(fix, situation) for fix in kept]
    if who := caller(situation):
        kept, refused = _for_caller(kept, who)
        withheld += refused
    elif any("vllm serve" in fix.change for fix in kept):
        from ..command.again import as_started

        kept = [as_started(fix, situation.facts) for fix in kept]
    if situation.words:
        kept, guessed = without_guesses(kept, situation)
        kept = [as_it_was(as_installable(fix, situation), situation) for fix in kept]
        withheld += guessed
    kept = before_searches(kept)
    # What destroys something, or ends processes, comes when nothing milder is left.
    if not situation.told:
        kept, refused = _without_older(kept, situation)
        withheld += refused
    kept.sort(key=lambda fix: fix.safety == "destructive")
    if not kept and fixes:
        kept = [look_elsewhere() if situation.stranger else look(situation)]
    for rank, fix in enumerate(kept, 1):
        fix.rank = rank
    return kept, withheld


def _led(leads: list[Advice], situation: Situation, corrections: list[Advice]) -> tuple[list[Advice], Withheld]:
    """Return what the message itself asks for; nothing where none of it holds."""
    kept, withheld = tried(leads, situation, corrections)
    titles = {title for title, _ in withheld}
    return (kept, withheld) if any(lead.title not in titles for lead in leads) else ([], withheld)


def _same(fix: Advice, correction: Advice) -> bool:
    """Tell whether a fix says less well what a correction says, or the same."""
    if fix.change.startswith("leave out ") and correction.change.startswith(f"{fix.change} "):
        return True  # the correction names the value as well
    if not correction.source.startswith("the error's"):
        return fix.change == correction.change and fix.kind == correction.kind
    sets = f"{correction.option} "
    if correction.option and fix.change.startswith(sets) and correction.change.startswith(sets):
        return True  # another value for what is corrected
    blank = not fix.exact and (
        fix.option == correction.option or (correction.kind == "env" and _UNSET.match(fix.change))
    )
    return bool(blank) or fix.change in (
        correction.change,
        f"vllm serve …   # {correction.change}",
    )


def _for_caller(fixes: list[Advice], who: str) -> tuple[list[Advice], Withheld]:
    """Return the fixes in the form in which a script or a framework takes them, and those that only a server could."""
    made = [(fix, *as_called(fix, who)) for fix in fixes]
    return [called for _, called, _ in made if called], [(fix.title, why) for fix, called, why in made if not called]


def _try(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Return the fix as it holds here, or None with the reason."""
    for check in (
        on_platform,
        as_named,
        as_given,
        _asked_for,
        as_supported,
        as_known_type,
        as_known_weight,
        as_possible,
        within_bounds,
        from_whom,
        installed_from,
    ):
        fitting, reason = check(fix, situation)
        if fitting is None:
            return None, reason
        fix = fitting
    # What is advised for this very message presumes nothing that it does not say.
    presumed = "" if fix.source == SOURCE else unfounded(fix, situation)
    if reason := presumed or asked_so(fix, situation) or reached(fix, situation):
        return None, reason
    busy = without_idle_parts(fix, situation)
    if busy is None:
        return None, "what it sets makes no difference to this server, or is refused by it"
    fix = busy
    if fix.kind in ("flag", "env") or _UNSET.match(fix.change):
        return _set(fix, situation)
    return fix, ""


def _asked_for(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    if fix.change.startswith("leave out "):
        return fix, ""  # to take such a switch away lowers nothing
    for switch, words in _UNSAFE:
        if switch.search(fix.change) and not words.search(situation.text):
            return None, "it lowers security, and nothing in the log asks for it"
    return fix, ""


# Flags and variables


def _set(fix: Advice, situation: Situation) -> tuple[Advice | None, str]:
    """Try what a fix sets against what the release has and what is in force."""
    from ..command.change import read_change

    shown = {*situation.case.variables, situation.facts.get("kernel_variable")}
    names = (
        [name for name in unset["names"].split() if name not in shown] if (unset := _UNSET.match(fix.change)) else []
    )
    if missing := _missing(names, [], situation):
        return None, f"vLLM {situation.bound} has no {missing}"
    change = read_change(fix.change)
    variables, parts = change or ([], [])
    if not fix.versions and not situation.told:
        # Where the log does not tell its release, the fix says for which of those that can have written it there is such an option.
        set_here = _of_vllm([*(part.name for part in parts), *(name for name, _ in variables), *names])
        fix = replace(fix, versions=next(filter(None, map(situation.bound.having, set_here)), ""))
    if change is None:
        return fix, ""
    if reason := _excluded([name for name, _ in variables], parts, situation):
        return None, reason
    if len(parts) == 1 and not variables:
        fitting, reason = _weighed(fix, parts[0], situation)
        if fitting is None or fix.moves:
            return fitting, reason
        fix = fitting
    for part in parts if fix.moves and len(parts) > 1 else ():
        fix = _moved(fix, part, situation)[0] or fix
    so = all(_is_so(part, situation) for part in parts) and _have_values(variables, situation)
    return (None, "it is set so already") if so else (fix, "")


def _weighed(fix: Advice, part: Part, situation: Situation) -> tuple[Advice | None, str]:
    """Keep a value that moves the right way and, of those that memory hangs on, gives what the log says is missing."""
    fitting, reason = _moved(fix, part, situation) if fix.moves else (fix, "")
    if fitting is None or part.name not in _OF_MEMORY:
        return fitting, reason
    from .balance import balanced

    moved = part if fitting.change == fix.change else _only_part(fitting.change)
    return (fitting, "") if moved is None else balanced(fitting, moved, situation.facts)


def _only_part(change: str) -> Part | None:
    from ..command.change import read_change

    read = read_change(change)
    return read[1][0] if read is not None and len(read[1]) == 1 else None


def _excluded(variables: list[str], parts: list[Part], situation: Situation) -> str:
    """Tell why a fix cannot be applied here at all; "" where it can."""
    if missing := _missing(variables, parts, situation):
        return f"vLLM {situation.bound} has no {missing}"
    if any(part.name in (*_OF_MEMORY[:2], "--tensor-parallel-size", "--pipeline-parallel-size") for part in parts):
        from .balance import below_weights, beyond_free

        if reason := beyond_free(parts, situation.facts) or below_weights(parts, situation.facts):
            return reason
    return _refused(parts, situation)


def _missing(variables: list[str], parts: list[Part], situation: Situation) -> str:
    """Return what a fix sets that no release has which can have written the log; "" where there is none."""
    names = [*(part.name for part in parts), *variables]
    return next((name for name in _of_vllm(names) if situation.bound.having(name) is None), "")


def _without_older(fixes: list[Advice], situation: Situation) -> tuple[list[Advice], Withheld]:
    """Return fixes with those behind that newer releases no longer have; without them where nothing says that it is an old one."""
    older = [fix for fix in fixes if fix.versions and in_range(situation.release, fix.versions) is False]
    others = [fix for fix in fixes if fix not in older]
    if situation.bound.bounded:
        return [*others, *older], []
    return others, [
        (fix.title, f"only vLLM {fix.versions} has it, and nothing says that the server is so old") for fix in older
    ]


def _of_vllm(names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(("--", "VLLM_"))]


def _refused(parts: list[Part], situation: Situation) -> str:
    """Tell why the error's own words exclude what a fix sets; "" where they do not."""
    from .corrector.read import read

    for complaint in read(situation.case):
        for part in parts:
            if part.name != complaint.name or len(part.values) != 1:
                continue
            value = part.values[0].value
            if value == complaint.given:
                return f"the error refuses {part.name} {value}"
            if complaint.allowed and value not in complaint.allowed:
                return f"{value} is not among the values that the error lists"
    return ""


def _is_so(part: Part, situation: Situation) -> bool:
    given = situation.case.arguments.get(part.name.lstrip("-").replace("-", "_"))
    if given is None:
        resolved = situation.facts.get(part.name.lstrip("-").replace("-", "_"))
        given = _plain(resolved) if isinstance(resolved, (bool, int, float, str)) else None
    if given is None or "." in part.name:
        return False
    if not part.values:
        return given is (not part.negative)
    if isinstance(given, dict):
        try:
            return bool(given == json.loads(part.values[0].value))
        except (ValueError, RecursionError):
            return False
    texts = [value.value for value in part.values]
    if isinstance(given, (list, tuple)):
        return texts == [str(item) for item in given]
    return len(texts) == 1 and (texts[0] == str(given) or _number(texts[0]) == _number(given) is not None)


def _plain(value: bool | float | str) -> bool | float | str:
    """Return a value as it is given, where Python prints it as a member of an enumeration: ``LoadFormat.AUTO``."""
    found = _MEMBER.fullmatch(value) if isinstance(value, str) else None
    return found[1].lower() if found else value


def _have_values(variables: list[tuple[str, Word]], situation: Situation) -> bool:
    command = f" {situation.facts.get('command') or ''} "
    return all(
        re.search(rf"[\s\"']{re.escape(name)}=[\"']?{re.escape(word.value)}[\s\"']", command)
        for name, word in variables
    )


def _moved(fix: Advice, part: Part, situation: Situation) -> tuple[Advice | None, str]:
    """Keep a value that moves the way the fix says, or put one in its place that does."""
    now = _number(situation.in_force(part.name))
    new = _number(part.values[0].value) if len(part.values) == 1 else None
    if now is None or new is None or (new > now if fix.moves == "up" else new < now):
        return fix, ""
    if part.name == "--tensor-parallel-size" and fix.moves == "up" and not situation.facts.get("gpu_count"):
        return None, f"the log shows no more GPUs than its {now:g} ranks use"
    other = _further(part.name, now, fix.moves)
    if not other:
        way = "as high" if fix.moves == "up" else "as low"
        return None, f"{part.name} is {now:g} already: {way} as it goes, or further than the fix would set it"
    change = re.sub(
        rf"({re.escape(part.words[0].value)}[= ]){re.escape(part.values[0].value)}(?=\s|$)",
        rf"\g<1>{other}",
        fix.change,
        count=1,
    )
    if change == fix.change:
        return None, f"{part.name} is {now:g} already"
    why = f"{fix.why} Now it is {now:g}.".strip()
    return replace(fix, change=change, value=other if fix.value else "", why=why), ""


def _further(name: str, now: float, way: str) -> str:
    """Return the next sensible value on the way from the one in force; "" where there is none."""
    if name in ("--gpu-memory-utilization", "--device-memory-utilization"):
        value = round(now + 0.03 if way == "up" else now - 0.05, 2)
        return f"{value:.2f}" if 0.1 <= value <= 0.97 else ""
    if now != int(now) or now < 1:
        return ""
    value = int(now) * 2 if way == "up" else int(now) // 2
    return str(value) if value >= 1 else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
