"""What vLLM's table of options says about a flag: takes it a value, or many, and does ``LLM(...)`` know it?

The table is read as text, and only the lines of the flags in question are parsed: a tenth of the cost of all of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ....corpus.store import HERE

_TABLE = os.path.join(HERE, "vllm", "options.json")  # noqa: PTH118 - see below

# Fields of AsyncEngineArgs alone; the mined engine arguments hold them, LLM(...) refuses them.
_SERVER_ONLY = frozenset({"disable_log_requests", "enable_log_requests", "engine_use_ray", "max_log_len"})


class Flag:
    """A flag of vLLM's command line.

    Attributes:
        name: Its long form, dashes throughout.
        known: Whether any release has it.
        switch: It takes no value (or none is needed).
        boolean: True and false are values of it.
        many: It takes all values that follow.
        kind: ``int``, ``float``, ``json``, ``bool``, ``switch``, or "" for text.
        engine: ``LLM(...)`` takes it by the same name.
    """

    __slots__ = ("boolean", "engine", "kind", "known", "many", "name", "switch")

    def __init__(self, name: str, entry: Mapping[str, Sequence[Sequence[object]]] | None) -> None:
        kinds = [change[1] for change in (entry or {}).get("kind", ()) if len(change) > 1]
        self.name = name
        self.known = entry is not None
        self.switch = "switch" in kinds
        self.boolean = "bool" in kinds
        self.many = any(change[-1] is True for change in (entry or {}).get("many", ()))
        self.kind = kinds[-1] if kinds else ""
        argument = name[2:].replace("-", "_")
        self.engine = f'\n"{argument}":{{' in _table()[1] and argument not in _SERVER_ONLY


@lru_cache(512)
def flag(name: str) -> Flag:
    """Return what is known about a flag: its long form or an alias, without a value, without a dotted key."""
    flags = _table()[0]
    if not name.startswith("--"):
        place = flags.find(f'"{name}"')
        start = flags.rfind('\n"--', 0, place) if place >= 0 else -1
        if start < 0:
            return Flag(name, None)
        name = flags[start + 2 : flags.index('"', start + 2)]
    start = flags.find(f'\n"{name}":{{')
    if start < 0:
        return Flag(name, None)
    line = flags[start + len(name) + 4 :].partition("\n")[0]
    return Flag(name, json.loads(line.removesuffix(",")))


@lru_cache(1)
def _table() -> tuple[str, str]:
    """Return the table's lines of flags, and those of engine arguments."""
    with open(_TABLE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than this to run
        text = file.read()
    flags = text.partition('\n"flags":{')[2].partition("\n},")[0]
    arguments = text.partition('\n"arguments":{')[2].partition("\n},")[0]
    return flags, arguments
