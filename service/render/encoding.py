"""What an output that does not speak UTF-8 is given: signs of ASCII that mean the same, escapes in JSON."""

from __future__ import annotations

SIGNS = {
    "✖": "X", "✔": "+", "–": "-", "›": ">", "·": "|", "×": "x", "←": "<-", "→": "->", "…": "...", "’": "'",
    "“": '"', "”": '"', "≤": "<=", "≥": ">=", "≈": "~", "│": "|",
}  # fmt: skip
"""What stands for the signs that we print. ``?`` is none of them: it is the sign of 'not recognised'."""


def encodable(text: str, encoding: str) -> str:
    """Return a text that an encoding can hold: as it is where it can, else with what comes nearest.

    Args:
        text: Any format's output.
        encoding: Of the output, as Python names it.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        escaped = text[:1] in ("{", "[")
        return "".join(_fitting(character, encoding, escaped) for character in text)
    return text


def _fitting(character: str, encoding: str, escaped: bool) -> str:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        if "\ud800" <= character <= "\udfff":
            return "?"
        if escaped:
            units = character.encode("utf-16-be")
            return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
        return SIGNS.get(character, "?")
    return character
