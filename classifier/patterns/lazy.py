"""Expressions that are compiled on first use: most logs need few of them, all would double the start-up time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .precompiled import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AnyStr, Generic
else:
    AnyStr = None

    class Generic:
        """``typing.Generic``, without the module, which takes as long to import as a log to be read."""

        __slots__ = ()

        def __class_getitem__(cls, _kind: object) -> type:
            return cls


class LazyPattern(Generic[AnyStr]):
    """A ``re`` pattern that compiles itself when one of its methods is first asked for.

    The methods are the compiled pattern's own from then on: a call costs no more than on the pattern itself.
    """

    __slots__ = ("_flags", "_source", "findall", "finditer", "fullmatch", "made", "match", "search", "sub")

    made: re.Pattern[AnyStr]
    """The compiled pattern."""
    match: Callable[..., re.Match[AnyStr] | None]
    search: Callable[..., re.Match[AnyStr] | None]
    fullmatch: Callable[..., re.Match[AnyStr] | None]
    sub: Callable[..., AnyStr]
    findall: Callable[..., list[AnyStr]]
    """For expressions with one group or none; of others, ask ``made``."""
    finditer: Callable[..., Iterator[re.Match[AnyStr]]]

    def __init__(self, source: AnyStr, flags: int = 0) -> None:
        self._source: AnyStr = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        # Called only for what is not there yet: a slot that is still empty.
        if name.startswith("_") or name not in self.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        made = compiled(self._source, self._flags)
        self.match, self.search, self.fullmatch = made.match, made.search, made.fullmatch
        self.sub, self.findall, self.finditer = made.sub, made.findall, made.finditer
        self.made = made
        return object.__getattribute__(self, name)
