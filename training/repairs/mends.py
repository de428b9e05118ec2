"""What a commit says about what had failed before it: lines that changed or came to be guarded, names that came, errors it quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...corpus.code_lines import plain
from ...corpus.message_heads import SHORTEST
from ...corpus.repairs import ARGUMENT, ERROR, IMPORT, KEY, LINE, MESSAGE, NAME, TITLE, Facet
from ..fingerprint.alike import words_of
from ..fingerprint.guards import Guarded, piece_of
from ..fingerprint.mends import CAUGHT, GUARDED, mended
from .edits import Function, Scopes, functions
from .history import Commit, Edit

_FIXES = re.compile(
    r"\b(?:bug|hot)?fix|\bbug|crash|hang|leak|regress|incorrect|resolv|prevent|avoid|handl|guard|repair|wrong|missing|broken|error"
    r"|fail|race|deadlock|ensure|workaround|properly|respect",
    re.IGNORECASE,
)
"""Words of titles of commits that mend rather than add."""
_MOST = 40
"""Statements of a file that changed from which on it was rewritten: which of them had failed is not told."""
_WORDS = 14
_NOISE = frozenset(["self", "return", "for", "if", "in", "and", "or", "the", "a", "str", "int", "f"])
_SET = re.compile(r"\s*(?:self\.|cls\.)?(\w+)\s*(?::\s*[\w\[\"']|=(?!=))")
_CONSTANT = re.compile(r"[\"']([A-Za-z][\w./-]{2,60})[\"']")
_IMPORT = re.compile(r"^from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]+)|^import\s+([\w.]+)", re.MULTILINE)
_QUOTED = re.compile(r"\b(\w+(?:Error|Exception))(?:`|'|\"|\*\*)?\s*[:(]\s*[`'\"]?(.{16,200})")
_EXCEPTION = re.compile(r"\b[A-Z]\w+(?:Error|Exception)\b")
_VALUE = re.compile(r"\d+(?:\.\d+)?|0x[0-9a-f]+|[`'\"<>{}\[\]]|/\S+")
_KEYS = 16
_ALIKE = 0.4
"""Share of words that two messages have in common, where one is the other put otherwise."""
_FAR = 200
"""Lines of a table."""
_BARE = "raise NotImplementedError"


def facets(commit: Commit) -> Iterator[Facet]:
    """Yield what can be matched with a failing log."""
    fixes = _FIXES.search(commit.title) is not None
    seen, touched = set[str](), set[str]()
    for edit in commit.edits:
        if not edit.old:
            continue
        before, after, old, new = functions(edit)
        name = edit.before.rpartition("/")[2]
        yield from _raised(before, after, name)
        yield from _signatures(before, after)
        yield from _names(edit, old, new)
        yield from _imports(edit)
        if fixes:
            yield from _lines(before, after, name)
            yield from _top(edit, old, new, name)
            yield from _constants(edit, new, name, seen)
        own = {function.name for function in before.values()}
        touched |= own
        for exception in _EXCEPTION.findall(commit.title):
            yield Facet(TITLE, f"{exception}\0{name}", "c", tuple(sorted(own)), _few(_identifiers(commit.title)))
    if fixes:
        yield from _errors(commit, touched)


def _lines(before: dict[str, Function], after: dict[str, Function], file: str) -> Iterator[Facet]:
    """Yield the lines that were changed, guarded, caught or fed otherwise."""
    found: list[tuple[str, Guarded, str, frozenset[str], frozenset[str]]] = []
    changed = 0
    for key, old in before.items():
        new = after.get(key)
        if new is None:
            continue
        kept = {each.code: each for each in new.body.statements}
        fresh = [each for code, each in kept.items() if code not in {one.code for one in old.body.statements}]
        for each in old.body.statements:
            if each.raises:
                continue
            there = kept.get(each.code)
            if there is None:
                changed += 1
                had = words_of(each.shown.source)
                near = max(fresh, key=lambda one: _share(words_of(one.shown.source), had), default=None)
                has = words_of(near.shown.source) if near is not None else frozenset()
                added = {word for item in near.items for word in words_of(item.code)} if near is not None else set()
                added -= {word for item in each.items for word in words_of(item.code)}
                all_new = frozenset(word for one in fresh for word in words_of(one.shown.source))
                # What the other new statements hold moved there.
                found.append(
                    (old.name, each, "c", had - has - (all_new if not has else frozenset()), (has - had) | added)
                )
                continue
            mend = mended(each, each.items, there.items, new.body.sets)
            if mend.how:
                words = frozenset(word for item in mend.items for word in words_of(item.code) | words_of(item.name))
                how = "g" if mend.how == GUARDED else "t" if mend.how == CAUGHT else "s"
                found.append((old.name, each, how, frozenset(), words))
    if changed > _MOST:
        found = [each for each in found if each[2] != "c"]
    for function, statement, how, lost, gained in found:
        for line in statement.shown.lines:
            yield Facet(LINE, f"{file}\0{function}\0{line}", how, _few(lost), _few(gained))


def _top(edit: Edit, old: Scopes, new: Scopes, file: str) -> Iterator[Facet]:
    """Yield the lines outside of functions that were changed or guarded, or whose exception is caught since."""
    came = [at for at in edit.added if at <= len(new.rows) and not new.around(at)[1]]
    gone = [at for at in edit.gone if at <= len(old.rows) and not old.around(at)[1]]
    if not came or len(came) + len(gone) > 2 * _MOST:
        return
    gained = frozenset(word for at in came for word in words_of(new.rows[at - 1]))
    had = frozenset(word for at in gone for word in words_of(old.rows[at - 1]))
    kept = {new.rows[at - 1].strip() for at in came}
    lines: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
    for at in gone:
        if (row := old.rows[at - 1].strip()) not in kept:
            lines[row] = ("c", _few(words_of(row) - gained), _few(gained - had))
        if row.startswith(("if ", "elif ")):
            lines.update(dict.fromkeys(_block(old, at, 1), ("g", (), _few(gained - had))))
    for at in came:
        row = new.rows[at - 1].strip()
        if row.startswith("except"):
            lines.update(dict.fromkeys(_block(new, at, -1), ("t", (), _few(words_of(row) - {"except", "as"}))))
    for row, (how, lost, more) in lines.items():
        if len(words_of(row)) > 1 and not row.startswith("#"):
            yield Facet(LINE, f"{file}\0<module>\0{plain(row)}", how, lost, more)


def _block(scopes: Scopes, at: int, step: int) -> Iterator[str]:
    """Yield the lines that hang on a line, below it or above it: those that are indented further."""
    level = len(scopes.rows[at - 1]) - len(scopes.rows[at - 1].lstrip())
    for row in scopes.rows[at - 1 + step : at + step * _FAR if step > 0 or at > _FAR else None : step]:
        if row.strip() and len(row) - len(row.lstrip()) <= level:
            return
        if row.strip():
            yield row.strip()


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _few(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words) - _NOISE, key=lambda word: (-len(word), word))[:_WORDS])


def _raised(before: dict[str, Function], after: dict[str, Function], file: str) -> Iterator[Facet]:
    """Yield the messages that a function raises no longer."""
    now = {each.code for function in after.values() for each in function.body.statements if each.raises}
    for key, old in before.items():
        if key not in after:
            continue  # what goes with its function was given up
        if _BARE in old.source and _BARE not in after[key].source:
            yield Facet(LINE, f"{file}\0{old.name}\0{plain(_BARE)}", "c", ("NotImplementedError",))
        for each in old.body.statements:
            if each.raises and each.code not in now:
                alike = [code for code in now if _share(words_of(code), words_of(each.code)) > _ALIKE]
                if not alike:
                    yield Facet(MESSAGE, piece_of(each.code), "-", (file, old.name))


def _signatures(before: dict[str, Function], after: dict[str, Function]) -> Iterator[Facet]:
    """Yield arguments that functions take since, or no longer."""
    for key, old in before.items():
        new = after.get(key)
        if new is None or not new.arguments or "." in key.partition(".")[2]:
            continue
        for how, names in (("+", new.arguments - old.arguments), ("-", old.arguments - new.arguments)):
            for name in sorted(names):
                yield Facet(ARGUMENT, f"{old.name}\0{name}", how, (old.owner,))


def _names(edit: Edit, old: Scopes, new: Scopes) -> Iterator[Facet]:
    """Yield attributes, methods and classes that there are since."""
    module = edit.path[:-3].replace("/", ".").removesuffix(".__init__")
    had = {(old.around(at)[0], name) for at, _, _, name in old._heads}  # noqa: SLF001 - of this room
    assigned = {found[1] for row in old.rows if "=" in row and (found := _SET.match(row))}
    seen = set[tuple[str, str]]()
    for line in edit.added:
        row = new.rows[line - 1] if line <= len(new.rows) else ""
        owner, function, _ = new.around(line)
        head = re.match(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)", row)
        found = head or (_SET.match(row) if not function or row.lstrip().startswith(("self.", "cls.")) else None)
        if found is None or (owner, found[1]) in seen or (owner, found[1]) in had:
            continue
        name = found[1]
        if head is None and name in assigned:
            continue
        seen.add((owner, name))
        if not name.startswith("__") and len(name) > 2:
            yield Facet(NAME, name, "+", (owner or module,))


def _imports(edit: Edit) -> Iterator[Facet]:
    """Yield imports on which a whole module hung, and no longer does."""
    had, has = _imported(edit.old), _imported(edit.new)
    for module, name in sorted(had - has):
        yield Facet(IMPORT, f"{module}\0{name}", "-", (edit.before.rpartition("/")[2],))
    for module, name in sorted(has - had):
        if name:
            yield Facet(NAME, name, "i", (edit.path.rpartition("/")[2], module))


def _imported(text: str) -> set[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for each in _IMPORT.finditer(text):
        if each[3]:
            found.add((each[3], ""))
        else:
            names = re.sub(r"#[^\n]*|[()]", "", each[2])
            found.update((each[1], name.split(" as ")[0].strip()) for name in names.split(",") if name.strip())
    return found


def _constants(edit: Edit, new: Scopes, file: str, seen: set[str]) -> Iterator[Facet]:
    """Yield texts that a file knows since: keys, values, names of models."""
    for line in edit.added:
        row = new.rows[line - 1] if line <= len(new.rows) else ""
        for found in _CONSTANT.finditer(row):
            text = found[1]
            if text in seen or len(seen) > _KEYS or f'"{text}"' in edit.old or f"'{text}'" in edit.old:
                continue
            seen.add(text)
            yield Facet(KEY, text, "+", (file,), _few(_table(new, line)))


def _table(scopes: Scopes, line: int) -> Iterator[str]:
    """Yield the name of the table to whose lines one belongs: ``KINDS`` of ``KINDS = {``."""
    for at in range(line, max(0, line - _FAR), -1):
        row = scopes.rows[at - 1]
        if row[:1].strip() and row[0] not in ")]}":
            if found := _SET.match(row):
                yield found[1]
            return


def _identifiers(text: str) -> set[str]:
    """Return the words of a text that are names in code."""
    return {word for word in words_of(text) if "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word)}


def _errors(commit: Commit, touched: set[str]) -> Iterator[Facet]:
    """Yield the errors that the commit's own text quotes, as pieces without values."""
    seen: set[str] = set()
    for found in _QUOTED.finditer(f"{commit.title}\n{commit.body}"):
        pieces = [each.strip(" .,:;()") for each in _VALUE.split(found[2])]
        piece = max(pieces, key=len, default="")
        if len(piece) >= SHORTEST and piece not in seen:
            seen.add(piece)
            yield Facet(ERROR, piece, found[1], _few(_identifiers(found[2])), _few(touched))
