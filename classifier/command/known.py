"""What vLLM's table of options says about a flag: takes it a value, or many, and does ``LLM(...)`` know it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...corpus import options

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
        self.engine = options.is_engine_argument(argument) and argument not in _SERVER_ONLY


@lru_cache(512)
def flag(name: str) -> Flag:
    """Return what is known about a flag: its long form or an alias, without a value, without a dotted key."""
    return Flag(*(options.flag_of(name) or (name, None)))
