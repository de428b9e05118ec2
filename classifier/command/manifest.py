"""A compose file, a Kubernetes manifest or Helm values: the command within it read, and changed where it stands.

No YAML library is needed: only the lines of ``command``, ``args`` and the variables are read, all others stay as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..masking.mask import mask
from ..patterns.lazy import LazyPattern
from .blocks import Block, depth_of, quoted, read_block, read_scalar, scalar
from .start import Start, read_words
from .words import SECRET, Word, is_secret, quote, split

_PAIR = LazyPattern(r"[ \t]*(?:-[ \t]+)?[\"']?(?P<name>[A-Za-z_]\w*)[\"']?[ \t]*(?P<sign>:[ \t]*|=)(?P<value>.*)$")
_REFERENCE = LazyPattern(r"\$\((\w+)\)")
_IMAGE = LazyPattern(r"[ \t]*(?:-[ \t]+)?image[ \t]*:[ \t]*(\S.*)$")
_REPOSITORY = LazyPattern(r"(?m)^[ \t]*repository[ \t]*:[ \t]*(\S.*)$")
_TAG = LazyPattern(r"(?m)^[ \t]*tag[ \t]*:[ \t]*(\S.*)$")


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
        block = self._blocks[-1]
        for place, line in enumerate(self._lines):
            if (
                (found := _IMAGE.match(line))
                and found.start(1)
                and _same_table(self._lines, (place, block.first), block.column)
            ):
                return read_scalar(found[1])
        return ""

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
        edits = [
            (block.first, block.end, self._written(block, share))
            for block, share in zip(self._blocks, shares, strict=True)
        ]
        edits += self._variable_edits()
        lines = list(self._lines)
        for first, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            lines[first:end] = new
        return "\n".join(mask(line) for line in lines)

    def _written(self, block: Block, words: Sequence[Word]) -> list[str]:
        old = [item.value for item in block.items]
        # A dollar sign may be written in more ways than one: what is not changed stays as it was.
        written = {(read.value, read.expands): value for value in old for read in [_word(value, self._kind)]}
        new = [written.get((word.value, word.expands)) or self._escaped(word) for word in words]
        if new == old:
            return self._lines[block.first : block.end]
        if block.style == "text":
            return [f"{block.head}: {scalar(' '.join(_shell(word) for word in words))}"]
        if block.style == "flow":
            return [f"{block.head}: [{', '.join(_quoted(value) for value in new)}]"]
        same = next(
            (place for place, (left, right) in enumerate(zip(old, new, strict=False)) if left != right),
            min(len(old), len(new)),
        )
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
        depth = depth_of(self._lines[place])
        while place < self._env.end:
            line = self._lines[place]
            if depth_of(line) > depth:
                place += 1
                continue
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
        if self._env is None:
            block = self._blocks[-1]
            return [*edits, (block.end, block.end, self._new_table(block, added))]
        end = self._env.end
        if self._env.style == "flow":
            return [*edits, self._flow_edit(self._env, added)]
        sample = self._lines[self._env.first + 1]
        return [*edits, (end, end, [line for name, value in added for line in _entry(sample, name, value)])]

    def _new_table(self, block: Block, added: Sequence[tuple[str, str]]) -> list[str]:
        indent = " " * block.column
        compose = self._kind == "compose"
        sample = f"{indent}  X: x" if compose else f"{indent}  - name: x"
        entries = [line for name, value in added for line in _entry(sample, name, value)]
        return [f"{indent}{'environment' if compose else 'env'}:", *entries]

    def _flow_edit(self, block: Block, added: Sequence[tuple[str, str]]) -> tuple[int, int, list[str]]:
        """Add to variables that stand between brackets."""
        last = self._lines[block.end - 1].rstrip()
        if last.endswith(("[]", "{}")):
            return block.first, block.end, self._new_table(block, added)
        texts = []
        for name, value in added:
            pair = f"{name}: {quoted(value)}" if last.endswith("}") else scalar(f"{name}={value}")
            texts.append(pair if self._kind == "compose" else f"{{name: {name}, value: {quoted(value)}}}")
        line = f"{last[:-1].rstrip().rstrip(',')}, {', '.join(texts)}{last[-1]}"
        return block.end - 1, block.end, [line]


def read_manifest(text: str) -> Start | None:
    """Return the command of the container that runs vLLM; None where there is none."""
    lines = text.expandtabs(4).split("\n")
    blocks = [block for place in range(len(lines)) if (block := read_block(lines, place)) is not None]
    kind = _kind(text)
    for block in reversed([block for block in blocks if block.key in ("command", "args")]):
        partner = next(
            (
                other
                for other in blocks
                if other.end <= block.first and other.key in ("command", "entrypoint") and _same(lines, other, block)
            ),
            None,
        )
        head = _words(partner, kind) if partner is not None else []
        start = read_words([*head, *_words(block, kind)], bare=True)
        if (
            start is None
            or (not any(part.name for part in start.arguments()) and start.model() is None)
            or not _is_vllm(start, text)
        ):
            continue
        env = next(
            (other for other in blocks if other.key in ("environment", "env") and _same(lines, other, block)), None
        )
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
    """Return whether two keys stand in the same table."""
    return one.column == other.column and _same_table(lines, (one.first, other.first), one.column)


def _same_table(lines: Sequence[str], places: tuple[int, int], column: int) -> bool:
    """Return whether two lines belong to the table whose keys begin at ``column``."""
    low, high = sorted(places)
    # A line further left ends the table; so does the dash of the next item.
    return _key_column(lines[low]) == column == _key_column(lines[high]) and all(
        not line.strip() or depth_of(line) >= column for line in lines[low + 1 : high + 1]
    )


def _key_column(line: str) -> int:
    bare = line.lstrip(" ")
    return len(line) - len(bare.removeprefix("-").lstrip(" ")) if bare.startswith("- ") else len(line) - len(bare)


def _words(block: Block, kind: str) -> list[Word]:
    if block.style == "text":
        try:
            return (
                [_word(word.value, kind, word.expands) for word in split(block.items[0].value)] if block.items else []
            )
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
    return quoted(value) if value.startswith("-") else scalar(value)


def _assigned(line: str, name: str, value: str) -> str:
    """Return a variable's line with another value."""
    indent = line[: depth_of(line)]
    if line.lstrip().startswith("- "):
        return f"{indent}- {scalar(f'{name}={value}')}"
    key = "value" if line.lstrip().startswith("value") else name
    return f"{indent}{key}: {quoted(value)}"


def _entry(sample: str, name: str, value: str) -> list[str]:
    """Return a new variable's lines, written as ``sample`` is."""
    indent = sample[: depth_of(sample)]
    text = quoted(value)
    if not sample.lstrip().startswith("- "):
        return [f"{indent}{name}: {text}"]
    if _PAIR.match(sample) and sample.lstrip()[2:].lstrip().startswith("name"):
        return [f"{indent}- name: {name}", f"{indent}  value: {text}"]
    return [f"{indent}- {scalar(f'{name}={value}')}"]
