"""Corrects what an error names: the option or variable, the value that was refused, and what would be accepted.

``read`` takes the message apart into complaints, ``values`` works out the new value, ``correct`` writes the fix. What a
message does not settle is left alone: no correction holds a placeholder, loads code, or installs anything.
"""

from __future__ import annotations

from .case import Case
from .correct import correct

__all__ = ("Case", "correct")
