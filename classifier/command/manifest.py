"""A compose file, a Kubernetes manifest or Helm values: the command within it read, and changed where it stands.

No YAML library is needed: only the lines of ``command``, ``args`` and the variables are read, all others stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..lazy import LazyPattern
from ..mask import mask
from .scalars import read_flow, read_scalar, scalar
from .start import Start, read_words
from .words import SECRET, Word, is_secret, quote, split

_KEY = LazyPattern(r"(?P<indent>[ \t]*(?:-[ \t]+)?)[\"']?(?P<key>command|args|entrypoint|environment|env)[\"']?[ \t]*:(?:[ \t]+(?P<rest>.*))?$")
_ITEM = LazyPattern(r"(?P<indent>[ \t]*)-(?:[ \t]+(?P<rest>.*))?$")
_PAIR = LazyPattern(r"[ \t]*(?:-[ \t]+)?[\"']?(?P<name>[A-Za-z_]\w*)[\"']?[ \t]*(?P<sign>:[ \t]*|=)(?P<value>.*)$")
_BLOCK = LazyPattern(r"[|>][+-]?\d?$")
_REFERENCE = LazyPattern(r"\$\((\w+)\)")
_IMAGE = LazyPattern(r"(?m)^[ \t]*(?:-[ \t]+)?image[ \t]*:[ \t]*(\S.*)$")
_REPOSITORY = LazyPattern(r"(?m)^[ \t]*repository[ \t]*:[ \t]*(\S.*)$")
_TAG = LazyPattern(r"(?m)^[ \t]*tag[ \t]*:[ \t]*(\S.*)$")


class Item(NamedTuple):
    """A value with the lines that it stands on (none in a list on one line)."""

    value: str
    lines: tuple[str, ...]


class Block(NamedTuple):
    """A key with its value."""

    key: str
    column: int
    first: int
    end: int
    style: str
    """``flow``, ``list``, ``text``; for variables also ``table``."""
    items: tuple[Item, ...]
    head: str
    """The line up to the colon."""
    indent: str
    """What stands before an item of a list."""


class Manifest:
    """The text, with the places of the command and of its variables."""

    __slots__ = ("_blocks", "_env", "_kind", "_lines", "_sets", "_skip")

    def __init__(self, lines: list[str], kind: str, blocks: list[Block], env: Block | None, skip: int) -> None:
        self._lines = lines
        self._kind = kind
        self._blocks = blocks
        self._env = env
        self._skip = skip
        self._sets: dict[str, Word] = {}

    def image(self) -> str:
        """Return the image that the text names."""
        text = "\n".join(self._lines)
        if self._kind == "helm" and (repository := _REPOSITORY.search(text)):
            tag = _TAG.search(text)
            return f"{read_scalar(repository[1])}:{read_scalar(tag[1])}" if tag else read_scalar(repository[1])
        found = _IMAGE.search(text)
        return read_scalar(found[1]) if found else ""

    def variables(self) -> list[tuple[str, Word]]:
        """Return the variables with plain values, changes included."""
        found = {name: value for name, value, _, _ in self._entries()}
        return list({**found, **self._sets}.items())

    def with_variable(self, name: str, value: Word) -> Manifest:
        """Return the same text with a variable set."""
        made = Manifest(self._lines, self._kind, self._blocks, self._env, self._skip)
        made._sets = {**self._sets, name: value}
        return made

    def safe(self) -> Manifest:
        """Return the same text without secrets."""
        made = self
        for name, value in self.variables():
            if is_secret(name) and value.value and not value.expands:
                made = made.with_variable(name, Word(SECRET))
        return made

    def text(self, start: Start) -> str:
        """Return the text with the words of ``start`` in their place."""
        words = start.words()
        shares = [words[self._skip :]] if len(self._blocks) == 1 else [words[: self._skip], words[self._skip :]]
        edits = [(block.first, block.end, self._written(block, share)) for block, share in zip(self._blocks, shares, strict=True)]
        edits += self._variable_edits()
        lines = list(self._lines)
        for first, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            lines[first:end] = new
        return "\n".join(mask(line) for line in lines)

    def _written(self, block: Block, words: Sequence[Word]) -> list[str]:
        old = [item.value for item in block.items]
        new = [self._escaped(word) for word in words]
        if new == old:
            return self._lines[block.first : block.end]
        if block.style == "text":
            return [f"{block.head}: {scalar(' '.join(_shell(word) for word in words))}"]
        if block.style == "flow":
            return [f"{block.head}: [{', '.join(_quoted(value) for value in new)}]"]
        same = next((place for place, (left, right) in enumerate(zip(old, new, strict=False)) if left != right), min(len(old), len(new)))
        rest = min(len(old), len(new)) - same
        tail = next((count for count in range(rest) if old[-count - 1] != new[-count - 1]), rest)
        kept = [line for item in block.items[:same] for line in item.lines]
        behind = [line for item in block.items[len(old) - tail :] for line in item.lines]
        made = [f"{block.indent}- {_quoted(value)}" for value in new[same : len(new) - tail]]
        return [f"{block.head}:", *kept, *made, *behind]

    def _escaped(self, word: Word) -> str:
        if self._kind == "compose":
            return word.value if word.expands else word.value.replace("$", "$$")
        return word.value if word.expands else word.value.replace("$(", "$$(")

    def _entries(self) -> list[tuple[str, Word, int, int]]:
        """Return the variables with the lines on which their values stand."""
        found: list[tuple[str, Word, int, int]] = []
        if self._env is None or self._env.style == "flow":
            return found
        place = self._env.first + 1
        while place < self._env.end:
            line = self._lines[place]
            pair = _PAIR.match(read_scalar(line.strip()[1:]) if line.strip().startswith(("- '", '- "')) else line)
            if pair and pair["name"] == "name" and pair["sign"] != "=":
                name = read_scalar(pair["value"])
                following = self._lines[place + 1] if place + 1 < self._env.end else ""
                value = _PAIR.match(following)
                if value and value["name"] == "value":
                    found.append((name, _word(read_scalar(value["value"]), self._kind), place + 1, place + 2))
                    place += 1
            elif pair and pair["name"] not in ("value", "valueFrom"):
                found.append((pair["name"], _word(read_scalar(pair["value"]), self._kind), place, place + 1))
            place += 1
        return found

    def _variable_edits(self) -> list[tuple[int, int, list[str]]]:
        known = {name: (value, first, end) for name, value, first, end in self._entries()}
        edits, added = [], []
        for name, word in self._sets.items():
            value = self._escaped(word)
            if name not in known:
                added.append((name, value))
            elif known[name][0].value != word.value:
                _, first, end = known[name]
                edits.append((first, end, [_assigned(self._lines[first], name, value)]))
        if not added:
            return edits
        if self._env is not None and self._env.style != "flow":
            sample = self._lines[self._env.first + 1]
            end = self._env.end
            return [*edits, (end, end, [line for name, value in added for line in _entry(sample, name, value)])]
        block = self._blocks[-1]
        indent = " " * block.column
        key = "environment" if self._kind == "compose" else "env"
        sample = f"{indent}  X: x" if self._kind == "compose" else f"{indent}  - name: x"
        lines = [f"{indent}{key}:", *(line for name, value in added for line in _entry(sample, name, value))]
        if self._env is not None:
            return [*edits, (self._env.first, self._env.end, lines)]
        return [*edits, (block.end, block.end, lines)]


def read_manifest(text: str) -> Start | None:
    """Return the command of the container that runs vLLM; None where there is none."""
    lines = text.expandtabs(4).split("\n")
    blocks = [block for place in range(len(lines)) if (block := _block(lines, place)) is not None]
    kind = _kind(text)
    for block in reversed([block for block in blocks if block.key in ("command", "args")]):
        partner = next((other for other in blocks if other.end <= block.first and other.key in ("command", "entrypoint") and _same(lines, other, block)), None)
        head = _words(partner, kind) if partner is not None else []
        start = read_words([*head, *_words(block, kind)], bare=True)
        if start is None or not any(part.name for part in start.arguments()) and start.model() is None or not _is_vllm(start, text):
            continue
        env = next((other for other in blocks if other.key in ("environment", "env") and _same(lines, other, block)), None)
        start.kind = kind
        start.manifest = Manifest(lines, kind, [block] if partner is None else [partner, block], env, len(head))
        return start
    return None


def _kind(text: str) -> str:
    if "repository:" in text:
        return "helm"
    pod = ("args:", "containers:", "apiVersion:", "- name:")
    return "kubernetes" if any(sign in text for sign in pod) and "services:" not in text else "compose"


def _is_vllm(start: Start, text: str) -> bool:
    if "vllm" in text.lower():
        return True
    return any(part.name == "--model" for part in start.arguments())


def _same(lines: Sequence[str], one: Block, other: Block) -> bool:
    """Tell whether two keys stand in the same table."""
    if one.column != other.column:
        return False
    low, high = sorted((one.first, other.first))
    # A line further left ends the table; so does the dash of the next item.
    return all(not line.strip() or _depth(line) >= one.column for line in lines[low + 1 : high + 1])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _block(lines: list[str], place: int) -> Block | None:
    found = _KEY.match(lines[place])
    if not found:
        return None
    column, rest = len(found["indent"]), (found["rest"] or "").strip()
    head = lines[place].partition(":")[0].rstrip()
    if rest.startswith("["):
        for end in range(place + 1, min(len(lines), place + 200) + 1):
            flow = read_flow("\n".join([rest, *lines[place + 1 : end]]))
            if flow is not None:
                return Block(found["key"], column, place, end, "flow", tuple(Item(value, ()) for value in flow[0]), head, "")
        return None
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > column or (_depth(lines[end]) == column and lines[end].lstrip().startswith("- "))):
        end += 1
    while end > place + 1 and not lines[end - 1].strip():
        end -= 1
    following = lines[place + 1 : end]
    if rest and not rest.startswith("#"):
        texts = following if _BLOCK.match(rest.partition(" #")[0].strip()) else [rest, *following]
        joined = read_scalar(" ".join(line.strip() for line in texts)) if texts and texts[0] is rest else "\n".join(line.strip() for line in texts)
        style = "flow" if rest in ("{}", "[]") else "text"
        return Block(found["key"], column, place, end, style, (Item(joined, tuple(following)),), head, "")
    if not following:
        return None
    if found["key"] in ("environment", "env"):
        return Block(found["key"], column, place, end, "table", (), head, "")
    items, indent = _items(following)
    return Block(found["key"], column, place, end, "list", tuple(items), head, indent) if items else None


def _items(lines: Sequence[str]) -> tuple[list[Item], str]:
    items: list[Item] = []
    indent = ""
    place = 0
    while place < len(lines):
        found = _ITEM.match(lines[place])
        end = place + 1
        if found and (not items or found["indent"] == indent):
            indent = found["indent"]
            while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > len(indent)):
                end += 1
            rest = (found["rest"] or "").strip()
            more = [line.strip() for line in lines[place + 1 : end]]
            value = "\n".join(more) if _BLOCK.match(rest) else read_scalar(" ".join([rest, *more]) if more and not more[0].startswith("#") else rest)
            items.append(Item(value, tuple(lines[place:end])))
        place = end
    return items, indent


def _words(block: Block, kind: str) -> list[Word]:
    if block.style == "text":
        try:
            return [_word(word.value, kind, word.expands) for word in split(block.items[0].value)] if block.items else []
        except ValueError:
            return []
    return [_word(item.value, kind) for item in block.items]


def _word(value: str, kind: str, expands: bool = False) -> Word:
    """Return a value with the shell's meaning of what the manifest says."""
    if kind == "compose":
        plain = value.replace("$$", "")
        word = Word(value.replace("$$", "$") if "$" not in plain else value)
        word.expands = expands or "$" in plain
    else:
        word = Word(_REFERENCE.sub(r"$(\1)", value).replace("$$(", "$("))
        word.expands = bool(_REFERENCE.search(value.replace("$$", "")))
    return word


def _shell(word: Word) -> str:
    return word.value if word.expands and not any(sign in word.value for sign in " '\"") else quote(word.value)


def _quoted(value: str) -> str:
    made = scalar(value)
    return made if made.startswith('"') or not value.startswith("-") else f'"{value}"'


def _assigned(line: str, name: str, value: str) -> str:
    """Return a variable's line with another value."""
    indent = line[: _depth(line)]
    text = scalar(value)
    if line.lstrip().startswith("- "):
        return f"{indent}- {scalar(f'{name}={value}')}"
    key = "value" if line.lstrip().startswith("value") else name
    return f"{indent}{key}: {text if text.startswith(chr(34)) else chr(34) + text + chr(34)}"


def _entry(sample: str, name: str, value: str) -> list[str]:
    """Return a new variable's lines, written as ``sample`` is."""
    indent = sample[: _depth(sample)]
    text = scalar(value)
    text = text if text.startswith('"') else f'"{text}"'
    if not sample.lstrip().startswith("- "):
        return [f"{indent}{name}: {text}"]
    if _PAIR.match(sample) and sample.lstrip()[2:].lstrip().startswith("name"):
        return [f"{indent}- name: {name}", f"{indent}  value: {text}"]
    return [f"{indent}- {scalar(f'{name}={value}')}"]
