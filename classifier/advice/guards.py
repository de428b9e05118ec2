"""Holds fixes against the rows that say what speaks against them (``corpus/guards.toml``)."""

from __future__ import annotations

from math import inf

from ...corpus.actions import Action, DropOption, DropVariable, Install, Run, Serve, SetOption, SetVariable
from ...corpus.guards import Names, flags_of
from ...corpus.records import replace
from ...corpus.remedies.find import SOURCE
from ..conditions import shows
from ..facts.versions import in_range
from ..fix import CORRECTION
from ..patterns.lazy import LazyPattern
from ..patterns.precompiled import compiled
from ..templates import fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...corpus.guards import Guard, Guards
    from ..fix import Fix
    from .context import Context

_TOLD = LazyPattern(
    r"total capacity of (?P<total>[\d.]{1,9}) GiB of which .{1,20} is free\.(?P<others>(?: Process \d{1,9} has [\d.]{1,9} [GM]iB memory in use\.){1,16})"
    r" (?:Including non-PyTorch memory, )?this process has "
)
"""What torch says where it sees itself among the processes of the GPU: in a container it takes itself for another one."""
_OTHER = LazyPattern(r"Process (?P<pid>\d+) has (?P<held>[\d.]+) GiB")
_LIST = LazyPattern(r"\bReasons: \{(?P<list>[^{}]{1,2000})\}")
_BACKEND = LazyPattern(r"\b[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?: \[(?P<reasons>[^\[\]]{1,400})\]")
_SIGN = "Reasons: {"
_MILLISECONDS = frozenset({"VLLM_RPC_TIMEOUT"})
"""Variables that hold milliseconds without saying so (vllm/envs.py)."""
_WAITED = LazyPattern(
    r"(?i)(?:timed out (?:after|in)|time-?out (?:of|after)|within|after waiting(?: for)?|ran for|waited(?: for)?) (?P<time>\d[\d.]{0,9}) ?(?P<unit>ms|milliseconds?|s|sec(?:ond)?s?|minutes?|min)\b"
)
_UNITS = {"ms": 0.001, "mi": 60.0, "s": 1.0, "se": 1.0}


def withhold(fix: Fix, context: Context, guards: Guards) -> tuple[Fix | None, str]:
    """Return a fix without the parts that cannot matter here, or None with the reason why all of it cannot.

    Args:
        fix: As it holds otherwise.
        context: Of the failed start.
        guards: The rows.
    """
    if context.other_engine and (fix.kind == "flag" or any(isinstance(each, Serve) for each in fix.actions)):
        return None, f"this is a log of {context.other_engine}, not of vLLM"
    told = LogTexts(context)
    part_of: list[Action] = []
    why = ""
    for guard, action in _concerned(fix, guards):
        if (fix.tier == CORRECTION) > guard.always or (guard.presumes and _presumes_too_much(guard, fix)):
            continue
        if guard.part and action in part_of:
            continue
        if _holds(guard, action, fix, told):
            value = getattr(action, "value", "")
            why = fill(guard.why, told.with_value(value))[0]
            if not guard.part or action is None:
                return None, why
            part_of.append(action)
    if not part_of:
        return fix, ""
    left = tuple(each for each in fix.actions if each not in part_of)
    return (replace(fix, actions=left), "") if left else (None, why)


def _presumes_too_much(guard: Guard, fix: Fix) -> bool:
    """Return whether a row's guess is worth less than the fix: the message's own, or proposed by who may know what no line says."""
    return fix.source == SOURCE or bool(fix.proposed_by and not guard.when)


def _concerned(fix: Fix, guards: Guards) -> Iterator[tuple[Guard, Action | None]]:
    """Yield the rows that are about a fix, in the order of the file, each with the action that it is about."""
    found: dict[str, Action | None] = {}
    names = guards.names
    for kind, name, action in _names_of(fix):
        for held, guard in names[kind]:
            if guard.id not in found and held.hold(name) and _about(guard, kind, action, fix):
                found[guard.id] = action
    for guard in guards.rows:
        if guard.vllm and _of_vllm(fix):
            found[guard.id] = None
        if guard.id in found:
            yield guard, found[guard.id]


def _names_of(fix: Fix) -> Iterator[tuple[str, str, Action | None]]:
    for action in fix.actions:
        if isinstance(action, SetOption):
            yield "option", action.name, action
            for value in action.values:
                yield "value", value, action
        elif isinstance(action, SetVariable):
            yield "variable", action.name, action
            yield "value", action.value, action
        elif isinstance(action, DropVariable):
            yield "variable", action.name, action
        elif isinstance(action, Install):
            yield "installs", action.package, action
        elif isinstance(action, DropOption):
            yield "dropped", action.name, action
        elif isinstance(action, Run):
            yield "runs", action.shell, action
    for tag in fix.tags:
        yield "tag", tag, None
    yield "kind", fix.kind, None


def _about(guard: Guard, kind: str, action: Action | None, fix: Fix) -> bool:
    """Whether a row that is about a name is about the fix as well: its kind, its value, the way in which it moves."""
    about = guard.about
    if kind == "kind":
        return set(about) == {"kind"}
    if "kind" in about and fix.kind not in about["kind"]:
        return False
    if kind == "value" and "option" in about and not Names(about["option"]).hold(getattr(action, "name", "")):
        return False
    if kind == "option" and "value" in about:
        return False  # the value decides
    return not guard.moves or guard.moves == fix.moves


def _of_vllm(fix: Fix) -> bool:
    """Whether a fix has to do with vLLM at all."""
    return (
        fix.kind == "flag"
        or "vllm" in fix.tags
        or fix.upgrade
        or fix.installs() is not None
        or any(each.name.startswith("VLLM_") for each in fix.variables)
    )


def _holds(guard: Guard, action: Action | None, fix: Fix, told: LogTexts) -> bool:
    """Whether all that a row asks for holds."""
    context = told.context
    value = getattr(action, "value", "")
    excluded = (
        (value in guard.unless_value and isinstance(action, (SetOption, SetVariable)))
        or (guard.alone and not all(each is action or isinstance(each, Serve) for each in fix.actions))
        or (guard.versions and in_range(context.release, guard.versions) is not True)
        or (guard.signs and not any(sign in told.words for sign in guard.signs))
        or (guard.unless_framework and context.framework)
    )
    if excluded:
        return False
    values = told.with_value(value)
    if not all(shows(_asked(condition, value, action), values) for condition in guard.when):
        return False
    return all(_said(guard, name, told) for name in guard.expressions)


def _asked(condition: str, value: str, action: Action | None) -> str:
    """Return a condition with the value that a fix sets; as seconds where it is a time, by the name of what is set."""
    condition = condition.replace("{value}", value or "0")
    if "{seconds}" not in condition:
        return condition
    seconds = float(value) if value.replace(".", "", 1).isdigit() else inf
    name = getattr(action, "name", "")
    return condition.replace(
        "{seconds}", f"{seconds / 1000 if name in _MILLISECONDS or name.endswith('_MS') else seconds:g}"
    )


def _said(guard: Guard, name: str, told: LogTexts) -> bool:
    """Whether the log says, or does not say, what one expression of a row asks for."""
    trace = told.context.trace
    plain = name.removeprefix("unless_")
    if trace is None and plain in ("raised", "frames", "innermost", "process"):
        return False
    if plain == "mentions" and not told.context.words:
        return False
    found = compiled(guard.expressions[name], flags_of(name)).search(told.texts[plain]())
    return (found is None) if plain != name else (found is not None)


class LogTexts:
    """What rows ask of a log, each worked out when it is asked for."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.words = f"{context.facts.get('gpu_name') or ''} {context.words}"
        self.texts: dict[str, Callable[[], str]] = {
            "mentions": lambda: self.words,
            "said": lambda: context.text,
            "frames": lambda: context.stack,
            "raised": self._raised,
            "innermost": self._innermost,
            "process": lambda: context.trace.process if context.trace is not None else "",
        }

    def _raised(self) -> str:
        trace = self.context.trace
        return f"{trace.kind}: {trace.message}" if trace is not None else ""

    def _innermost(self) -> str:
        trace = self.context.trace
        if trace is None or not trace.frames:
            return ""
        return f"{trace.frames[-1].path}:{trace.frames[-1].function}: {trace.kind}"

    def with_value(self, value: str) -> Mapping[str, object]:
        """Return facts and what follows from them, with the value that a fix sets."""
        return _Facts(self.context, value)


class _Facts(dict[str, object]):
    """Facts, and beside them what is worked out for the rows."""

    def __init__(self, context: Context, value: str) -> None:
        super().__init__({**context.facts, "value": value, "release": context.release})
        self._context = context

    def get(self, name: str, default: object = None) -> object:
        context = self._context
        head, _, rest = name.partition(":")
        if rest and head in _ASKED:
            return _ASKED[head](context, rest)
        if name == "refused_backend":
            return f"{super().get('value')}: [" in _listed(context)
        return _DERIVED[name](context) if name in _DERIVED else super().get(name, default)


_ASKED: dict[str, Callable[[Context, str], object]] = {
    "in_force": lambda context, rest: context.in_force(rest),
    "backends_refuse": lambda context, rest: _refused_for(context, f"{rest} not supported"),
}
_DERIVED: dict[str, Callable[[Context], object]] = {
    "platform": lambda context: context.platform or None,
    "stranger": lambda context: context.stranger,
    "one_gpu": lambda context: context.one_gpu,
    "ranks_in_force": lambda context: context.in_force("--tensor-parallel-size"),
    "longest_prompt": lambda context: longest_prompt(context),  # noqa: PLW0108 - defined below
    "prompt_beyond": lambda context: _prompt_beyond(context),  # noqa: PLW0108 - the same
    "death_told": lambda context: context.captures.get("death_told"),
    "waited_s": lambda context: waited(context.text),
    "other_process_gib": lambda context: other_process(context)[1] or None,
    "oom_gpu_gib": lambda context: other_process(context)[2] or None,
    "other_process_share": lambda context: other_process(context)[1] / (other_process(context)[2] or 1),
}
"""What rows may ask for beside facts."""


def other_process(context: Context) -> tuple[str, float, float]:
    """Return number and GiB of the other process that holds most, and the GPU's GiB; zeros where the error names none."""
    said = context.trace.message if context.trace is not None else ""
    found = _TOLD.search(said) or _TOLD.search(context.text)
    if found is None:
        return "", 0.0, 0.0
    others = [(float(other["held"]), other["pid"]) for other in _OTHER.finditer(found["others"])]
    held, pid = max(others, default=(0.0, ""))
    return pid, held, float(found["total"])


def longest_prompt(context: Context) -> float | None:
    """Return the tokens that one step must take at least; None where prompts are cut into chunks.

    Without chunked prefill vLLM refuses a smaller limit than the longest prompt.
    """
    chunked = context.arguments.get("enable_chunked_prefill")
    if chunked is True or (chunked is None and context.facts.get("engine") != "V0"):
        return None
    length = context.facts.get("max_model_len")
    return float(length) if isinstance(length, int) else float("inf")


def waited(text: str) -> float | None:
    """Return the seconds that an error says somebody waited, the longest of them; None where it tells none."""
    times = [
        float(found["time"].rstrip("."))
        * (0.001 if found["unit"].startswith("milli") else _UNITS[found["unit"][:2].lower()])
        for found in _WAITED.finditer(text)
    ]
    return max(times, default=None)


def _prompt_beyond(context: Context) -> float | None:
    """Return how many tokens the prompt has beyond the context that the error names; None where it names not both."""
    prompt, context_length = (str(context.captures.get(name) or "") for name in ("prompt_tokens", "max_model_len"))
    return int(prompt) - int(context_length) if prompt.isdigit() and context_length.isdigit() else None


def _listed(context: Context) -> str:
    """Return the backends that vLLM refuses with their reasons, as it lists them; "" where it lists none."""
    found = _LIST.search(context.words) if _SIGN in context.words else None
    return found["list"] if found is not None else ""


def _refused_for(context: Context, asked: str) -> bool | None:
    """Whether the backends with the fewest reasons give one; None where vLLM lists no reasons.

    ``Reasons: {FLASH_ATTN: [kv_cache_dtype not supported, block_size not supported], TRITON_ATTN: [block_size not supported]}``: a
    backend whose reasons are all taken away is enough, so that what others refuse besides need not change.
    """
    lists = [_reasons(each["reasons"]) for each in _BACKEND.finditer(_listed(context))]
    fewest = min(map(len, lists), default=0)
    return any(asked in reasons for reasons in lists if len(reasons) == fewest) if fewest else None


def _reasons(text: str) -> frozenset[str]:
    return frozenset(" ".join(reason.strip(" '\"").split()) for reason in text.split(","))
