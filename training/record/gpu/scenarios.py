"""The scenarios as data, and which of them a machine can show."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..faults import Outcome

TABLE = Path(__file__).with_name("scenarios.toml")


class Scenario(Outcome):
    """One failure to provoke, with what its log must be answered with."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    broken: str
    needs: Literal["gpu", "cuda", "torch"]
    function: str = ""
    """The function of provoke.py, where it has another name."""
    environment: dict[str, str] = Field(default_factory=dict)
    seconds: int = 60

    def missing(self, machine: dict[str, Any]) -> str:
        """Return why a machine, as provoke.py describes it, cannot show this; "" if it can."""
        if not machine.get("torch"):
            return "no torch"
        if self.needs in ("cuda", "gpu") and not machine.get("cuda"):
            return "torch is not built for CUDA"
        return "no GPU" if self.needs == "gpu" and not machine.get("gpus") else ""


def scenarios(path: Path = TABLE) -> list[Scenario]:
    """Return all scenarios in the order of the file."""
    return [Scenario.model_validate(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["scenario"]]
