"""A start command: what launches vLLM, its arguments, its variables; in a shell, by ``docker run``, in ``bash -c``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ..patterns.lazy import LazyPattern
from . import parts as options
from .parts import Part
from .words import Word, is_assignment, join, masked, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .manifest import Manifest

_RUNTIMES = frozenset({"docker", "podman", "nerdctl"})
_OPERATOR = LazyPattern(r"(?:&&|\|\|?&?|&|;|[012&]?>{1,2}&?\d?.*|<.*)$")
_MODULE = LazyPattern(r"vllm\.entrypoints\.[\w.]*api_server$|.*api_server\.py$")
_NESTED = LazyPattern(r"\bvllm\s+serve\s|vllm\.entrypoints\.\S*api_server\b")
# Options of `docker run` that take no value; all others do.
_SWITCHES = frozenset({
    "--rm", "--detach", "--interactive", "--tty", "--init", "--privileged", "--publish-all", "--read-only", "--quiet",
    "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--replace",
})  # fmt: skip
_SHORT_SWITCHES = LazyPattern(r"-[ditPq]+$")


class Start:
    """A start command, taken apart.

    Attributes:
        kind: ``shell``, ``docker``, or what sort of manifest it stands in (``compose``, ``kubernetes``, ``helm``).
        before: All words in front of vLLM's arguments.
        parts: vLLM's arguments.
        after: What a shell does with the output.
        image: Place of the image's name in ``before``; -1 where there is none.
        inner: The command within a word, ``bash -c "…"``.
        manifest: The text that the words come from.
    """

    __slots__ = ("after", "before", "image", "inner", "kind", "manifest", "parts")

    def __init__(
        self, kind: str, before: Sequence[Word], parts: Sequence[Part], after: Sequence[Word] = (), image: int = -1
    ) -> None:
        self.kind = kind
        self.before = list(before)
        self.parts = list(parts)
        self.after = list(after)
        self.image = image
        self.inner: Start | None = None
        self.manifest: Manifest | None = None

    def words(self) -> list[Word]:
        """Return the whole command."""
        if self.inner is not None:
            text = join(self.inner.words())
            return [*self.before, Word(text, shlex.quote(text)), *self.after]
        return [*self.before, *(word for part in self.parts for word in part.words), *self.after]

    def arguments(self) -> list[Part]:
        """Return vLLM's arguments."""
        return self.inner.arguments() if self.inner is not None else self.parts

    def positional(self) -> bool:
        """Return whether the model stands as a word of its own: ``vllm serve MODEL``, not ``--model MODEL``."""
        if self.inner is not None:
            return self.inner.positional()
        if any(part.name == "--model" for part in self.parts):
            return False
        return not any(_MODULE.match(word.value) for word in self.before)

    def model(self) -> Word | None:
        """Return the model's name."""
        return next((part.values[0] for part in self.arguments() if self._is_model(part)), None)

    def _is_model(self, part: Part) -> bool:
        return bool(part.values) and (part.name == "--model" or (not part.name and self.positional()))

    def others(self) -> list[Part]:
        """Return the options, the model left out."""
        return [part for part in self.arguments() if part.name and part.name != "--model"]

    def variables(self) -> list[tuple[str, Word]]:
        """Return the variables that are set for the server, in order."""
        if self.manifest is not None:
            found = list(self.manifest.variables())
        elif self.kind == "docker":
            found = [
                _variable(self.before[place], start) for place, start in _docker_variables(self.before[: self.image])
            ]
        else:
            found = [_variable(word, 0) for word in self.before if is_assignment(word)]
        return found + (self.inner.variables() if self.inner is not None else [])

    def with_option(self, change: Part) -> Start:
        """Return the command with one of vLLM's options set."""
        made = self._copy()
        if self.inner is not None:
            made.inner = self.inner.with_option(change)
        elif change.name == "--model" and self.positional() and self.model() is not None:
            made.parts = [
                Part("", change.values, change.values) if self._is_model(part) else part for part in self.parts
            ]
        else:
            made.parts = options.put(self.parts, change)
        return made

    def without_option(self, name: str) -> Start:
        """Return the command without one of vLLM's options; as it is where the option is not there."""
        made = self._copy()
        if self.inner is not None:
            made.inner = self.inner.without_option(name)
        else:
            made.parts = options.without(self.parts, name)
        return made

    def without_words(self, words: Sequence[str]) -> Start:
        """Return the command without words that belong to no option; as it is where one of them is not there."""
        made = self._copy()
        if self.inner is not None:
            made.inner = self.inner.without_words(words)
            return made
        left = list(self.parts)
        model = self.model()
        for word in words:
            found = [
                part for part in left if not part.name and part.words[0].value == word and part.words[0] is not model
            ]
            if not found:
                return self._copy()
            left.remove(found[-1])
        made.parts = left
        return made

    def with_variable(self, name: str, value: Word) -> Start:
        """Return the command with one variable set."""
        made = self._copy()
        if self.manifest is not None:
            made.manifest = self.manifest.with_variable(name, value)
        elif self.kind == "docker":
            made.before = list(self.before)
            known = [
                (place, start)
                for place, start in _docker_variables(self.before[: self.image])
                if _variable(self.before[place], start)[0] == name
            ]
            for place, start in known:
                made.before[place] = Word(f"{self.before[place].value[:start]}{name}={value.value}")
            if not known:
                made.before[self.image : self.image] = [Word("-e"), Word(f"{name}={value.value}")]
                made.image += 2
        elif self.inner is not None:
            made.inner = self.inner.with_variable(name, value)
        else:
            made.before = _with_assignment(self.before, name, value)
        return made

    def without_variable(self, name: str) -> Start:
        """Return the command without one variable: taken out of what it sets, or of what it inherits (``env -u``)."""
        made = self._copy()
        if self.manifest is not None or self.kind == "docker":
            return made  # who wrote the variable there takes it out there
        if self.inner is not None:
            made.inner = self.inner.without_variable(name)
            return made
        kept = [word for word in self.before if not (is_assignment(word) and word.value.partition("=")[0] == name)]
        if len(kept) == len(self.before):
            kept = [Word("env"), Word("-u"), Word(name), *(kept or [Word("vllm"), Word("serve")])]
        made.before = kept
        return made

    def safe(self) -> Start:
        """Return the command without secrets."""
        made = self._copy()
        made.before = [masked(word) for word in self.before]
        made.parts = options.safe(self.parts)
        made.after = [masked(word) for word in self.after]
        made.inner = self.inner.safe() if self.inner is not None else None
        made.manifest = self.manifest.safe() if self.manifest is not None else None
        return made

    def _copy(self) -> Start:
        made = Start(self.kind, self.before, self.parts, self.after, self.image)
        made.inner, made.manifest = self.inner, self.manifest
        return made


def read_words(words: Sequence[Word], *, bare: bool = False) -> Start | None:
    """Take a command apart; None where it starts no vLLM.

    Args:
        words: The command.
        bare: The words may be arguments alone, as a container's image takes them.
    """
    words = list(words)
    while words and words[0].value in ("$", "+", "#", ">", "%"):
        del words[0]
    image = _image(words)
    begin = _arguments(words, max(0, image))
    if begin is None:
        for place in range(image + 1, len(words)):
            if _NESTED.search(words[place].value) and (inner := _inner(words[place].value)) is not None:
                made = Start("docker" if image >= 0 else "shell", words[:place], [], words[place + 1 :], image)
                made.inner = inner
                return made
        if image >= 0:
            begin = image + 1
        elif bare or (words and words[0].value.startswith("--")):
            begin = 0
        else:
            return None
    end = next((place for place in range(begin, len(words)) if _OPERATOR.match(words[place].raw)), len(words))
    parts = options.read(words[begin:end])
    return Start("docker" if image >= 0 else "shell", words[:begin], parts, words[end:], image)


def _inner(text: str) -> Start | None:
    from .words import split

    try:
        return read_words(split(text))
    except ValueError:
        return None


def _arguments(words: Sequence[Word], begin: int) -> int | None:
    """Return where vLLM's own arguments begin."""
    for place in range(begin, len(words)):
        value = words[place].value
        if value == "serve" and place and words[place - 1].value.rpartition("/")[2] == "vllm":
            return place + 1
        if _MODULE.match(value):
            return place + 1
    # An image whose entry point is `vllm`.
    return begin + 2 if begin and len(words) > begin + 1 and words[begin + 1].value == "serve" else None


def _image(words: Sequence[Word]) -> int:
    """Return the place of the image in ``docker run …``; -1 where it is none."""
    start = next((place for place, word in enumerate(words) if word.value.rpartition("/")[2] in _RUNTIMES), -1)
    run = (
        next((place for place in range(start + 1, len(words)) if words[place].value in ("run", "create")), -1)
        if start >= 0
        else -1
    )
    if run < 0:
        return -1
    place = run + 1
    while place < len(words):
        value = words[place].value
        if not value.startswith("-"):
            return place
        place += 1 if takes_no_word(value) else 2
    return -1


def takes_no_word(value: str) -> bool:
    """Return whether the word after this option of ``docker run`` is something else than its value."""
    if value.startswith("--"):
        return "=" in value or value in _SWITCHES
    return bool(_SHORT_SWITCHES.match(value)) or len(value) > 2


def _docker_variables(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Return where ``docker run`` is given variables: the word's place, and where in it the name begins."""
    found = []
    for place, word in enumerate(words):
        value = word.value
        if value in ("-e", "--env") and place + 1 < len(words) and "=" in words[place + 1].value:
            found.append((place + 1, 0))
        elif value.startswith("--env=") and "=" in value[6:]:
            found.append((place, 6))
        elif value.startswith("-e") and not value.startswith("--") and "=" in value and len(value) > 3:
            found.append((place, 2))
    return found


def _variable(word: Word, start: int) -> tuple[str, Word]:
    name, _, value = word.value[start:].partition("=")
    made = Word(value)
    made.expands = word.expands
    return name, made


def _with_assignment(before: Sequence[Word], name: str, value: Word) -> list[Word]:
    made = list(before)
    word = Word(f"{name}={value.value}", f"{name}={quote(value.value)}" if value.value else f"{name}=")
    for place, other in enumerate(made):
        if is_assignment(other) and other.value.partition("=")[0] == name:
            made[place] = word
            return made
    begin = 0
    for place, other in enumerate(made):
        # What stands before `&&` is another command; `env` and `sudo` take variables behind their name.
        if _OPERATOR.match(other.raw) or other.value.endswith(";") or other.value.rpartition("/")[2] in ("env", "sudo"):
            begin = place + 1
    while begin < len(made) and is_assignment(made[begin]):
        begin += 1
    made.insert(begin, word)
    return made
