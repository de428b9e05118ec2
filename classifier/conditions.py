"""Conditions on a log's facts, as rule files write them: of fixes (``when``) and of causes (``confirmed_by``, ``refuted_by``)."""

from __future__ import annotations

from collections.abc import Mapping

from .values import COMPUTED


def holds(condition: str, facts: Mapping[str, object]) -> bool:
    """Evaluate a condition; a comparison with an unknown fact holds."""
    told = _compared(condition, facts)
    return told is None or told


def shows(condition: str, facts: Mapping[str, object]) -> bool:
    """Evaluate a condition; a comparison with an unknown fact shows nothing."""
    return _compared(condition, facts) is True


def told(condition: str, facts: Mapping[str, object]) -> str:
    """Return what a condition that holds found, in words: ``kv_cache_needed_gib = 16.0``."""
    name = condition.partition(" ")[0]
    value = _value(name, facts)
    plain = name.removeprefix("arg:")
    if value is None:
        return f"no {plain}"
    return f"{plain} = {value}"


def _compared(condition: str, facts: Mapping[str, object]) -> bool | None:
    """Return whether a condition holds; None where it compares a fact that is unknown."""
    name, _, rest = condition.partition(" ")
    value = _value(name, facts)
    if rest == "present":
        return value is not None
    if rest == "absent":
        return value is None
    if value is None:
        return None
    sign, _, wanted = rest.partition(" ")
    if sign == "in":
        return str(value) in [item.strip() for item in wanted.split(",")]
    return _compare(value, sign, wanted.strip())


def _value(name: str, facts: Mapping[str, object]) -> object:
    if name.startswith("arg:"):
        arguments = facts.get("arguments") or {}
        return arguments.get(name[4:].lstrip("-").replace("-", "_")) if isinstance(arguments, dict) else None
    value = facts.get(name)
    return COMPUTED[name](facts) or None if value is None and name in COMPUTED else value


def _compare(value: object, sign: str, wanted: str) -> bool:
    """Compare as numbers where both are, else as text, which is not ordered."""
    try:
        left, right = float(value) if isinstance(value, (int, float)) else float(str(value)), float(wanted)
    except ValueError:
        return {"!=": str(value) != wanted}.get(sign, str(value) == wanted and sign in ("==", "<=", ">="))
    return {
        "==": left == right, "!=": left != right, "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right,
    }[sign]  # fmt: skip
