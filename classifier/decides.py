"""Who decides about a log: a type alone, which no answer loads. ``question.ENGINES`` holds its words."""

from __future__ import annotations

from typing import Literal

Decides = Literal["auto", "rules", "model"]
