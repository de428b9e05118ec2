"""What a pack says above the lines: situation, release, arguments, facts, sums, candidates, fixes that were ruled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from ....corpus.records import Record, record
from ...proposal import BEHIND, OVERRULED
from ..model import Fix, Report, Withheld
from ..shown import cut, printable
from .model import Candidate, PackPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...serving.types import Records, Sample

T = TypeVar("T", Candidate, Withheld)
RELEASE = (
    "vllm_version", "engine", "platform", "torch_version", "cuda_version", "rocm_version", "driver_version", "nccl_version",
    "transformers_version", "python_version", "flashinfer_version", "container_image", "gpu_name", "gpu_count",
)  # fmt: skip
"""Facts that say what ran where."""
UNSAID = frozenset({*RELEASE, "arguments", "command", "world_size", "served_model_name", "tokenizer"})
"""Facts that stand elsewhere, or that say again what others say."""
FIRST = (
    "max_model_len", "gpu_memory_utilization", "tensor_parallel_size", "pipeline_parallel_size", "gpu_memory_total_gib",
    "gpu_memory_free_gib", "weights_gib", "kv_cache_available_gib", "kv_cache_needed_gib", "max_len_that_fits", "quantization",
    "dtype", "kv_cache_dtype", "max_num_seqs", "max_num_batched_tokens", "attention_backend", "enforce_eager", "architecture",
)  # fmt: skip
"""Facts that matter most often."""
SHARES = {"situation": 0.07, "release": 0.04, "arguments": 0.06, "facts": 0.06, "sums": 0.04, "series": 0.05}
"""How much of a budget each part may take where lines have to be left out for it."""
CANDIDATES, WITHHELD = 0.13, 0.04
"""The same for what rules propose, and for fixes that were ruled out."""
PROPOSED, FIXES, REASONS = 3, 3, 4
"""Candidates, fixes of each, and reasons for each."""
STEPS = 3
"""Steps of the start from which on they are told."""
SAMPLES = 8
"""Lines of statistics shown of a series."""
VALUE = 160
"""Characters of a value."""


@record(frozen=True, slots=True)
class About(Record):
    """What there is to say, whole."""

    told: tuple[PackPart, ...]
    candidates: tuple[Candidate, ...]
    withheld: tuple[Withheld, ...]


def about(report: Report, release: str = "", series: Sequence[str] = ()) -> About:
    """Return what there is to say of a report besides its lines.

    Args:
        report: The answer.
        release: What bounds the release, where the log does not name it.
        series: What the server's statistics said last.
    """
    parts = {
        "situation": [*_situation(report)],
        "release": [*_release(report.facts, release)],
        "arguments": [*_arguments(report.facts)],
        "facts": [*_values(_unsaid(report.facts))],
        "sums": [*_sums(report)],
        "series": list(series),
    }
    told = tuple(PackPart(part=name, text=tuple(text)) for name, text in parts.items() if text)
    # What a model proposed is not shown to the next one: the pack is what the log says, and what rules make of it.
    own = (item for item in report.withheld if not item.proposed_by and item.reason not in (BEHIND, OVERRULED))
    withheld = tuple(Withheld(title=one_line(item.title), reason=one_line(item.reason)) for item in own)
    return About(told, tuple(_candidates(report)), withheld)


def fitted(whole: About, room: int, budget: int) -> tuple[About, list[str]]:
    """Return what fits into ``room`` characters, in the order of the pack, and the names of what was cut.

    Args:
        whole: All there is to say.
        room: Characters.
        budget: Of the whole pack, of which each part has a share; 0 where each part may take what is left.
    """
    told, missing, left = [], [], room
    for part in whole.told:
        text, complete = _clipped(part.text, min(left - len(part.part) - 3, _share(SHARES[part.part], budget, left)))
        if text:
            told.append(PackPart(part=part.part, text=text))
            left -= sum(map(len, text)) + len(text) + len(part.part) + 3
        if not complete:
            missing.append(part.part)
    candidates, left = _taken(whole.candidates, _smaller, left, _share(CANDIDATES, budget, left))
    withheld, left = _taken(whole.withheld, _shorter, left, _share(WITHHELD, budget, left))
    missing += ["candidates"] * (candidates != whole.candidates) + ["withheld fixes"] * (withheld != whole.withheld)
    return About(tuple(told), candidates, withheld), missing


def size_of_all(whole: About) -> int:
    """Return how many characters all of it takes in the text."""
    told = sum(len(part.part) + sum(map(len, part.text)) + 3 * len(part.text) + 20 for part in whole.told)
    return told + sum(size_of(item) for items in (whole.candidates, whole.withheld) for item in items)


def size_of(item: Candidate | Withheld) -> int:
    """Return how many characters a candidate, or a fix that was ruled out, takes in the text."""
    from .text import candidate_lines

    if isinstance(item, Withheld):
        return len(item.title) + len(item.reason) + 5
    return sum(len(line) + 1 for line in candidate_lines(item))


def series_of(records: Records | None) -> list[str]:
    """Return what a server's statistics said, from when they changed last to the end: a few lines of each engine."""
    told = []
    for name, samples in (records.engines if records is not None else {}).items():
        if len(samples) > 1:
            told += [_sample(name if len(records.engines) > 1 else "", sample) for sample in _changing(samples)]  # type: ignore[union-attr]
    return told[-2 * SAMPLES :]


def _changing(samples: Sequence[Sample]) -> list[Sample]:
    """Return the last samples, and before them those at which most changed."""
    last = list(samples[-SAMPLES // 2 :])
    earlier = samples[: -SAMPLES // 2]
    if not earlier:
        return last
    changes = [
        (
            abs(after.waiting - before.waiting) + abs(after.running - before.running) + abs(after.usage - before.usage),
            at,
        )
        for at, (before, after) in enumerate(pairwise(earlier), 1)
    ]
    places = sorted(at for _, at in sorted(changes, key=lambda item: (-item[0], -item[1]))[: SAMPLES // 2])
    return [earlier[at] for at in places] + last


def _sample(name: str, sample: Sample) -> str:
    preempted = f", {sample.preemptions} preempted" if sample.preemptions else ""
    usage = f", KV cache {sample.usage:g} %" if sample.usage >= 0 else ""
    return (
        f"line {sample.line}{f' {name}' if name else ''}: {sample.prompt:g} prompt and {sample.generation:g} generated tokens/s, "
        f"{sample.running} running, {sample.waiting} waiting{usage}{preempted}"
    )


def _situation(report: Report) -> Iterator[str]:
    if report.story is not None:
        yield from report.story.told
    if len(report.startup.stages) >= STEPS:
        steps = ", ".join(
            f"{stage.stage} line {stage.line}" + (f" ({stage.seconds:g} s)" if stage.seconds else "")
            for stage in report.startup.stages[:14]
        )
        yield f"Steps of the start, the furthest is {report.startup.reached}: {steps}."
    if report.incidents > 1 and (report.story is None or report.story.starts < 2):
        yield f"The log holds {report.incidents} starts."
    if report.filtered is not None:
        yield f"The question leaves this failure out ({report.filtered.by}: {', '.join(report.filtered.ids)})."
    told = {proposal.told for proposal in report.proposals}
    yield from (note for note in report.notes if note not in told)


def _release(facts: Mapping[str, object], bound: str) -> Iterator[str]:
    if "vllm_version" not in facts and bound:
        yield f"vllm_version={bound}"
    yield from _values((name, facts[name]) for name in RELEASE if facts.get(name) not in (None, ""))


def _arguments(facts: Mapping[str, object]) -> Iterator[str]:
    given = facts.get("arguments")
    if isinstance(given, Mapping):
        yield from _values(given.items())


def _unsaid(facts: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the facts that stand nowhere else."""
    given = facts.get("arguments")
    said = {name: str(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
    names = [*(name for name in FIRST if name in facts), *(name for name in facts if name not in FIRST)]
    yield from ((name, facts[name]) for name in names if name not in UNSAID and said.get(name) != str(facts[name]))


def _values(pairs: Iterable[tuple[object, object]]) -> Iterator[str]:
    told = [f"{name}={cut(one_line(str(value)), VALUE)}" for name, value in pairs if value not in (None, "", [], {})]
    if told:
        yield ", ".join(told)


def _sums(report: Report) -> Iterator[str]:
    if report.memory is not None:
        yield report.memory.line
        yield from (f"{way.change}: {way.yields}" for way in report.memory.ways[:3])


def _candidates(report: Report) -> Iterator[Candidate]:
    reasons = dict(_reasons(report.explanation))
    if report.bucket not in ("unknown", "no_failure") or report.decided_by != "none":
        pro, contra = reasons.pop(report.cause, ([], []))
        lines = [str(item.line) for item in report.evidence if not item.mark]
        pro = [*([f"line{'s' if len(lines) > 1 else ''} {', '.join(lines)}"] if lines else []), *pro]
        yield Candidate(
            cause=report.cause, confidence=report.confidence, title=one_line(report.title), decided_by=report.decided_by,
            pro=tuple(pro[:REASONS]), contra=tuple(contra[:REASONS]), fixes=tuple(map(_fix, [fix for fix in report.fixes if not fix.proposed_by][:FIXES])),
        )  # fmt: skip
    shares = {item.bucket: item.confidence for item in report.alternatives}
    for cause, (pro, contra) in list(reasons.items())[: PROPOSED - 1]:
        bucket = cause.partition("/")[0]
        confidence = shares.pop(bucket, 0.0)
        yield Candidate(cause=cause, confidence=confidence, pro=tuple(pro[:REASONS]), contra=tuple(contra[:REASONS]))
    for bucket, share in list(shares.items())[:PROPOSED]:
        yield Candidate(cause=bucket, confidence=share)


def _reasons(explanation: Sequence[str]) -> Iterator[tuple[str, tuple[list[str], list[str]]]]:
    """Yield the causes that were weighed, each with what speaks for and what against it."""
    for line in explanation:
        head, colon, rest = line.partition(": ")
        cause, _, score = head.partition(" ")
        if colon and "/" in cause and score.replace(".", "", 1).lstrip("-").isdigit():
            said = rest.split("; ")
            against = [reason for reason in said if reason.startswith("-")]
            yield cause, ([reason for reason in said if reason not in against], against)


def _fix(fix: Fix) -> str:
    change = f": {fix.change}" if fix.change not in ("", fix.title) else ""
    return one_line(f"{fix.title}{change}" + (f" ({fix.why})" if fix.why else ""))


def one_line(text: str) -> str:
    """Return a text on one line, without control characters, direction marks, and what would open or close a fence."""
    return printable(" ".join(text.split())).replace("```", "` ` `").replace("~~~", "~ ~ ~")


def _share(share: float, budget: int, left: int) -> int:
    return int(share * budget) if budget else left


def _clipped(texts: Sequence[str], room: int) -> tuple[tuple[str, ...], bool]:
    """Return as many texts as fit, the last one cut where enough of it is left, and whether that is all."""
    found: list[str] = []
    for text in map(one_line, texts):
        if len(text) + 1 > room:
            if room >= 100:
                found.append(text[: room - 3].rsplit(" ", 1)[0] + " …")
            return tuple(found), False
        found.append(text)
        room -= len(text) + 1
    return tuple(found), True


def _taken(items: tuple[T, ...], smaller: Callable[[T], T], left: int, room: int) -> tuple[tuple[T, ...], int]:
    """Return as many items as fit, the first ones shortened where they do not fit as they are, and what room is left."""
    found: list[T] = []
    room = min(left, room) - 24
    for item in items:
        shown = item if size_of(item) <= room else smaller(item)
        if size_of(shown) > room:
            break
        found.append(shown)
        room -= size_of(shown)
        left -= size_of(shown) + (0 if len(found) > 1 else 24)
    return tuple(found), left


def _smaller(item: Candidate) -> Candidate:
    # The change without its reason.
    fixes = tuple(cut(fix.partition(" (")[0], 120) for fix in item.fixes[:1])
    return Candidate(
        cause=item.cause, confidence=item.confidence, title=cut(item.title, 100), decided_by=item.decided_by,
        fixes=fixes,
    )  # fmt: skip


def _shorter(item: Withheld) -> Withheld:
    return Withheld(title=cut(item.title, 80), reason=cut(item.reason, 100))
