"""What each rule holds: the words of its examples that it needs, texts of each of its alternatives, texts that it bars.

``held/<bucket>.txt`` has it for every rule, so that a rule that vanished, lost an alternative or asks for less than before shows::

    [kv_cache_oom/max-seq-len-v1]
    = To serve at least one request with the … max seq len … …
    + To serve at least one request with the model's max seq len (7), …
    - …

``=`` is an example of the rule with ``…`` for each run of words that it does without, ``+`` a text drawn from its
expressions on which it fires, ``-`` one on which it does not, for it names what must not stand there. In rules on
exceptions ``¦`` parts class, message and stack, ``⏎`` its lines. The files are written by ``TRIAGE_BLESS=1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from tests.corpus.drawing import Drawing
from vllm_triage.classifier.lines.prefix import split_line
from vllm_triage.classifier.lines.types import Trace
from vllm_triage.classifier.matching.match import match_line, match_trace
from vllm_triage.classifier.testing import read_incidents
from vllm_triage.corpus.store import load
from vllm_triage.corpus.types import Rule

FOLDER = Path(__file__).parent / "held"
OTHER = "zq"
"""The word that is put in the place of another."""
PARTS, LINE_END, LEFT_OUT = " ¦ ", " ⏎ ", "…"
RULES = {rule.id: rule for rule in load().rules}
"""As the engine has them, by id; those of the files have the examples."""


class Held(NamedTuple):
    """What is held of one rule."""

    carried: tuple[str, ...]
    """Its examples, each with the words alone that it needs."""
    drawn: tuple[str, ...]
    """Texts on which it fires."""
    barred: tuple[str, ...]
    """Texts on which it does not."""


class Raised:
    """An exception as a rule on exceptions sees it."""

    def __init__(self, text: str) -> None:
        self.kind, self.message, self._stack = (part.replace(LINE_END, "\n") for part in text.split(PARTS))

    def stack(self) -> str:
        """Return the frames, as ``Trace.stack`` does."""
        return self._stack


def fires(rule: Rule, text: str) -> bool:
    """Return whether a rule fires on a line, or on an exception as the files write it: by its own words alone."""
    known = RULES[rule.id]
    if not rule.pattern:
        return match_trace(known, cast("Trace", Raised(text))) is not None
    line = split_line(1, text)
    literal = next((word for word in known.literals if word in line.text), None)
    return literal is not None and match_line(known, line, literal) is not None


def held(rule: Rule) -> Held:
    """Return what is to be held of a rule as it stands in its file."""
    return Held(tuple(_carried(rule)), tuple(_drawn(rule)), tuple(_barred(rule)))


def _carried(rule: Rule) -> Iterable[str]:
    for example in rule.match:
        text = next((text for text in _texts(rule, example) if fires(rule, text)), None)
        if text is not None:
            yield needed(rule, text)


def needed(rule: Rule, text: str) -> str:
    """Return a text on which a rule fires with ``…`` in the place of words that it does without."""
    words = text.split(" ")
    shown: list[str] = []
    for at, word in enumerate(words):
        mark = word in (PARTS.strip(), LINE_END.strip())
        if mark or not fires(rule, " ".join([*words[:at], OTHER, *words[at + 1 :]])):
            shown.append(word)
        elif shown[-1:] != [LEFT_OUT]:
            shown.append(LEFT_OUT)
    return " ".join(shown)


def _texts(rule: Rule, example: str) -> list[str]:
    """Return the lines of an example, or its exceptions, one after the other."""
    if rule.pattern:
        return example.splitlines()
    traces = [trace for incident in read_incidents(example) for trace in incident.traces]
    return [_written(trace.kind, trace.message, trace.stack()) for trace in traces]


def _written(*parts: str) -> str:
    return PARTS.join(part.strip("\n").replace("\n", LINE_END) for part in parts)


def _drawn(rule: Rule) -> list[str]:
    if rule.pattern:
        texts = [_levelled(rule, text) for text in Drawing(rule.pattern).texts()]
    else:
        kinds = _of(rf"\A(?:{rule.exception})\Z") if rule.exception else ["RuntimeError"]
        messages = _of(rule.message) if rule.message else ["it failed"]
        stacks = _of(rule.frames or rule.innermost) if rule.frames or rule.innermost else [""]
        if rule.frames and rule.innermost:
            stacks = [f"{above}\n{_of(rule.innermost)[0]}" for above in stacks]
        texts = [
            _written(kinds[at % len(kinds)], messages[at % len(messages)], stacks[at % len(stacks)])
            for at in range(max(len(kinds), len(messages), len(stacks)))
        ]
    return [text for text in dict.fromkeys(texts) if "\n" not in text and fires(rule, text)]


def _barred(rule: Rule) -> list[str]:
    if rule.pattern:
        texts = [_levelled(rule, text) for text in Drawing(rule.pattern).refused()]
    else:
        usual = next(iter(_drawn(rule)), "")
        if not usual:
            return []
        kind, message, stack = usual.split(PARTS)
        texts = [
            _written(text, message, stack) for text in _refused(rf"\A(?:{rule.exception})\Z" if rule.exception else "")
        ]
        texts += [_written(kind, text, stack) for text in _refused(rule.message)]
        texts += [_written(kind, message, text) for text in _refused(rule.frames or rule.innermost)]
        texts += [
            _written(kind, message, f"{stack}\n{text}") for text in _refused(rule.innermost if rule.frames else "")
        ]
        texts += [
            _written(kind, message, f"{text}\n{stack}") for text in (_of(rule.not_frames) if rule.not_frames else ())
        ]
    return [text for text in dict.fromkeys(texts) if "\n" not in text and not fires(rule, text)]


def _refused(pattern: str) -> list[str]:
    return Drawing(pattern).refused() if pattern else []


def _of(pattern: str) -> list[str]:
    return Drawing(pattern).texts() or [""]


def _levelled(rule: Rule, text: str) -> str:
    """Return a drawn text as a line of a level on which the rule may fire."""
    return text if not rule.levels or "" in rule.levels else f"{rule.levels[0]} 11-02 10:00:00 [x.py:1] {text}"


def read(bucket: str) -> dict[str, Held]:
    """Return what the file of a bucket says, by rule; nothing where there is no file."""
    file = FOLDER / f"{bucket}.txt"
    found: dict[str, dict[str, list[str]]] = {}
    here: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.exists() else ():
        if line.startswith("["):
            here = found[line[1:-1]] = {"=": [], "+": [], "-": []}
        elif line:
            here[line[0]].append(line[2:])
    return {rule: Held(tuple(told["="]), tuple(told["+"]), tuple(told["-"])) for rule, told in found.items()}


def write(bucket: str, found: Mapping[str, Held]) -> None:
    """Write the file of a bucket anew."""
    lines: list[str] = []
    for rule, told in found.items():
        lines.append(f"[{rule}]")
        for sign, texts in zip("=+-", told, strict=True):
            lines += [f"{sign} {text}" for text in texts]
        lines.append("")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{bucket}.txt").write_text("\n".join(lines), encoding="utf-8")
