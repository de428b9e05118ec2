"""From what is known of a server at one moment to what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..serving.clock import span
from ..serving.types import Sample
from . import limits
from .activity import Bar
from .patience import Patience
from .queue import Queues
from .types import ProcessState, Standstill, Verdict
from .work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...corpus.kinds import Finding


@dataclass(slots=True)
class Situation:
    """What is known; times are seconds on one clock."""

    patience: Patience
    stage: str = "launch"
    since: float = 0.0
    """When the stage began."""
    stood: float = 0.0
    """Seconds of it that were a standstill, which was told."""
    progress: float = 0.0
    """When the last line came that shows progress."""
    line: int = 0
    """Its number."""
    bar: Bar | None = None
    checkpoint: float = 0.0
    """GiB of the weights' files; 0 where the log does not say."""
    notices: int = 0
    """Notices of a full queue since then."""
    ranks: set[tuple[int, int]] = field(default_factory=set)
    world: int = 1
    sample: Sample | None = None
    """The last line of statistics."""
    sample_at: float = 0.0
    queues: Queues = field(default_factory=Queues)
    answered: float = 0.0
    """When a request was answered last."""
    interval: float = 0.0
    """Seconds between two lines of statistics; 0 where the log has not shown it."""
    processes: tuple[ProcessState, ...] = ()
    """Empty where they run on another machine."""
    work: Work | None = None
    stopped: tuple[ProcessState, ...] = ()
    """Processes that a signal has stopped."""
    stopped_since: float = 0.0


def judge(at: Situation, now: float) -> Standstill | None:
    """Return what is to be said at ``now``; None where there is nothing to say.

    Evidence besides silence is asked first: a stopped process, a server that owes its statistics. What is left is a silence
    that is longer than the stage's patience, and what else speaks of it.
    """
    patience = _patience(at)
    if at.stage == "shutdown" or not (at.stopped or patience):
        return None
    if at.stopped:
        return _stopped(at, now)
    return (_unanswered(at, now) or _overrun(at, now)) if at.stage == "serving" else _starting(at, now, patience)


def _patience(at: Situation) -> float:
    if at.stage != "weights":
        return at.patience.of(at.stage)
    files = int(at.bar.total) if at.bar is not None and at.bar.total.isdigit() else 1
    return at.patience.of_weights(at.checkpoint, files, at.bar.step if at.bar is not None else 0.0)


def _starting(at: Situation, now: float, patience: float) -> Standstill | None:
    """Judge a start: a silence, or a stage that takes long although it is not silent."""
    if now - at.progress >= patience:
        return _silent(at, now, patience)
    if at.bar is not None and not at.bar.complete and _behind(at.bar, at, now):
        left = f"at the rate so far the rest takes {span(_rest(at.bar))}"
        return _state(at, "slow", now - at.since, (f"the progress bar moves: {_bar(at.bar)}; {left}",), patience)
    took = now - at.since - at.stood
    if took >= max(patience, limits.ROOM * at.patience.usual(at.stage)) and now - at.progress < limits.RECENT:
        return _state(at, "slow", now - at.since, ("lines go on to come, the stage does not end",), patience)
    return None


def _stopped(at: Situation, now: float) -> Standstill:
    names = ", ".join(f"{state.name} (pid {state.pid})" for state in at.stopped[:8])
    told = (
        f"stopped by a signal, for {span(now - at.stopped_since)} (state T, as SIGSTOP and debuggers leave it): {names}"
    )
    pids = tuple(state.pid for state in at.stopped)
    return _state(
        at,
        "stalled",
        now - min(at.progress, at.stopped_since) if at.stage != "serving" else now - at.stopped_since,
        (told,),
        limits.STOPPED,
        next_commands=(f"kill -CONT {' '.join(map(str, pids[:8]))}",),
        pids=pids,
    )


def _unanswered(at: Situation, now: float) -> Standstill | None:
    """Judge a server at work: as long as requests run it prints statistics, and these show tokens."""
    sample = at.sample
    if sample is None or not sample.asked or at.answered > at.sample_at:
        return None
    measured = bool(at.interval)
    interval = at.interval or limits.INTERVAL
    patience = max(at.patience.of("serving"), limits.INTERVALS * interval) * (1 if measured else 2)
    overdue = now - at.sample_at
    if overdue < patience:
        return None
    last = (
        f"{sample.running} requests ran and {sample.waiting} waited when the statistics came last, {span(overdue)} ago"
    )
    told = [f"{last}; they come every {interval:.0f} s while requests run"]
    if sample.idle:
        told.append("that line showed no token computed")
    if at.notices:
        told.append(_notices(at.notices))
    verdict: Verdict = "stalled"
    if at.work is not None:
        told.append(f"its processes: {at.work.told()}")
        if at.work.computes and not sample.idle and overdue < 3 * patience:
            # One step may compile, or prefill a very long prompt.
            verdict = "unclear"
    return _state(at, verdict, overdue, tuple(told), patience, pids=_all(at))


def _overrun(at: Situation, now: float) -> Standstill | None:
    """Judge a server at work that answers, but less than it is asked."""
    if now - at.sample_at >= limits.QUEUE_FOR:
        return None
    told, seconds = at.queues.told(now)
    return _state(at, "slow", seconds, (told,), limits.QUEUE_FOR) if told else None


def _silent(at: Situation, now: float, patience: float) -> Standstill:
    """Judge a silence longer than the stage's patience."""
    silent = now - at.progress
    told: list[str] = []
    stuck = False
    if at.bar is not None and not at.bar.complete and at.bar.at >= at.since:
        stands = now - at.bar.at
        told.append(f"the progress bar does not move: {_bar(at.bar)}, for {span(stands)}")
        stuck = bool(at.bar.step) and stands > limits.STEP_ROOM * at.bar.step
    if at.notices >= limits.REPEATS:
        told.append(_notices(at.notices))
        stuck = True
    if at.stage == "distributed_init" and at.ranks:
        world = max(total for _, total in at.ranks)
        missing = sorted(set(range(world)) - {rank for rank, total in at.ranks if total == world})
        if missing:
            told.append(f"of {world} ranks {_few(missing)} have not reported their place")
            stuck = True
    if at.work is not None:
        told.append(f"its processes: {at.work.told()}")
        if at.work.reads or (at.work.computes and at.stage != "distributed_init" and not at.notices):
            return _state(at, "slow", silent, tuple(reversed(told)), patience, pids=_all(at))
        stuck = stuck or not at.work.computes
    told.append(f"no line for {span(silent)}")
    return _state(at, "stalled" if stuck else "unclear", silent, tuple(told), patience, pids=_all(at))


def _state(  # noqa: PLR0913 - what a verdict is made of
    at: Situation,
    verdict: Verdict,
    seconds: float,
    evidence: tuple[str, ...],
    patience: float,
    *,
    next_commands: tuple[str, ...] = (),
    pids: tuple[int, ...] = (),
) -> Standstill:
    return Standstill(
        verdict=verdict,
        stage=at.stage,
        seconds=seconds,
        usual=at.patience.usual(at.stage),
        patience=patience,
        evidence=evidence,
        next=next_commands or (() if verdict == "slow" else _next(at, pids)),
        pids=pids,
        finding=_finding(at) if verdict == "stalled" else "",
        line=at.line,
    )


def _finding(at: Situation) -> Finding:
    """Return what a server is found to do that stands still."""
    if at.stage in ("api_ready", "serving"):
        return "stalled"
    # Who waits for another rank in the process group is not stopped itself.
    return "silence" if at.stage == "distributed_init" and at.world != 1 and not at.stopped else "stood_still"


def _next(at: Situation, pids: tuple[int, ...]) -> tuple[str, ...]:
    engines = [state.pid for state in at.processes if "EngineCore" in state.name or "Worker" in state.name]
    named = engines[:8] or list(pids[:4])
    dumps = tuple(f"py-spy dump --pid {pid}" for pid in named) or ("py-spy dump --pid ENGINE_CORE_PID",)
    if at.stage == "distributed_init" or at.notices:
        return (*dumps, "nvidia-smi", "NCCL_DEBUG=INFO in the environment of the next start names the step that hangs")
    return (*dumps, "nvidia-smi")


def _behind(bar: Bar, at: Situation, now: float) -> bool:
    """Return whether a bar that moves needs far longer than the stage's patience."""
    return now - at.since >= at.patience.of(at.stage) / 2 and _rest(bar) > limits.WEIGHTS_ROOM * at.patience.of(
        at.stage
    )


def _rest(bar: Bar) -> float:
    try:
        done, total = float(bar.done.rstrip("kMGT")), float(bar.total.rstrip("kMGT"))
    except ValueError:
        return 0.0
    same = bar.done[-1:].isalpha() == bar.total[-1:].isalpha()
    return bar.step * bar.steps * (total - done) / done if same and done and bar.steps else 0.0


def _bar(bar: Bar) -> str:
    pace = f", {bar.step:.3g} s for each step so far" if bar.step else ""
    return f"{bar.name or 'progress'} {bar.done} of {bar.total}{pace}"


def _notices(count: int) -> str:
    return f"{count} notices of 'No available shared memory broadcast block' with nothing in between"


def _few(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")


def _all(at: Situation) -> tuple[int, ...]:
    return tuple(state.pid for state in at.processes[:16])
