"""What a watch tells, as events for programs and as text for people."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...classifier.serving.clock import span
from ...classifier.serving.marks import UNTOLD
from ...classifier.standstill.types import LABELS
from .shape import MEMORY, Ended, Event, Shape
from .watch import WatchListener

if TYPE_CHECKING:
    from ...classifier.report.model import Report
    from ...classifier.serving.types import Sample
    from ...classifier.standstill.patience import Patience
    from ...classifier.standstill.types import Standstill
    from ..render.interface import Options
    from .announce import Announcement

QUIET_CAUSES = frozenset({"unknown/nothing_recognised"})
"""Answers that say nothing of a command which ended as it should."""


class Teller(WatchListener):
    """Makes events of what a watch tells.

    Args:
        send: Takes each event.
        shape: How text is to look.
        patience: Says how long stages usually take.
        look_into: Returns what was found out about the processes that stand still; None where that was not allowed.
    """

    def __init__(
        self,
        send: Callable[[Event], None],
        shape: Shape,
        patience: Patience,
        look_into: Callable[[Standstill], str] | None = None,
    ) -> None:
        self._send, self._shape, self._patience, self._look_into = send, shape, patience, look_into
        self._stage, self._since = "", 0.0

    def stage(self, stage: str, now: float, report: Report | None) -> None:
        """Tell the stage, and the memory figures once they are known."""
        if stage != self._stage:
            self._stage, self._since = stage, now
        event: Event = {"event": "stage", "stage": stage, "since": self._since, "usual": self._patience.usual(stage)}
        if report is not None:
            event["facts"] = {name: report.facts.get(name) for name in MEMORY if name in report.facts}
        self._send(event)

    def statistics(self, sample: Sample) -> None:
        """Tell how the server does."""
        told = {"running": sample.running, "waiting": sample.waiting, "generation": sample.generation}
        if sample.usage != UNTOLD:
            told["kv_cache_usage"] = sample.usage
        self._send({"event": "statistics", **told})

    def prepare(self, report: Report) -> None:
        """Load what showing a report takes."""
        self._render(report)
        report.to_dict()

    def cause(self, announcement: Announcement) -> None:
        """Tell a cause, its correction or its retraction."""
        report, earlier = announcement.report, announcement.earlier
        event: Event = {"event": announcement.kind, "times": announcement.times, "report": report.to_dict()}
        if earlier is not None:
            event["earlier"] = earlier.cause
        if self._shape.style != "run":
            event["text"] = self._announced(announcement)
        self._send(event)

    def standstill(self, state: Standstill, cause: str) -> None:
        """Tell that a stage is slow, stands still, or goes on."""
        event: Event = {
            "event": "standstill", "verdict": state.verdict, "stage": state.stage, "seconds": round(state.seconds, 1),
            "usual": state.usual, "patience": state.patience, "evidence": list(state.evidence), "next": list(state.next),
        }  # fmt: skip
        if cause:
            event["cause"] = cause
        if self._look_into is not None and state.verdict in ("stalled", "unclear"):
            event["found"] = self._look_into(state)
        event["text"] = standstill_text(state, cause, str(event.get("found", "")))
        self._send(event)

    def end(self, report: Report, told: Report | None, ended: Ended) -> None:
        """Tell the answer for the whole log."""
        report = _with_notes(report, ended)
        event: Event = {"event": "end", "report": report.to_dict(), "failed": report.failed, "at": time.time()}
        if report.failed:
            event["prompt"] = report.pack().prompt()
        if ended.code is not None:
            event["exit_code"] = ended.code
        text = self._final(report, told, ended)
        if text:
            event["text"] = text
        self._send(event)

    def opinion(self, report: Report) -> None:
        """Tell what a model proposes, checked, behind the answer."""
        from ..render.formats.text import added

        text = added(report, self._options())
        self._send({"event": "opinion", "report": report.to_dict(), "failed": report.failed, "text": f"{text}\n"})

    def no_opinion(self, reason: str) -> None:
        """Tell why there is none."""
        self._send({"event": "opinion", "problem": reason, "text": f"vllm-triage: no second opinion: {reason}\n"})

    def no_log(self, reason: str, ended: Ended) -> None:
        """Tell that there is no answer."""
        event: Event = {"event": "end", "report": None, "failed": False, "problem": reason}
        if ended.code and not ended.stopped:
            event["text"] = f"vllm-triage: the command {_ending(ended.code)} without a line from a server\n"
        self._send(event)

    def _announced(self, announcement: Announcement) -> str:
        report, earlier = announcement.report, announcement.earlier
        if announcement.kind == "withdrawn" and earlier is not None:
            return f"\n↩ withdrawn: {earlier.cause}. {_went_on(report)}\n"
        head = ""
        if announcement.kind == "corrected" and earlier is not None:
            head = f"\n↩ corrected: not {earlier.cause} (told before), but\n"
        elif announcement.times > 1:
            line = report.evidence[0].line if report.evidence else 0
            return (
                f"\n✖ again, the {_ordinal(announcement.times)} time: {report.title}  {report.cause}  (line {line})\n"
            )
        return f"{head}\n{self._render(report)}"

    def _final(self, report: Report, told: Report | None, ended: Ended) -> str:
        style = self._shape.style
        if style == "follow" and told is not None and told.cause == report.cause:
            from ..render.words import plural

            return f"\nThe log has ended; it is still {report.cause} ({plural(report.input.lines, 'line')} read).\n"
        if style == "unwatched" and report.failed and told is not None and told.cause == report.cause:
            ending = _ending(ended.code) if ended.code is not None else "ended"
            return f"\nvllm-triage: the command {ending}; the cause is told above\n"
        if style not in ("run", "unwatched"):
            return f"\n{self._render(report)}"
        if report.failed and not (report.cause in QUIET_CAUSES and (not ended.code or ended.stopped)):
            return f"\n{self._render(report)}"
        if ended.code and not ended.stopped:
            return f"\nvllm-triage: the command {_ending(ended.code)}, and its output names no failure\n"
        return ""

    def _render(self, report: Report) -> str:
        from ..render.interface import Result, render

        return render("text", [Result(self._shape.name, report)], self._options())

    def _options(self) -> Options:
        from ..render.interface import Options

        shape = self._shape
        return Options(shape.verbose, shape.explain, shape.color, shape.width, shape.height, form=shape.form)


def standstill_text(state: Standstill, cause: str = "", found: str = "") -> str:
    """Return what people are told of a stage that takes long."""
    usual = f", usually {span(state.usual)}" if state.usual >= 1 else ""
    if state.verdict == "moving":
        return f"\n● moving again: {state.stage}, after {span(state.seconds)}\n"
    sign = {"slow": "…", "unclear": "?", "stalled": "■"}[state.verdict]
    head = f"\n{sign} {LABELS[state.verdict]}: {state.stage}, {span(state.seconds)}{usual}"
    if cause:
        head += f"   {cause}"
    lines = [head, *(f"    {told}" for told in state.evidence)]
    if state.verdict == "unclear":
        lines.append("    nothing but silence shows it: it may work")
    lines += [f"  next: {command}" for command in state.next[:4]]
    if found:
        lines += [f"  | {line}" for line in found.splitlines()]
    return "\n".join(lines) + "\n"


def _with_notes(report: Report, ended: Ended) -> Report:
    if ended.interrupted:
        report = report.with_note("Reading was interrupted (Ctrl-C); the answer is for what had been read.")
    if ended.code and not ended.stopped:
        report = report.with_note(f"The command {_ending(ended.code)}.")
    if ended.left_out:
        report = report.with_note(f"{ended.left_out:,} bytes came faster than they could be read and were left out.")
    return report


def _ending(code: int) -> str:
    import signal

    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _went_on(report: Report) -> str:
    return f"The server went on: it has reached {report.startup.reached}."


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
