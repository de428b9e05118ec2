"""What a tool is given, what it gives back, and which tools there are.

A tool is one module in ``tools/``; its name is that of the module.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from . import tools

if TYPE_CHECKING:
    from .desk import Desk

Detail = Literal["short", "full"]
"""How much is answered: what an agent needs first, or all."""
Progress = Callable[[float, float], Awaitable[None]]
"""Is told how much is read, and how much there is (bytes)."""


class Arguments(BaseModel):
    """What a tool takes; anything else is refused, so that a misspelt argument is not overlooked."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back, twice: clients hand one of the two to the agent."""

    text: str
    """For agents that read text."""
    data: dict[str, object]
    """The same for those that read JSON; valid for the tool's ``schema``."""


class CannotError(Exception):
    """A tool cannot answer; the text is for the agent and says what to do."""


Asked_contra = TypeVar("Asked_contra", bound=BaseModel, contravariant=True)


class Tool(Protocol, Generic[Asked_contra]):
    """A tool. Its module has its name."""

    TITLE: str
    """For people."""
    ABOUT: str
    """For agents: what it answers and when to ask."""
    Asked: type[BaseModel]
    """What it takes."""

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of ``Answer.data``."""

    async def call(self, asked: Asked_contra, desk: Desk, progress: Progress) -> Answer:
        """Answer.

        Raises:
            CannotError: It cannot; the agent is told why.
        """


@cache
def names() -> tuple[str, ...]:
    """Return the names of all tools, sorted."""
    files = [name for folder in tools.__path__ for name in os.listdir(folder)]  # noqa: PTH208 - as render/interface.py
    return tuple(sorted(name[:-3] for name in files if name.endswith(".py") and not name.startswith("_")))


@cache
def load(name: str) -> Tool[BaseModel]:
    """Return a tool by its name (one of ``names``)."""
    return cast("Tool[BaseModel]", import_module(f".tools.{name}", __package__))
