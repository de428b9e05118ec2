"""Messages of many releases put together: one entry for each template, with the releases and places that have it."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...corpus.messages.row import KINDS
from .mine import Message, mine, skipped


@dataclass(slots=True)
class Entry:
    """What is known of one template."""

    template: str
    kind: str
    name: str
    """Exception class or level."""
    first: str
    last: str
    sites: list[tuple[str, str]] = field(default_factory=list)
    """(path, function) in the newest release that has it."""


def collect(places: Iterable[Path], release_of: Callable[[Path], str], progress: Callable[[str], None]) -> list[Entry]:
    """Return one entry for each template of releases, sorted by newest place and template.

    Args:
        places: Archives or folders of Python files, oldest first.
        release_of: Tells the release of a place.
        progress: Told about each release.
    """
    known: dict[str, tuple[Message, ...]] = {}
    entries: dict[str, Entry] = {}
    for place in places:
        release = release_of(place)
        fresh = 0
        for message in _messages(place, known):
            entry = entries.get(message.template)
            fresh += entry is None
            entries[message.template] = _merged(entry, message, release)
        progress(f"{release}: {fresh} new templates, {len(entries)} together")
    return sorted(entries.values(), key=lambda entry: (entry.sites[0], entry.template))


def python_files(place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the Python files of an archive (zip or wheel) or a folder, without tests and tools."""
    if place.is_dir():
        for file in sorted(place.rglob("*.py")):
            name = file.relative_to(place).as_posix()
            if not skipped(name):
                yield name, file.read_bytes()
        return
    with zipfile.ZipFile(place) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".py") and not skipped(name):
                yield name, archive.read(name)


def _messages(place: Path, known: dict[str, tuple[Message, ...]]) -> Iterator[Message]:
    for path, content in python_files(place):
        key = f"{path}:{hashlib.blake2b(content, digest_size=16).hexdigest()}"
        if key not in known:
            # A module that did not change since another release is read once.
            known[key] = tuple(mine(path, content.decode("utf-8", "replace")))
        yield from known[key]


def _merged(entry: Entry | None, message: Message, release: str) -> Entry:
    site = (message.path, message.function)
    name = message.exception or message.level
    if entry is None:
        return Entry(message.template, message.kind, name, release, release, [site])
    if entry.last != release:
        # A newer release: its places are those that count.
        entry.last, entry.sites, entry.kind, entry.name = release, [], message.kind, name
    elif KINDS.index(message.kind) < KINDS.index(entry.kind):
        entry.kind, entry.name = message.kind, name
        entry.sites.insert(0, site)
        return entry
    if site not in entry.sites:
        entry.sites.append(site)
    return entry
