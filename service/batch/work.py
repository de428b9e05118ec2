"""What a worker does with a chunk of logs: answer each start of each log, and write the rows down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...classifier.errors import InputError
from ...classifier.incidents.effort import SLOW
from ...classifier.report.model import Report
from ...classifier.report.shown import shown
from .asking import Asking, triage_of
from .log import Chunk, Log
from .reading import source_of
from .row import Row, places_in, row_of, row_of_problem
from .store.folder import folder_at
from .store.formats import format_named
from .store.pending import keep


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a chunk whose rows are written."""

    logs: int
    bytes: int
    buckets: Counter[str]
    """Starts by bucket."""
    problems: tuple[tuple[str, str], ...]
    """Logs that could not be read, and why."""
    slow: Counter[str] = field(default_factory=Counter)
    """Rules that took too long, with the number of starts in which they may have missed something."""


@dataclass(frozen=True, slots=True)
class Write:
    """Answers every start of every log, and writes the rows into a folder of reports.

    Args:
        asking: What is asked.
        place: The folder of reports.
        form: ``parquet`` or ``jsonl``.
        pattern: Searched in each log's name: its groups tell node, release, model, GPU or day; "" for none.
        packs: Folder for the evidence of what failed; "" for none.
    """

    asking: Asking
    place: str
    form: str
    pattern: str = ""
    packs: str = ""

    def __call__(self, chunk: Chunk) -> Outcome:
        """Write the rows of a chunk, all or none."""
        pattern = re.compile(self.pattern) if self.pattern else None
        evidence: dict[str, str] = {}
        slow: Counter[str] = Counter()
        taken = evidence if self.packs else None
        rows = [row for log in chunk for row in rows_of(log, self.asking, pattern, taken, slow)]
        for name, text in evidence.items():
            folder_at(self.packs).write(name, text.encode("utf-8", "replace"))
        keep(folder_at(self.place), format_named(self.form), chunk, rows)
        return Outcome(
            len(chunk),
            sum(max(0, log.size) for log in chunk),
            Counter(row.bucket for row in rows),
            tuple((row.source, row.problem) for row in rows if row.problem),
            slow,
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """A log with its answer, or why there is none."""

    name: str
    report: Report | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answers every log as a whole, as ``vllm-triage LOG`` does."""

    asking: Asking = field(default_factory=Asking)

    def __call__(self, chunk: Chunk) -> tuple[Answered, ...]:
        """Return the answers of a chunk, in its order."""
        return tuple(self._one(log) for log in chunk)

    def _one(self, log: Log) -> Answered:
        try:
            with source_of(log) as source:
                return Answered(log.name, triage_of(self.asking).report(source, self.asking.question))
        except (InputError, OSError) as error:
            return Answered(log.name, None, _told(log, error))
        except Exception as error:  # noqa: BLE001 - one log must not end the run
            return Answered(log.name, None, _internal(error))


def rows_of(
    log: Log,
    asking: Asking,
    pattern: re.Pattern[str] | None = None,
    evidence: dict[str, str] | None = None,
    slow: Counter[str] | None = None,
) -> list[Row]:
    """Return a row for each start of a log; one that says why, where it cannot be read.

    Args:
        log: The log.
        asking: What is asked of each start.
        pattern: As for ``Write``.
        evidence: Takes the evidence of what failed by the name of its file: one for each failure that differs.
        slow: Counts the rules that took too long.
    """
    places = places_in(log.name, pattern)
    try:
        return list(_rows(log, asking, places, evidence, slow))
    except (InputError, OSError) as error:
        return [row_of_problem(log, _told(log, error), places)]
    except Exception as error:  # noqa: BLE001 - one log must not end the run
        return [row_of_problem(log, _internal(error), places)]


def _rows(
    log: Log, asking: Asking, places: dict[str, str], evidence: dict[str, str] | None, slow: Counter[str] | None
) -> Iterator[Row]:
    with source_of(log) as source:
        for start in triage_of(asking).starts(source, asking.question):
            row = row_of(log, start, places)
            if slow is not None:
                told = (note.removeprefix(SLOW) for note in start.report.notes if note.startswith(SLOW))
                slow.update(rule for names in told for rule in names.rstrip(".").split(", "))
            if evidence is not None and row.failed:
                head = f"{row.source}, start {row.start}\n\n"
                evidence[f"{row.cause.replace('/', '.')}.{row.signature}.md"] = head + start.report.pack().prompt()
            yield row


def _told(log: Log, error: Exception) -> str:
    return shown(str(error).removeprefix(f"{log.name}: "))


def _internal(error: Exception) -> str:
    return shown(f"internal error, please report it: {type(error).__name__}: {error}")
