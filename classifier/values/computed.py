"""A value with the arithmetic that led to it, so that an answer can show where its number comes from."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Work = TypeVar("Work", bound=Callable[[Mapping[str, object]], "Computed"])

GIB = 1 << 30


class Computed:
    """What a computation gave.

    ``value`` is text to paste, "" where there is none; ``formula`` is the arithmetic with the numbers in it, or the
    reason why no value helps; ``inputs`` are the numbers used, by fact name; ``missing`` names the facts without which
    nothing can be worked out.
    """

    __slots__ = ("formula", "inputs", "missing", "value")

    def __init__(
        self, value: str, formula: str, inputs: Mapping[str, object] | None = None, missing: tuple[str, ...] = ()
    ) -> None:
        self.value = value
        self.formula = formula
        self.inputs: dict[str, object] = dict(inputs or {})
        self.missing = missing

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Computed({self.value!r}, {self.formula!r}, {self.inputs!r}, {self.missing!r})"


def value(work: Work) -> Work:
    """Mark a function whose result rule files may name, as one word of a command: ``values`` finds it by this mark."""
    return work


def piece(work: Work) -> Work:
    """Mark one whose result is several words of a command, with what comes from the log quoted already."""
    return work


def needs(*names: str) -> Computed:
    """Return the answer where numbers are missing: their names."""
    return Computed("", "not known: " + ", ".join(names), missing=names)


def number(facts: Mapping[str, object], *names: str) -> float | None:
    """Return the first of the facts ``names`` that is a finite number (``1,024`` included)."""
    for name in names:
        value = facts.get(name)
        if value is None or isinstance(value, bool):
            continue
        try:
            found = float(str(value).replace(",", ""))
        except ValueError:
            continue
        if abs(found) < 1e18:  # neither infinite nor NaN
            return found
    return None


def whole(facts: Mapping[str, object], *names: str) -> int | None:
    """Return the first of the facts ``names`` as a positive whole number."""
    found = number(facts, *names)
    return int(found) if found is not None and found >= 1 else None


_UNITS = {"b": 1, "": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}


def parse_bytes(text: str) -> int | None:
    """Return the bytes that ``24GiB``, ``24 GB`` or ``24`` (GiB) say; None where the text is not a size."""
    text = text.strip().lower().replace(",", "").replace(" ", "")
    digits = text.rstrip("bikmgt")
    unit = text[len(digits) :]
    try:
        amount = float(digits)
    except ValueError:
        return None
    if not 0 <= amount < 1e15:
        return None
    if not unit:
        return int(amount * GIB)
    if unit[:1] in "kmgt" and unit[1:] in ("ib", "i"):
        return int(amount * 1024 ** ("kmgt".index(unit[0]) + 1))
    if unit == "b" or (unit[0] in "kmgt" and unit[1:] in ("", "b")):
        return int(amount * _UNITS[unit[0]])
    return None


def gib(amount: float) -> str:
    """Return bytes as ``21.3 GiB`` (``0.32 GiB`` below one)."""
    value = amount / GIB
    return f"{value:.2f} GiB" if abs(value) < 1 else f"{value:.1f} GiB"


def short(amount: float) -> str:
    """Return a number of GiB with three digits, never in powers of ten."""
    return f"{amount:.0f}" if abs(amount) >= 100 else f"{amount:.3g}"


def release_at_least(version: object, *bound: int) -> bool | None:
    """Return whether ``version`` is ``bound`` or later; None where it tells no release."""
    from ..facts.versions import version_key

    key = version_key(str(version or ""))
    return None if key is None else key[: len(bound)] >= bound
