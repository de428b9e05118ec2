"""The catalogue as data: what is broken and how, with what the log must then say. The TOML files in ``catalogue/``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

CATALOGUE = Path(__file__).resolve().parent / "catalogue"
READY = "Application startup complete"

Stop = Literal["interrupt", "interrupt-main", "terminate", "kill", "freeze", "exit"]
"""How a server that still runs is ended: Ctrl-C in a terminal (the whole group), SIGINT or SIGTERM to the main process
as supervisors do, SIGKILL to it, `freeze` (the log ends here, everything is killed unseen), `exit` (ends by itself)."""


class CatalogueError(Exception):
    """The catalogue is not as it must be; the message names the file and the place."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Release(_Entry):
    """How one vLLM release is installed."""

    version: str
    wheel: str
    python: str = "3.11"
    overrides: list[str] = []
    extra: list[str] = []
    newer_libstdcxx: bool = False

    def key(self) -> tuple[int, ...]:
        """Return what releases are ordered by."""
        return version_key(self.version)


class Weights(_Entry):
    """A checkpoint, and how it differs from what its config asks for. Names are without the leading `model.`."""

    change: dict[str, list[int]] = {}
    drop: list[str] = []
    add: dict[str, list[int]] = {}
    shards: int = 1


class Model(_Entry):
    """A model folder: a config, a tokenizer and perhaps weights, then what is broken in it."""

    id: str
    config: dict[str, Any] = {}
    tokenizer: Literal["full", "no-template", "none"] = "full"
    images: bool = False
    """Reads images as well: a model of the same sizes behind an image encoder."""
    weights: Weights | None = None
    write: dict[str, str] = {}
    cut: dict[str, float] = {}
    remove: list[str] = []


class Adapter(_Entry):
    """A LoRA adapter."""

    id: str
    rank: int = 8
    modules: list[str] = ["q_proj"]
    remove: list[str] = []


class Action(_Entry):
    """One thing that is done to the server; `traffic` says what each kind needs."""

    do: Literal["request", "raw", "disconnect", "wait", "wait-for", "signal"]
    path: str = "/v1/completions"
    body: dict[str, Any] = {}
    text: str = ""
    times: int = 1
    background: bool = False
    seconds: float = 0
    signal: str = ""
    process: str = ""
    which: int = 0


class Outcome(_Entry):
    """What the log must be answered with, by the rules of the buckets, and the lines that prove it."""

    bucket: str
    also: list[str] = []
    cause: str = ""
    evidence: list[str] = []
    silent: bool = False
    """Some releases print nothing at all when it happens: such a log is one of a healthy server."""

    @field_validator("evidence")
    @classmethod
    def _compile(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return patterns

    @model_validator(mode="after")
    def _provable(self) -> Outcome:
        if self.bucket != "no_failure" and not self.evidence:
            raise ValueError("a failure needs the evidence by which it is known that it happened")
        return self


class Variant(Outcome):
    """Another outcome of the same fault in some releases."""

    since: str = "0"
    until: str = "999"


class Fault(Outcome):
    """One case: what is broken, how it is provoked, in which releases."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    broken: str
    since: str = "0"
    until: str = "999"
    variant: list[Variant] = []
    # The command
    model: str = "{models}/tiny"
    arguments: list[str] = []
    command: list[str] = []
    script: str = ""
    dummy: bool = True
    float32: bool = True
    eager: bool = True
    # Its surroundings
    environment: dict[str, str] = {}
    unset: list[str] = []
    ulimit: dict[str, int] = {}
    mounts: dict[str, str] = {}
    drop_capabilities: list[str] = []
    hide_commands: str = ""
    hold_port: bool = False
    hub: str = ""
    remove_packages: list[str] = []
    install_packages: list[str] = []
    # What happens to it
    until_line: str = READY
    traffic: list[Action] = []
    stop: Stop = "interrupt"
    starts: int = 1
    limit: int = 180
    slow: bool = False
    """Takes minutes: left out unless asked for by name or with --slow."""

    def applies(self, version: str) -> bool:
        """Return whether the fault exists in a release."""
        return within(version, self.since, self.until)

    def outcome(self, version: str) -> Outcome:
        """Return what a release's log must be answered with."""
        return next((other for other in self.variant if within(version, other.since, other.until)), self)


class Catalogue:
    """All of it, by id."""

    def __init__(self, folder: Path = CATALOGUE) -> None:
        entries = dict(
            _entries(folder, [("release", Release), ("model", Model), ("adapter", Adapter), ("fault", Fault)])
        )
        self.releases: dict[str, Release] = {
            name: entry for (kind, name), entry in entries.items() if kind == "release"
        }
        self.models: dict[str, Model] = {name: entry for (kind, name), entry in entries.items() if kind == "model"}
        self.adapters: dict[str, Adapter] = {
            name: entry for (kind, name), entry in entries.items() if kind == "adapter"
        }
        self.faults: dict[str, Fault] = {name: entry for (kind, name), entry in entries.items() if kind == "fault"}

    def faults_of(self, version: str) -> list[Fault]:
        """Return the faults of a release, in the order of the files."""
        return [fault for fault in self.faults.values() if fault.applies(version)]


def within(version: str, since: str, until: str) -> bool:
    """Return whether a release lies in a range, both ends included; an end `0.9` includes all of 0.9."""
    given = version_key(version)
    first, last = version_key(since), version_key(until)
    return first <= given and given[: len(last)] <= last


def version_key(version: str) -> tuple[int, ...]:
    """Return what versions are ordered by."""
    return tuple(int(part) for part in version.split("."))


def _entries(folder: Path, kinds: list[tuple[str, type[_Entry]]]) -> Iterator[tuple[tuple[str, str], Any]]:
    seen = set()
    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind, entry_type in kinds:
            for raw in content.pop(kind, []):
                name = raw.get("id") or raw.get("version")
                try:
                    entry = entry_type.model_validate(raw)
                except ValidationError as error:
                    raise CatalogueError(f"{path.name}: {kind} {name}: {error}") from None
                if (kind, name) in seen:
                    raise CatalogueError(f"{path.name}: {kind} {name} is there twice")
                seen.add((kind, name))
                yield (kind, name), entry
        if content:
            raise CatalogueError(f"{path.name}: unknown tables {', '.join(content)}")
