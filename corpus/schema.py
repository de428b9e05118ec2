"""What a bucket file may say, as slotted classes; parsing refuses what docs/rules.md does not allow."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .fact_keys import CONTINUATIONS, READERS, SPEAKERS, STARTS
from .stages import STAGES

ROLES = ("cause", "symptom", "teardown", "advice", "fact", "benign")
STRENGTHS = ("guess", "weak", "strong", "certain")
LEVELS = ("", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
KINDS = ("flag", "env", "command", "step")
SAFETY = ("safe", "quality", "destructive")
FAILURE_LEVELS = ("", "ERROR", "CRITICAL")


class CorpusError(ValueError):
    """A rule file breaks the format; the message names the file, the place and what to write instead."""


@dataclass(slots=True)
class Fix:
    """One recommended change. Texts are templates (``{name|fallback}``)."""

    title: str
    kind: str
    change: str
    why: str
    cost: str
    verify: str = ""
    option: str = ""
    value: str = ""
    safety: str = "safe"
    versions: str = ""
    fixed_in: str = ""
    """For an upgrade: the release from which the fault is gone by vLLM's own sources."""
    restart: bool | None = None
    """Whether the server must be started anew for it; None: worked out (effort.py)."""
    root: bool | None = None
    """Whether it needs the superuser, or access to the host; None: worked out (effort.py)."""
    when: list[str] = field(default_factory=list)
    source: str = ""


@dataclass(slots=True)
class Cause:
    """A finer id within a bucket, with the words that a person reads and the fixes, best first."""

    id: str
    title: str
    summary: str
    confirm: str = ""
    refute: str = ""
    fix: list[Fix] = field(default_factory=list)


@dataclass(slots=True)
class Rule:
    """A line rule (``pattern``) or a traceback rule (``exception``, ``message``, ``frames``)."""

    id: str
    role: str
    cause: str = ""
    strength: str = "strong"
    pattern: str = ""
    literals: list[str] = field(default_factory=list)
    exception: str = ""
    message: str = ""
    frames: str = ""
    innermost: str = ""
    not_frames: str = ""
    levels: list[str] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    unless: list[str] = field(default_factory=list)
    scope: str = "any"
    stage: str = ""
    start: str = ""
    """What begins with such a line (``fact_keys.STARTS``)."""
    reader: str = ""
    """How a fact's line is read, where its captures are not the facts (``fact_keys.READERS``)."""
    continues: str = ""
    """What tells that it goes on over the next lines (``fact_keys.CONTINUATIONS``)."""
    speaker: str = ""
    """Who must have said it (``fact_keys.SPEAKERS``)."""
    in_code: bool = False
    """Whether it counts where a traceback shows source code."""
    frequent: bool = False
    versions: str = ""
    source: str = ""
    note: str = ""
    match: list[str] = field(default_factory=list)
    reject: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Bucket:
    """One file of corpus/buckets/."""

    id: str
    title: str
    meaning: str
    confusers: list[str] = field(default_factory=list)
    cause: list[Cause] = field(default_factory=list)
    rule: list[Rule] = field(default_factory=list)
    """All rules: those within its causes, in the order of the file, then those of no cause."""


_VERSIONS = re.compile(
    r"^(?:[<>]=?|==|!=)\s*\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?(?:\s*,\s*(?:[<>]=?|==|!=)\s*\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?)*$"
)
_WHEN = re.compile(r"^[\w:\-\.]+ (?:present|absent|(?:==|!=|<=|>=|<|>|in) .+)$")
_SLUG = re.compile(r"^[a-z0-9][a-z0-9_.\-]*$")


def parse_bucket(data: dict[str, Any], where: str) -> Bucket:
    """Build a bucket from the parsed TOML document ``data``.

    Raises:
        CorpusError: The document breaks the format; ``where`` (a path) is named in the message.
    """
    bucket: Bucket = _build(Bucket, data, where)
    bucket.cause = [_parse_cause(item, f"{where}: cause {item.get('id', '?')}") for item in data.get("cause", [])]
    bucket.rule = [rule for item in data.get("cause", []) for rule in _rules_of(item, where)]
    bucket.rule += [_build(Rule, item, f"{where}: rule {item.get('id', '?')}") for item in data.get("rule", [])]
    for rule in bucket.rule:
        _check_rule(rule, bucket, f"{where}: rule {rule.id}")
    _unique([rule.id for rule in bucket.rule], f"{where}: rule")
    _unique([cause.id for cause in bucket.cause], f"{where}: cause")
    return bucket


def _rules_of(cause: dict[str, Any], where: str) -> list[Rule]:
    """Return the rules that stand within a cause, and therefore name it."""
    rules: list[Rule] = [_build(Rule, item, f"{where}: rule {item.get('id', '?')}") for item in cause.get("rule", [])]
    for rule in rules:
        if rule.cause:
            raise CorpusError(f"{where}: rule {rule.id}: 'cause' is the one that it stands in; leave the key out")
        rule.cause = cause["id"]
    return rules


def _parse_cause(data: dict[str, Any], where: str) -> Cause:
    cause: Cause = _build(Cause, {key: value for key, value in data.items() if key != "rule"}, where)
    if not _SLUG.match(cause.id):
        raise CorpusError(f"{where}: id must be lower-case letters, digits, '_' (got {cause.id!r})")
    cause.fix = [_build(Fix, item, f"{where}: fix {item.get('title', '?')!r}") for item in data.get("fix", [])]
    for fix in cause.fix:
        spot = f"{where}: fix {fix.title!r}"
        _one_of(fix.kind, KINDS, f"{spot}: kind")
        _one_of(fix.safety, SAFETY, f"{spot}: safety")
        if not fix.cost.strip():
            raise CorpusError(f'{spot}: cost is empty ("none" where there is none)')
        if fix.kind in ("flag", "env") and not fix.option:
            raise CorpusError(f"{spot}: a {fix.kind} needs 'option'")
        if fix.option and fix.kind == "flag" and not fix.option.startswith(("-", "{")):
            raise CorpusError(f'{spot}: option {fix.option!r} is no flag (kind = "env" for a variable)')
        if fix.versions and not _VERSIONS.match(fix.versions):
            raise CorpusError(f"{spot}: versions {fix.versions!r} is no range such as '>=0.8,<0.11'")
        if fix.fixed_in and not fix.versions:
            raise CorpusError(f"{spot}: fixed_in needs versions: an upgrade helps the releases before it")
        for condition in fix.when:
            if not _WHEN.match(condition):
                raise CorpusError(f"{spot}: when {condition!r} is no condition such as 'tensor_parallel_size > 1'")
    return cause


def _check_rule(rule: Rule, bucket: Bucket, where: str) -> None:
    if not _SLUG.match(rule.id):
        raise CorpusError(f"{where}: id must be lower-case letters, digits, '-', '_', '.'")
    _one_of(rule.role, ROLES, f"{where}: role")
    _one_of(rule.strength, STRENGTHS, f"{where}: strength")
    _one_of(rule.scope, ("any", "request"), f"{where}: scope")
    for level in rule.levels:
        _one_of(level, LEVELS, f"{where}: levels")
    for stage in [*rule.stages, *([rule.stage] if rule.stage else [])]:
        _one_of(stage, STAGES, f"{where}: stage")
    _check_fact(rule, where)
    if rule.cause and rule.cause not in {cause.id for cause in bucket.cause}:
        raise CorpusError(f"{where}: cause {rule.cause!r} is not defined in this file")
    if rule.role == "cause" and not rule.cause:
        raise CorpusError(
            f"{where}: role 'cause' needs 'cause' (a [[cause]] of this file), or stands within one as [[cause.rule]]"
        )
    if not rule.pattern and not (rule.exception or rule.message or rule.frames or rule.innermost):
        raise CorpusError(f"{where}: needs 'pattern' (line rule) or 'exception', 'message', 'frames' (traceback rule)")
    if rule.pattern and rule.message:
        raise CorpusError(f"{where}: 'message' is for traceback rules; a line rule has 'pattern'")
    if rule.versions and not _VERSIONS.match(rule.versions):
        raise CorpusError(f"{where}: versions {rule.versions!r} is no range such as '>=0.8,<0.11'")
    if not rule.match:
        raise CorpusError(f"{where}: needs at least one positive example in 'match'")
    if not rule.levels and rule.role in ("cause", "symptom"):
        rule.levels = list(FAILURE_LEVELS)


def _check_fact(rule: Rule, where: str) -> None:
    keys = {"start": STARTS, "reader": READERS, "continues": CONTINUATIONS, "speaker": SPEAKERS}
    for key, allowed in keys.items():
        if value := getattr(rule, key):
            _one_of(value, allowed, f"{where}: {key}")
            if rule.role != "fact":
                raise CorpusError(f"{where}: {key!r} is for rules of role 'fact'")
    wanted = "command" if rule.continues == "backslash" else "table"
    if rule.continues and f"(?P<{wanted}>" not in rule.pattern:
        raise CorpusError(f"{where}: continues = {rule.continues!r} needs a capture {wanted!r} in 'pattern'")


def _build(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise CorpusError(f"{where}: expected a table")
    fields = kind.__dataclass_fields__
    values = {}
    for key, value in data.items():
        if key not in fields:
            raise CorpusError(f"{where}: unknown key {key!r} (known: {', '.join(sorted(fields))})")
        wanted = str(fields[key].type).removesuffix(" | None")
        good = {
            "str": isinstance(value, str), "bool": isinstance(value, bool),
            "list[str]": isinstance(value, list) and all(isinstance(item, str) for item in value),
        }.get(wanted, isinstance(value, list))  # fmt: skip
        if not good:
            raise CorpusError(f"{where}: {key} must be {wanted.replace('str', 'text')}")
        values[key] = value if wanted in ("str", "bool", "list[str]") else []
    try:
        return kind(**values)
    except TypeError as error:
        missing = re.findall(r"'(\w+)'", str(error))
        raise CorpusError(f"{where}: missing {', '.join(missing)}") from None


def _one_of(value: str, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise CorpusError(f"{where} must be one of {', '.join(repr(item) for item in allowed)}, not {value!r}")


def _unique(ids: list[str], where: str) -> None:
    seen: set[str] = set()
    for item in ids:
        if item in seen:
            raise CorpusError(f"{where} {item!r} stands twice")
        seen.add(item)
