"""Complaints that are found by what was given: a file that is not there, a feature, two settings that do not go together."""

from __future__ import annotations

import math
import re

from ...patterns.lazy import LazyPattern
from .case import Case
from .complaint import Complaint
from .names import of_words

_RELATION = LazyPattern(
    r"(?<![a-z])(?P<first>[a-z]{1,30}(?:_[a-z]{1,30}){1,8}) ?[(=:]? ?(?P<value>\d{1,18})\)? (?:must|should|needs to) be (?P<sign>>=|<=|greater than or equal to|at least|"
    r"less than or equal to|at most|no (?:more|less) than) (?P<second>[a-z]{1,30}(?:_[a-z]{1,30}){1,8}) ?[(=:]? ?(?P<other>\d{1,18})"
)
_DIVISOR = LazyPattern(
    r"(?<!\d)(?P<whole>\d{1,18})\)? must be divisible by (?P<size>[a-z_]{1,60}) ?[=(] ?(?P<value>\d{1,18})"
)
_SIZES = {
    "tp_size": "tensor_parallel_size", "pp_size": "pipeline_parallel_size", "dp_size": "data_parallel_size",
    "dcp_size": "decode_context_parallel_size", "pcp_size": "prefill_context_parallel_size",
}  # fmt: skip
_MISSING_KEY = LazyPattern(
    r"specify (?P<key>\w+) when (?P<other>\w+) is set, supported \w+ are (?P<list>[(\[{][^)\]}\n]{1,400})"
)
_MISSING_COUNT = LazyPattern(r"\bnum_speculative_tokens must be provided\b")
FIRST_DRAFT = "3"
"""Tokens to draft where nothing says how many: few enough that a poor acceptance costs little."""
_ATTRIBUTE = LazyPattern(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_REFUSES = LazyPattern(
    r"[Uu]nsupported|not (?:\w+ ){0,2}supported|[Uu]nknown|[Ii]nvalid|KeyError|not found|no such", re.IGNORECASE
)
_QUOTED = LazyPattern(r"['\"`]([\w./-]{2,100})['\"`]|(?<=type: )([\w./-]{2,100})")
_BAD_JSON = LazyPattern(
    r"[Ii]nvalid JSON (?:format |value |string )?(?:for|in) (?P<name>--[a-z][a-z-]+): (?P<given>.+)"
)
_UNSUPPORTED = LazyPattern(
    r"not (?:yet |currently )?(?:supported|compatible|available|implemented)|unsupported|only supported|must be greater than 0 when"
)
_ABSENT = LazyPattern(
    r"[Nn]o such file|does not exist|doesn't exist|not (?:be )?found|is not a (?:local|valid)|Invalid repository ID|[Cc]an't (?:load|find)|"
    r"[Uu]nable to read|must be (?:an? )?(?:existing )?(?:directory|file|path)|does not appear to|Repo id must|Not a directory"
)
"""How messages say that a file or folder is not there."""
_PLACE = LazyPattern(r"[/~]|\.{1,2}/|.*\.(?:json|ya?ml|jinja2?|py|txt|gguf)$")
"""Values that name a file or folder; ``org/name`` names a repository."""
_NOT_OURS = ("--model", "--ssl", "--lora-modules", "--hf-token", "--api-key", "--config")
"""Settings that nothing takes the place of, or that guard the server."""


def of_json(case: Case) -> list[Complaint]:
    """Return the option of which the message quotes the whole value as broken JSON."""
    found = _BAD_JSON.search(case.text)
    return [Complaint(found["name"], found["given"].strip(), kind="json")] if found else []


def of_path(case: Case) -> list[Complaint]:
    """Return the one setting whose file or folder is not there, where the message quotes its path."""
    if not _ABSENT.search(case.text):
        return []
    given = {f"--{name.replace('_', '-')}": value for name, value in case.arguments.items()} | case.variables
    named = [
        Complaint(name, value, kind="path")
        for name, value in given.items()
        if isinstance(value, str) and len(value) > 3 and _mentions(case.text, value)
    ]
    return named if len(named) == 1 and not named[0].name.startswith(_NOT_OURS) else []


def of_quoted(case: Case) -> list[Complaint]:
    """Return the key of a JSON value whose own value the message refuses in quotes."""
    if not _REFUSES.search(case.text):
        return []
    quoted = {word for pair in _QUOTED.made.findall(case.text) for word in pair if word}
    found = [
        Complaint(f"--{name.replace('_', '-')}.{key}", str(value[0] if isinstance(value, list) else value), kind="type")
        for name, table in case.arguments.items()
        if isinstance(table, dict)
        for key, value in table.items()
        if (isinstance(value, str) and value in quoted)
        or (isinstance(value, list) and len(value) == 1 and value[0] in quoted)
    ]
    return found if len(found) == 1 else []


def of_missing_key(case: Case) -> list[Complaint]:
    """Return the key that a JSON value lacks, with the values that the message lists for it, or one to begin with."""
    if _MISSING_COUNT.search(case.text) and isinstance(case.arguments.get("speculative_config"), dict):
        return [Complaint("--speculative-config.num_speculative_tokens", "", (FIRST_DRAFT,), kind="added")]
    found = _MISSING_KEY.search(case.text)
    if found is None:
        return []
    holders = [name for name, table in case.arguments.items() if isinstance(table, dict) and found["other"] in table]
    if len(holders) != 1:
        return []
    allowed = tuple(re.findall(r"'([\w.-]{1,60})'", found["list"]))
    return [Complaint(f"--{holders[0].replace('_', '-')}.{found['key']}", "", allowed, kind="added")]


def of_attribute(case: Case) -> list[Complaint]:
    """Return the option that names a class which its module does not have."""
    found = _ATTRIBUTE.search(case.text)
    if found is None:
        return []
    whole = (f"{found['module']}.{found['name']}", f"{found['module']}:{found['name']}")
    named = [name for name, value in case.arguments.items() if value in whole]
    return (
        [Complaint("--" + named[0].replace("_", "-"), str(case.arguments[named[0]]), kind="type")]
        if len(named) == 1
        else []
    )


def of_divisor(case: Case) -> list[Complaint]:
    """Return the size that does not divide another one: the largest that does, and is not above it, takes its place."""
    found = _DIVISOR.search(case.text)
    if found is None or not (option := of_words(_SIZES.get(found["size"], found["size"]), case)):
        return []
    size, whole = int(found["value"]), int(found["whole"])
    if not size or str(case.arguments.get(option[2:].replace("-", "_"))) != str(size):
        return []
    return [Complaint(option, str(size), (str(math.gcd(size, whole)),), kind="bound")]


def of_relation(case: Case) -> list[Complaint]:
    """Return the setting that must not be above, or below, another: the one that was given takes the other's value."""
    found = _RELATION.search(case.text)
    if found is None:
        return []
    name, given, bound = found["first"], found["value"], found["other"]
    if name not in case.arguments and found["second"] in case.arguments:
        name, given, bound = found["second"], bound, given
    option = of_words(name, case)
    return [Complaint(option, given, (bound,), kind="bound")] if option else []


def of_feature(case: Case) -> list[Complaint]:
    """Return the one switch whose feature the message calls unsupported: ``enable_sleep_mode`` for 'sleep mode'."""
    if not _UNSUPPORTED.search(case.text):
        return []
    plain = re.sub(r"[\s_-]+", " ", case.text.lower())
    named = [
        name for name, value in case.arguments.items()
        if value is True and (words := name.removeprefix("enable_").replace("_", " ")) in plain and " " in words
    ]  # fmt: skip
    return [Complaint("--" + named[0].replace("_", "-"), "unsupported", kind="none")] if len(named) == 1 else []


def _mentions(text: str, value: str) -> bool:
    """Tell whether a text names a value that looks like a file or folder."""
    return _PLACE.match(value) is not None and re.search(rf"(?<![\w./-]){re.escape(value)}(?![\w/-])", text) is not None
