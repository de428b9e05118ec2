"""What a request asks about a log: from its query, and from the fields that come with the log."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ...classifier.report.contract import shown
from .work.jobs import Job

LABEL, NAME, COMMAND = 100, 200, 1 << 16
RELEASE = r"^v?\d{1,6}\.\d{1,6}(\.\d{1,6})?([.]?(rc|post|dev)\d{1,9})?$"


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
    str, Field(max_length=COMMAND, description="the start command, where the log does not tell it, or a manifest")
]
Release = Annotated[
    str | None, Field(pattern=RELEASE, description="vLLM release to advise for", examples=["0.19.1"])
]  # fmt: skip
Decides = Annotated[
    Literal["auto", "rules", "model"] | None,
    Field(description="what decides: rules, then the text model (auto, default); rules alone; the model alone"),
]  # fmt: skip
Ids = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)]


class Query(BaseModel):
    """What may stand in the query."""

    model_config = ConfigDict(extra="ignore")

    service: Label = ""
    name: Name = ""
    command: Command = ""
    vllm_version: Release = None
    engine: Decides = None
    only: Annotated[Ids, Field(description="answer only with this bucket or bucket/cause (repeatable)")] = []
    ignore: Annotated[Ids, Field(description="never answer with this bucket, bucket/cause or rule (repeatable)")] = []
    min_confidence: Annotated[float, Field(ge=0, le=1, description="answer `unknown` below this")] = 0.0
    store: Annotated[bool, Field(description="keep the answer in the history")] = True


class LogFields(BaseModel):
    """What may come along with a log; it goes before the query."""

    model_config = ConfigDict(extra="forbid")

    service: Label = ""
    name: Name = ""
    command: Command = ""
    vllm_version: Release = None
    engine: Decides = None


class Log(LogFields):
    """A log as JSON."""

    log: str = Field(description="the log itself")


class Batch(BaseModel):
    """Several logs as JSON."""

    model_config = ConfigDict(extra="forbid")

    logs: Annotated[list[Log], Field(min_length=1)]


class Asked:
    """Everything asked about one log. Fields may be added while it arrives."""

    def __init__(self, query: Query, form: str = "json") -> None:
        self._query = query
        self._form = form
        self.store = query.store
        self.service, self.name = query.service, query.name
        self._command, self._version = query.command, query.vllm_version or ""
        self._engine: str = query.engine or "auto"

    def add(self, fields: LogFields) -> None:
        """Take what came along with the log."""
        self.service, self.name = fields.service or self.service, fields.name or self.name
        self._command, self._version = fields.command or self._command, fields.vllm_version or self._version
        self._engine = fields.engine or self._engine

    def job(self) -> Job:
        """Return what is to be done, as far as it is known."""
        query = self._query
        only, ignore = tuple(query.only), tuple(query.ignore)
        version = self._version.removeprefix("v")
        return Job(only, ignore, version, self._engine, self._command, query.min_confidence, self._form, self.name)

    def fresh(self, fields: LogFields | None = None) -> Asked:
        """Return the same for another log of the request."""
        other = Asked(self._query, self._form)
        if fields is not None:
            other.add(fields)
        return other


def fields_of(values: dict[str, Any]) -> dict[str, Any]:
    """Return those values of a form that say something."""
    return {name: value for name, value in values.items() if value != ""}
