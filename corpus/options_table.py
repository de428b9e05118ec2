"""The table of vLLM's options in the form that a wheel holds: what it says of each option stays packed until it is asked for.

An answer asks for a handful of the 1,300 entries; unpacking all of them took a twentieth of a first answer.
"""

# ruff: noqa: PTH123 - pathlib takes longer to import than the table to load
from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping

Entry = dict[str, list[list[object]]]
"""What the table says of an option: for each property ``[release, value]`` from which release on it is so."""
Key = tuple[int, ...]
"""What releases are ordered by."""
SECTIONS = ("flags", "variables", "arguments", "metrics")


class Section(Mapping[str, Entry]):
    """Options of one kind by their names, each unpacked when it is asked for.

    Args:
        packed: The marshalled entries.
    """

    __slots__ = ("_made", "_packed")

    def __init__(self, packed: dict[str, bytes]) -> None:
        self._packed = packed
        self._made: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        """Return what the table says of an option; raise ``KeyError`` where it has none of this name."""
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = marshal.loads(self._packed[name])  # noqa: S302 - our own file
        return made

    def __contains__(self, name: object) -> bool:
        """Return whether any release has it."""
        return name in self._packed

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order of the table."""
        return iter(self._packed)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._packed)


class Table:
    """The options of all releases.

    Attributes:
        releases: Oldest first.
        keys: What each release is ordered by.
        sections: The options by kind (``SECTIONS``) and name.
        aliases: Other names of flags, with the flags that had them in any release.
    """

    __slots__ = ("aliases", "keys", "releases", "sections")

    def __init__(
        self,
        releases: tuple[str, ...],
        keys: list[Key],
        sections: Mapping[str, Mapping[str, Entry]],
        aliases: dict[str, list[str]],
    ) -> None:
        self.releases = releases
        self.keys = keys
        self.sections = sections
        self.aliases = aliases


def made_of(
    told: Mapping[str, object], build: Mapping[str, Mapping[str, str]], key_of: Callable[[str], Key | None]
) -> Table:
    """Return the table that the files of the corpus tell.

    Args:
        told: ``vllm/options.json``.
        build: Variables that only vLLM's build reads, with the first and the last release that does.
        key_of: Gives what a release is ordered by.
    """
    versions = tuple(str(version) for version in _rows(told["releases"]))
    sections: dict[str, dict[str, Entry]] = {name: dict(_entries(told[name])) for name in SECTIONS}
    for name, entry in build.items():
        # What only vLLM's build reads is told by no Python file.
        sections["variables"].setdefault(
            name, {"on": [[versions.index(entry["first"]), versions.index(entry["last"])]]}
        )
    aliases: dict[str, list[str]] = {}
    for main, about in sections["flags"].items():
        for change in about.get("aliases", ()):
            for alias in _rows(change[1]) if len(change) > 1 else ():
                mains = aliases.setdefault(str(alias), [])
                if main not in mains:
                    mains.append(main)
    return Table(versions, [key_of(version) or () for version in versions], sections, aliases)


def pack(table: Table) -> bytes:
    """Return the form in which a wheel holds a table."""
    sections = {
        name: {option: marshal.dumps(entry) for option, entry in section.items()}
        for name, section in table.sections.items()
    }
    return marshal.dumps((table.releases, table.keys, sections, table.aliases))


def unpack(path: str) -> Table:
    """Return a table that ``pack`` made.

    Raises:
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        releases, keys, sections, aliases = marshal.loads(file.read())  # noqa: S302 - our own file
    return Table(releases, keys, {name: Section(packed) for name, packed in sections.items()}, aliases)


def _rows(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _entries(value: object) -> Mapping[str, Entry]:
    return value if isinstance(value, dict) else {}
