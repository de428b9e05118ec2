"""The claims of one answer, each tested: read back from what is printed, so that no stage of the advice vouches for itself."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...classifier.advice import Advice
from ...classifier.facts.versions import in_range
from ...classifier.fix import Fix
from ...classifier.incidents.not_vllm import is_logged, is_ours
from ...classifier.report.model import REFUSED
from ...classifier.situation.releases import ReleaseBound
from ...classifier.situation.situate import situate
from ...classifier.verdict.case import Case
from ...classifier.verdict.residue import residue_of
from ...classifier.verdict.types import Verdict
from ...corpus import options

UNSAID = re.compile(r"is cut off|[Nn]othing in the log says why|does not say why|without a message")
"""Words with which an answer denies that the log says more."""
ANOTHER = re.compile(r"not a vLLM log|not of vLLM")
"""Words with which it denies that the log is vLLM's."""
UNKNOWN = re.compile(r"unrecognized arguments: ([^\n]*)")
_SERVE = re.compile(r"(?:vllm serve|vllm\.entrypoints\.openai\.api_server)\s+(?P<rest>[^|&;\n]*)")
_BLANK = re.compile(r"^(?:[A-Z][A-Z_]*|<.*>|\{.*\}|…|\.\.\.|\$.*)$")
"""What stands for a value that the log does not tell."""
_PINNED = re.compile(r"\bvllm==(?P<release>[^\s'\";,]*)")
_VARIABLE = re.compile(r"(?<![\w$])(?P<name>VLLM_[A-Z0-9_]+)=(?P<value>[^\s'\"]*)")


@dataclass(frozen=True)
class Claim:
    """Something that an answer says and that can be tested."""

    kind: str
    """``command``, ``value``, ``number``, ``in force``, ``release`` or ``denial``."""
    text: str
    fault: str = ""
    """What refutes it; empty where nothing does."""


def claims_of(verdict: Verdict, advice: Advice) -> list[Claim]:
    """Return the claims of an answer; each stands once."""
    bound = situate(verdict.incident).release
    found = [*_denials(verdict)]
    refused = {
        word
        for part in verdict.incident.ends
        for line in UNKNOWN.findall(part.decode("utf-8", "replace"))
        for word in line.split()
    }
    for fix in advice.fixes:
        found += _of_fix(fix, verdict, bound)
    if advice.corrected_command:
        words = [word for rest in _SERVE.findall(advice.corrected_command) for word in _split(rest)]
        # What was given stands, unless the log itself says that it is unknown.
        found += [
            claim
            for claim in _of_options(words, verdict, bound, advice.fixes[0].versions)
            if claim.kind != "command" or claim.text in refused or not _was_given(claim.text, verdict)
        ]
    return list(dict.fromkeys(found))


def _was_given(name: str, verdict: Verdict) -> bool:
    given = verdict.facts.get("arguments")
    bare = name.lstrip("-").replace("-", "_")
    return (isinstance(given, Mapping) and bare in given) or name in str(verdict.facts.get("command") or "")


def _denials(verdict: Verdict) -> Iterator[Claim]:
    said = f"{verdict.title} {verdict.summary} {' '.join(verdict.notes)}"
    if (another := ANOTHER.search(said)) is not None:
        # An engine that calls code of vLLM's shows its paths as well, and never its logger.
        ours = any(map(is_logged if verdict.incident.engine else is_ours, verdict.incident.ends))
        yield Claim("denial", another[0], "the log bears vLLM's own marks" if ours else "")
    healthy = verdict.bucket == "no_failure" and verdict.cause != REFUSED
    unsaid = UNSAID.search(said)
    if healthy or unsaid is not None:
        until = verdict.incident.last + 1 if healthy else min((item.line for item in verdict.evidence), default=0)
        left = next((line for line in residue_of(Case(verdict.incident)) if line.number < until), None)
        fault = f"line {left.number} is not accounted for: {left.text[:80]}" if left is not None else ""
        yield Claim("denial", unsaid[0] if unsaid is not None else "nothing failed", fault)


def _of_fix(fix: Fix, verdict: Verdict, bound: ReleaseBound) -> Iterator[Claim]:
    text = fix.change.partition("   #")[0]
    for release in _PINNED.findall(text):
        known = release in options.releases() or "$(" in release or _BLANK.match(release) is not None
        yield Claim("release", f"vllm=={release}", "" if known else "no registry has this release")
    if fix.kind == "step":
        return
    words = _split(text) if fix.kind == "flag" and text.startswith("--") else []
    words += [word for rest in _SERVE.findall(text) for word in _split(rest)]
    yield from _of_options(words, verdict, bound, fix.versions)
    for name, value in _VARIABLE.findall(text):
        shown = any(name.encode() in part for part in verdict.incident.ends)
        yield Claim("command", name, "" if shown else _missing(name, bound, fix.versions))
        if value and not _BLANK.match(value):
            given = re.search(
                rf"(?<!\w){name}=(['\"]?){re.escape(value)}\1(?:\s|$)", str(verdict.facts.get("command") or "")
            )
            yield Claim("in force", f"{name}={value}", "it is set so already" if given else "")
    if fix.kind == "flag" and any(_options(words)) and all(_is_so(words, verdict.facts)):
        yield Claim("in force", " ".join(words), "it is set so already")


def _of_options(words: Sequence[str], verdict: Verdict, bound: ReleaseBound, versions: str) -> Iterator[Claim]:
    for name, value in _options(words):
        yield Claim("command", name, _missing(name, bound, versions))
        about = options.describe(name, bound.last)
        if value and not _BLANK.match(value) and about is not None:
            yield Claim("value", f"{name} {value}", _unfit(value, about))
        test = _NUMBERS.get(name)
        if test is not None and (number := _number(value)) is not None:
            yield Claim("number", f"{name} {value}", test(number, verdict.facts))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a command with their first value."""
    for place, word in enumerate(words):
        if not re.match(r"--?[A-Za-z]", word):
            continue
        name, _, value = word.partition("=")
        behind = words[place + 1] if place + 1 < len(words) else ""
        yield name, value or ("" if behind.startswith("-") and _number(behind) is None else behind)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def _missing(name: str, bound: ReleaseBound, versions: str) -> str:
    """Return that no release that can have written the log, and none that the fix is said to be for, has an option or variable."""
    if bound.having(name) is not None:
        return ""
    if versions and any(options.exists(name, release) for release in options.releases() if in_range(release, versions)):
        return ""
    return f"vLLM {bound} has no {name}"


def _unfit(value: str, about: options.Option) -> str:
    """Return why the release's parser refuses a value; empty where it takes it."""
    if about.choices and value not in {str(choice) for choice in about.choices}:
        lowered = {str(choice).lower() for choice in about.choices}
        return "" if value.lower() in lowered else f"{about.name} takes {', '.join(map(str, about.choices))}"
    if about.kind in ("int", "float") and _number(value) is None and not re.fullmatch(r"[\d.]+[kKmMgG]?|auto", value):
        return f"{about.name} takes a number"
    if about.kind == "json" and value[:1] in "{[":
        try:
            json.loads(value)
        except ValueError:
            return f"{about.name} takes JSON"
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _told(facts: Mapping[str, object], name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _context(value: float, facts: Mapping[str, object]) -> str:
    fits, wanted = _told(facts, "max_len_that_fits"), _told(facts, "max_model_len")
    if fits is not None and wanted is not None and fits < min(value, wanted) and value >= wanted:
        return f"{value:g} tokens are more than the {fits:g} that fit"
    return ""


def _share(value: float, facts: Mapping[str, object]) -> str:
    free, total, weights = (
        _told(facts, name) for name in ("gpu_memory_free_gib", "gpu_memory_total_gib", "weights_gib")
    )
    if not 0 < value <= 1:
        return "a share is above 0 and at most 1"
    if total and free is not None and value * total > free + 0.01:
        return f"{value * total:.1f} GiB are more than the {free:.1f} GiB that are free"
    if total and weights and value * total < weights:
        return f"{value * total:.1f} GiB do not hold the weights' {weights:.1f} GiB"
    return ""


def _ranks(value: float, facts: Mapping[str, object]) -> str:
    count = _told(facts, "gpu_count")
    return f"{value:g} ranks on {count:g} GPUs" if count and value > count and not facts.get("node_count") else ""


_NUMBERS: Mapping[str, Callable[[float, Mapping[str, object]], str]] = {
    "--max-model-len": _context, "--gpu-memory-utilization": _share, "--tensor-parallel-size": _ranks,
}  # fmt: skip


def _is_so(words: Sequence[str], facts: Mapping[str, object]) -> Iterator[bool]:
    """Yield for each option of a fix whether it was given with this very value."""
    given = facts.get("arguments")
    for name, value in _options(words):
        now = given.get(name.lstrip("-").replace("-", "_")) if isinstance(given, Mapping) else None
        yield now is not None and (str(now) == value or (now is True and not value))
