"""vLLM's options by release: which flag, environment variable, engine argument or metric exists in which version.

The table (``vllm/options.json``) is mined from the released packages; ``vllm/known.json`` adds by hand what no release
says: which option took over from which, and whose the variables are that vLLM's users set but vLLM does not own. Both
are read when first asked for.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "vllm"
TABLE = FOLDER / "options.json"
KNOWN = FOLDER / "known.json"

Key = tuple[int, ...]
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)(?:[._-]?(a|b|rc)\d*)?(?:[._-]?post(\d+))?(?:[._-]?(dev)\d*)?", re.IGNORECASE)


def version_key(text: str) -> Key | None:
    """Return what versions are ordered by; None where ``text`` tells no release.

    A release candidate stands for its release, whose options it has; a development build lies before it. Local parts
    (``+cu128``) and whatever a fork adds behind do not count. ``0.1.dev3151+g31c7178``, as a checkout without tags calls
    itself, tells no release.
    """
    found = _VERSION.match(text.strip())
    if not found or (found[4] and found[1].count(".") < 2):
        return None
    numbers = [int(number) for number in found[1].split(".")][:4]
    numbers += [0] * (4 - len(numbers))
    return (*numbers, int(found[3] or 0), -1 if found[4] else 0)
