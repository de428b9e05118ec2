"""vLLM's version strings: releases, release candidates, dev and fork builds."""

from __future__ import annotations

from ..patterns.lazy import LazyPattern

_PART = LazyPattern(r"(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?)")
_VERSION = LazyPattern(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:\.?(rc|post|dev)(\d{1,9}))?(?!\d)")

Key = tuple[int, int, int, int, int]


def version_key(text: str) -> Key | None:
    """Return what versions are compared by; None where ``text`` tells no release.

    Builds from a checkout call themselves ``0.1.dev3151+g31c7178``: that names no release.
    """
    found = _VERSION.match(text.strip())
    if not found:
        return None
    major, minor, patch, kind, number = found.groups()
    if (major, minor) == ("0", "1") and kind == "dev" and not patch:
        return None
    rank = {"dev": -2, "rc": -1, None: 0, "post": 1}[kind]
    return (int(major), int(minor), int(patch or 0), rank, int(number or 0))


def in_range(version: str, wanted: str) -> bool | None:
    """Return whether ``version`` lies within ``wanted`` (``">=0.8,<0.11"``); None where the version tells no release."""
    key = version_key(version)
    if key is None:
        return None
    for sign, bound in _PART.made.findall(wanted):
        other = version_key(bound if "." in bound else f"{bound}.0")
        if other is None:
            continue
        # A candidate or a build on the way to a release has that release's options, unless the bound tells them apart.
        mine = key if other[3] < 0 else (*key[:3], max(key[3], 0), key[4] if key[3] > 0 else 0)
        # A bound of two numbers speaks of the whole series: <=0.10 holds for 0.10.2, >0.10 does not.
        left, right = (mine, other) if bound.count(".") > 1 else (mine[:2], other[:2])
        good = {
            "<": left < right,
            ">": left > right,
            "<=": left <= right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
        }
        if sign in (">=", "<") and bound.count(".") == 1:
            good[sign] = (mine >= other) if sign == ">=" else (mine < other)
        if not good[sign]:
            return False
    return True
