"""The faults that a user can cure, as data: what is broken in a start, what a person does who reads a step."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ..record.faults import Catalogue, CatalogueError, Fault, within
from ..record.traffic import filled

CATALOGUE = Path(__file__).resolve().parent / "catalogue"
MODEL = "{models}/proof"
"""Sound, with real weights in float32: without dummy weights a start prints the lines that users see."""
BASE = ["--host", "127.0.0.1", "--port", "{port}", "--enforce-eager"]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ByHand(_Entry):
    """What a person does whom a fix tells what to do in words: the sound value only they know is filled in."""

    says: str
    """Expression that the fix's title or change must hold."""
    instead: dict[str, str] = {}
    """Words of the command that the person replaces by others; "" leaves a word out."""
    environment: dict[str, str] = {}
    """Variables that the person sets."""


class Proof(_Entry):
    """One fault: a start that fails, or serves no request, until its command is changed."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    broken: str
    group: str = ""
    """What it is about: the name of the file that it stands in."""
    model: str = MODEL
    arguments: list[str] = []
    """What is wrong stands among these."""
    sound: list[str] = []
    """Further arguments, which must still be there afterwards."""
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """Written into the folder that it runs in."""
    base: list[str] = BASE
    request: str = "/v1/completions"
    hold_port: bool = False
    buckets: list[str]
    """Any of these names it right."""
    by_hand: list[ByHand] = []
    since: str = "0"
    until: str = "999"

    def applies(self, version: str) -> bool:
        """Return whether the fault exists in a release."""
        return within(version, self.since, self.until)

    def command(self, fill: dict[str, str]) -> str:
        """Return the start command as a person writes it."""
        words = filled([self.model, *self.base, *self.sound, *self.arguments], fill)
        variables = [f"{name}={shlex.quote(value)}" for name, value in filled(self.environment, fill).items()]
        return " ".join([*variables, "vllm", "serve", shlex.join(words)])

    def kept(self, fill: dict[str, str]) -> list[str]:
        """Return the words that every correction must keep."""
        changed = {word for word in self.arguments if word.startswith("--")} | ({"--port"} if self.hold_port else set())
        words = list(zip([*self.base, *self.sound], ["", *self.base, *self.sound], strict=False))
        return [str(filled(word, fill)) for word, before in words if not changed.intersection((word, before))]


class Recorded(_Entry):
    """A fault of the recorder's catalogue that a user can cure."""

    id: str
    by_hand: list[ByHand] = []
    request: str = "/v1/completions"
    sound: list[str] = []
    """Its arguments that are right."""


def load_faults(recorder: Catalogue, folder: Path = CATALOGUE) -> dict[str, Proof]:
    """Return all faults by id, in the order of the files.

    Raises:
        CatalogueError: A file is not as it must be; the message names file and fault.
    """
    found: dict[str, Proof] = {}
    for fault in _read(recorder, folder):
        if fault.id in found:
            raise CatalogueError(f"the fault {fault.id} is there twice")
        found[fault.id] = fault
    return found


def _read(recorder: Catalogue, folder: Path) -> Iterator[Proof]:
    import tomllib

    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind, entries in content.items():
            for entry in entries:
                try:
                    if kind == "recorded":
                        own = Recorded.model_validate(entry)
                        yield _of_recorder(recorder.faults[own.id], own, path.stem)
                    else:
                        yield Proof.model_validate({"group": path.stem, **entry})
                except (ValueError, KeyError) as error:
                    raise CatalogueError(f"{path.name}: {entry.get('id')}: {error}") from None


def _of_recorder(fault: Fault, own: Recorded, group: str) -> Proof:
    arguments = [word for word in fault.arguments if word not in own.sound]
    return Proof(
        id=fault.id,
        broken=fault.broken,
        group=group,
        model=MODEL if fault.model == "{models}/tiny" else fault.model,
        base=BASE if fault.model == "{models}/tiny" else [*BASE, "--load-format", "dummy", "--dtype", "float32"],
        arguments=arguments,
        sound=own.sound,
        environment=fault.environment,
        request=own.request,
        hold_port=fault.hold_port,
        buckets=[fault.bucket, *fault.also],
        by_hand=own.by_hand,
        since=fault.since,
        until=fault.until,
    )
