"""Words by which the periodic lines are found; apart from what reads them, which most logs need not import."""

from __future__ import annotations

STATISTICS = b"Avg prompt throughput: "
"""Stands in every line of an engine's statistics."""
DRAFTS = b" metrics: "
"""Stands in every line about speculative decoding."""
LONGEST = 600
"""Bytes of a line that are read from those words on."""
UNTOLD = -1.0
"""Stands for a number that a line does not tell."""
