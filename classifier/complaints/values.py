"""From a value that was refused to the one that was meant: spelling, units, quotes, ranges. "" where nothing tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from ..patterns.lazy import LazyPattern

_SHORT = {
    "fp16": "float16", "half": "float16", "bf16": "bfloat16", "fp32": "float32", "f16": "float16", "f32": "float32",
    "float": "float32",
}  # fmt: skip
"""What people write for what vLLM calls otherwise."""
_UNIT = LazyPattern(
    r"(?P<number>[+-]?\d[\d_,]*(?:\.\d+)?|[+-]?\.\d+)\s*"
    r"(?:(?P<unit>%|s(?:ec(?:onds?)?)?|min|[kKmMgGtT](?:i?[bB])?|[bB])|(?P<counted>tokens?|gpus?))?"
)
_SCALE = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""vLLM's short forms: 16k is 16,000, 16K is 16,384."""
_SMART = str.maketrans("\u201c\u201d\u201e\xab\xbb\u2018\u2019\u2032\u2033", '"""""\'\'\'"')
"""Quotation marks that a word processor or a chat puts in the place of plain ones."""
_BARE = LazyPattern(r"(?P<before>[{,]\s*)(?P<key>[A-Za-z_][\w.-]*)(?P<after>\s*:)")
_WORD = LazyPattern(r"(?P<before>[:,\[]\s*)(?P<word>[A-Za-z_/][\w./-]*)(?P<after>\s*(?=[,}\]]|$))")
_PAIRS = LazyPattern(r"[\w.-]+=[^,={}]+(?:,[\w.-]+=[^,={}]+)*")
TRUE, FALSE = ("true", "yes", "on", "1", "y", "t"), ("false", "no", "off", "0", "n", "f")


def choice(given: str, allowed: Iterable[str]) -> str:
    """Return the accepted value that was meant; "" where none is near."""
    from difflib import get_close_matches

    accepted = [str(item) for item in allowed]
    plain = {_plain(item): item for item in reversed(accepted)}
    wanted = _plain(given)
    if wanted in plain:
        return plain[wanted]
    if (meant := _SHORT.get(wanted)) and meant in accepted:
        return meant
    if len(wanted) > 3 and sum(item.startswith(wanted) for item in plain) > 1:
        return ""
    near = get_close_matches(wanted, plain, n=1, cutoff=0.7)
    if near:
        # A name that differs in its number is another thing (int7, fp4): only its letters may be misspelt.
        digits = re.findall(r"\d+", wanted), re.findall(r"\d+", near[0])
        return plain[near[0]] if not digits[0] or digits[0] == digits[1] else ""
    within = [item for item in plain if len(wanted) > 3 and (item.startswith(wanted) or wanted.startswith(item + "_"))]
    return plain[within[0]] if len(within) == 1 else ""


def _plain(text: str) -> str:
    return re.sub(r"[\s.:\-]+", "_", text.strip().strip("'\"").lower())


def number(given: str, whole: bool, unit: str = "") -> str:
    """Return the number in a value that was written with a unit, a comma or a percent sign.

    Args:
        given: As it was written.
        whole: Whether only whole numbers are accepted.
        unit: ``share`` for a part of one, ``gib`` for a size in GiB, ``seconds`` for a time; else a plain number is wanted.
    """
    found = _UNIT.fullmatch(given.strip().strip("'\"").replace("_", ""))
    if found is None or (unit and found["counted"]):
        return ""
    text = found["number"]
    text = text.replace(",", "") if re.fullmatch(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) else text.replace(",", ".")
    value, mark = float(text), found["unit"] or ""
    if unit == "share":
        if mark not in ("", "%"):
            return ""
        value = value / 100 if value > 1 else value
    elif unit == "seconds":
        value *= 60 if mark in ("m", "min") else 1
    elif mark == "%" or mark[:1] == "s" or mark == "min":
        return ""
    elif unit == "gib":
        value = value * {"m": 1 / 1024, "k": 1 / 1024**2, "t": 1024}.get(mark[:1].lower(), 1) if mark else value
    elif mark and mark[0] in _SCALE:
        value *= _SCALE[mark[0]]
    if whole and value != int(value):
        return ""
    return str(int(value)) if whole or (value == int(value) and unit != "share") else f"{value:.4g}"


def within(value: float, low: float | None, high: float | None, open_low: bool, open_high: bool) -> bool:
    """Return whether a number lies in a range."""
    if low is not None and (value < low or (open_low and value == low)):
        return False
    return not (high is not None and (value > high or (open_high and value == high)))


def boolean(given: str) -> str:
    """Return ``true`` or ``false`` for what stands for one of them."""
    text = given.strip().strip("'\"").lower()
    return "true" if text in TRUE else "false" if text in FALSE else ""


def mended(given: str) -> str:
    """Return JSON for a value that was meant to be JSON: quotes, bare names, brackets, Python's words, ``key=value``."""
    from ast import literal_eval

    text = given.strip().translate(_SMART)
    while len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1].strip()
    if _PAIRS.fullmatch(text):
        pairs = (pair.partition("=") for pair in text.split(","))
        return json.dumps({key.strip(): _scalar(value.strip()) for key, _, value in pairs})
    if not text.startswith("{"):
        text = "{" + text + "}" if re.match(r"[\"']?\w+[\"']?\s*:\s*\S", text) else text
    for attempt in (text, text.replace('\\"', '"'), _closed(text), _closed(_named(text))):
        for read in (json.loads, literal_eval):
            try:
                value = read(attempt)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
            if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
                try:
                    return json.dumps(value, ensure_ascii=False)
                except (TypeError, ValueError):
                    continue
    return ""


def _named(text: str) -> str:
    """Put quotes around names and words that stand bare, as a shell leaves them once it took the quotes away."""
    text = _BARE.sub(lambda found: f'{found["before"]}"{found["key"]}"{found["after"]}', text.replace("'", '"'))

    def word(found: re.Match[str]) -> str:
        plain = found["word"]
        said = {"True": "true", "False": "false", "None": "null"}.get(plain, plain)
        quoted = said if said in ("true", "false", "null") else f'"{said}"'
        return f"{found['before']}{quoted}{found['after']}"

    return re.sub(r",\s*([}\]])", r"\1", _WORD.sub(word, text))


def _closed(text: str) -> str:
    """Add the brackets that are missing at the end, and take away a comma before them."""
    opened: list[str] = []
    quote = ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "{[":
            opened.append("}" if sign == "{" else "]")
        elif sign in "}]" and (not opened or opened.pop() != sign):
            return text
    return re.sub(r",\s*$", "", text + quote) + "".join(reversed(opened))


def _scalar(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(text, text)


def with_key(table: Mapping[str, object], path: list[str], value: object) -> dict[str, object]:
    """Return a JSON object with one key set, or taken out where ``value`` is None."""
    made = dict(table)
    inner = made.get(path[0])
    if len(path) > 1:
        made[path[0]] = with_key(inner if isinstance(inner, dict) else {}, path[1:], value)
    elif value is None:
        made.pop(path[0], None)
    else:
        made[path[0]] = value
    return made
