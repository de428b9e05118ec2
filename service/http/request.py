"""What a request asks about a log: from its query, and from the fields that come with the log."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ...classifier.decides import Decides
from ...classifier.question import Question
from ...classifier.report.pack.model import BUDGET, LARGEST, LEAST
from ...classifier.report.shown import shown
from ..release import Release
from .work.jobs import Job

LABEL, NAME, COMMAND = 100, 200, 1 << 16


def label(text: str) -> str:
    """Return a label as it may be shown and kept: one line, printable, no secrets."""
    return shown(" ".join(text.split()))[:LABEL].strip()


def file_name(text: str) -> str:
    """Return the last part of a file's name, as it may be shown and kept: paths are the sender's own business."""
    # Masked before it is cut: a secret may be one by what stands before the last slash.
    return shown(PureWindowsPath(shown(" ".join(text.split()))).name)[:NAME].strip()


Label = Annotated[
    str, Field(max_length=LABEL, description="service that the log is of; incidents are counted for each"),
    AfterValidator(label),
]  # fmt: skip
Name = Annotated[str, Field(max_length=NAME, description="name of the log, to be shown"), AfterValidator(file_name)]
Command = Annotated[
    str, Field(max_length=COMMAND, description="the start command, where the log does not have it, or a manifest")
]


Engine = Annotated[
    Decides | None,
    Field(description="what decides: rules, then the text model (auto, default); rules alone; the model alone"),
]  # fmt: skip
Budget = Annotated[int, Field(ge=LEAST, le=LARGEST, description="characters of an evidence pack or prompt")]
Candidates = Annotated[bool, Field(description="whether an evidence pack says what rules propose, unchecked")]
Ids = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]


class _Common(BaseModel):
    """What may be asked in either place."""

    service: Label = ""
    name: Name = ""
    command: Command = ""
    vllm_version: Release = None
    engine: Engine = None


class Query(_Common):
    """What may stand in the query."""

    model_config = ConfigDict(extra="ignore")

    only: Annotated[
        Ids, Field(description="only this bucket or bucket/cause counts as a failure; others are reported (repeatable)")
    ] = []
    ignore: Annotated[
        Ids,
        Field(description="this bucket, bucket/cause or rule is not a failure; it is reported as ignored (repeatable)"),
    ] = []
    min_confidence: Annotated[float, Field(ge=0, le=1, description="answer `unknown` below this")] = 0.0
    store: Annotated[bool, Field(description="keep the answer in the history")] = True
    ask: Annotated[
        Literal["auto", "always", "never"] | None,
        Field(
            description="when the model of the service is asked for a second opinion, if it has one (its own setting)"
        ),
    ] = None
    budget: Budget = BUDGET
    candidates: Candidates = True


class LogFields(_Common):
    """What may come along with a log; it goes before the query."""

    model_config = ConfigDict(extra="forbid")


class Log(LogFields):
    """A log as JSON."""

    log: str = Field(description="the log itself")


class Batch(BaseModel):
    """Several logs as JSON."""

    model_config = ConfigDict(extra="forbid")

    logs: Annotated[list[Log], Field(min_length=1)]


class Asked:
    """Everything asked about one log: by the query, and by what comes along with the log while it arrives."""

    def __init__(self, query: Query, form: str = "json", tenant: str = "", caller: str = "", once: str = "") -> None:
        self.store = query.store
        self.ask = query.ask
        self.tenant = tenant
        """Whose log it is."""
        self.caller = caller
        """Who takes turns with others."""
        self.once = once
        """The log's `Idempotency-Key`."""
        self._query = query
        self._form = form
        self._told: _Common = query

    def add(self, fields: LogFields) -> None:
        """Take what came along with the log."""
        given = {name: value for name in _Common.model_fields if (value := getattr(fields, name))}
        self._told = self._told.model_copy(update=given)

    @property
    def service(self) -> str:
        """Label of the service that the log is of."""
        return self._told.service

    @property
    def name(self) -> str:
        """Name of the log."""
        return self._told.name

    def job(self) -> Job:
        """Return what is to be done, as far as it is known."""
        told, query = self._told, self._query
        question = Question(
            command=told.command,
            vllm_version=told.vllm_version or "",
            min_confidence=query.min_confidence,
            only=query.only,
            ignore=query.ignore,
            engine=told.engine or "auto",
        )
        return Job(question, self._form, told.name, query.budget, query.candidates)

    def fresh(self, fields: LogFields, number: int) -> Asked:
        """Return the same for another log of the request: its so many-th."""
        other = Asked(self._query, self._form, self.tenant, self.caller, self.once and f"{number} {self.once}")
        other.add(fields)
        return other


def fields_of(values: dict[str, str]) -> dict[str, str]:
    """Return those values of a form that say something."""
    return {name: value for name, value in values.items() if value != ""}
