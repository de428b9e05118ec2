"""The format of rule files: what docs/rules.md does not allow is refused, with words that say what to write."""

from __future__ import annotations

import copy
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.corpus import schema
from vllm_triage.corpus.check import check_rules
from vllm_triage.corpus.json_schema import json_schema
from vllm_triage.corpus.places import CorpusError
from vllm_triage.corpus.schema import parse_bucket, parse_text

_FIX = {"title": "Make room", "kind": "step", "change": "Delete what is old.", "why": "Room.", "cost": "none"}
_RULE = {
    "id": "no-space",
    "role": "cause",
    "cause": "full",
    "pattern": "No space on acme",
    "match": ["No space on acme"],
}
GOOD: dict[str, Any] = {
    "id": "acme_disk",
    "title": "The disk is full",
    "meaning": "Nothing can be written.",
    "cause": [{"id": "full", "title": "Full", "summary": "No space.", "fix": [_FIX]}],
    "rule": [_RULE],
}


def _with(path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    *steps, last = path.split(".")
    place: Any = data
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


def test_a_good_file_is_read():
    """All that stands in it arrives."""
    bucket = parse_bucket(GOOD, "x.toml")

    assert ("acme_disk", "full", "acme_disk/no-space") == (bucket.id, bucket.causes[0].id, bucket.rules[0].id)
    assert ("", "ERROR", "CRITICAL") == bucket.rules[0].levels


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("title", None, "missing title"),
        ("colour", "red", "unknown key 'colour'"),
        ("waits", 1, "waits must be true or false"),
        ("strangers_below", True, "strangers_below must be a whole number"),
        ("yields", "much", "yields must be a number"),
        ("yields", 1.5, "yields must be from 0 to 1"),
        ("side", "both", "side must be one of"),
        ("cause.0.concluded_from", "lunch", "concluded_from must be one of"),
        ("rule.0.role", "culprit", "role must be one of"),
        ("rule.0.strength", "huge", "strength must be one of"),
        ("rule.0.scope", "all", "scope must be one of"),
        ("rule.0.levels", ["LOUD"], "levels must be one of"),
        ("rule.0.stages", ["lunch"], "stages must be one of"),
        ("rule.0.stage", "lunch", "stage must be one of"),
        ("rule.0.patern", "x", "unknown key 'patern'; do you mean 'pattern'"),
        ("rule.0.frequent", "yes", "frequent must be true or false"),
        ("rule.0.reject", [1], "reject must be a list of texts"),
        ("id", "../elsewhere", "id must be lower-case"),
        ("rule.0.cause", "empty", "is not defined in this file"),
        ("rule.0.cause", None, "needs 'cause'"),
        ("rule.0.pattern", None, "needs 'pattern'"),
        ("rule.0.message", "x", "'message' is for traceback rules"),
        ("rule.0.match", [], "positive example"),
        ("rule.0.versions", "new", "is no range"),
        ("rule.0.id", "No Space", "lower-case"),
        ("rule.0.match", "text", "match must be a list"),
        ("rule", [*GOOD["rule"], *GOOD["rule"]], "stands twice"),
        ("cause", [*GOOD["cause"], *GOOD["cause"]], "stands twice"),
        ("cause.0.fix.0.kind", "magic", "kind must be one of"),
        ("cause.0.fix.0.safety", "fine", "safety must be one of"),
        ("cause.0.fix.0.cost", "", "cost"),
        ("cause.0.fix.0.when", ["often"], "when"),
    ],
)
def test_what_is_wrong_is_named(path, value, words):
    """The message says which key, and what stands for choice."""
    with pytest.raises(CorpusError, match=words):
        parse_bucket(_with(path, value), "x.toml")


def test_rules_stand_within_their_cause_or_name_it():
    """Both forms mean the same; within a cause, its rules come first."""
    within = copy.deepcopy(GOOD)
    rule = {key: value for key, value in _RULE.items() if key != "cause"}
    within["cause"][0]["rule"] = [rule]
    within["rule"] = [{**_RULE, "id": "disk-full"}]
    bucket = parse_bucket(within, "x.toml")

    assert [("no-space", "full"), ("disk-full", "full")] == [(rule.name, rule.cause) for rule in bucket.rules]
    assert ["no-space"] == [rule.name for rule in bucket.causes[0].rules]


def test_a_rule_within_a_cause_names_no_other():
    """The place says which cause it is; a key that says it again may say something else."""
    data = copy.deepcopy(GOOD)
    data["cause"][0]["rule"] = [_RULE]

    with pytest.raises(CorpusError, match="leave the key out"):
        parse_bucket(data, "x.toml")


def test_the_message_names_file_and_rule():
    """Whoever reads it finds the place."""
    with pytest.raises(CorpusError, match=r"x\.toml: rule no-space"):
        parse_bucket(_with("rule.0.role", "culprit"), "x.toml")


LINES = """id = "acme_disk"
title = "The disk is full"
meaning = '''
[[cause]] is no table here,
nor pattern = "this" a key.
'''
[[cause]]
id = "full"
title = "Full"
summary = "No space."
  [[cause.rule]]
  id = "no-space"
  role = "cause"
  pattern = "No space on acme"
  match = [
    "No space on acme",
  ]

  [[cause.fix]]
  title = "Make room"
  kind = "step"
  change = "Delete what is old."
  why = "Room."
  cost = "none"
[[rule]]
id = "noise"
role = "benign"
pattern = "acme is fine"
match = ["acme is fine"]
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('role = "cause"', 'role = "culprit"', 13, "rule no-space: role must be one of"),
        ('kind = "step"', 'kind = "magic"', 21, "cause full: fix 'Make room': kind must be one of"),
        ('  pattern = "No space on acme"\n', "", 12, "rule no-space: needs 'pattern'"),
        ('role = "benign"', 'colour = "red"', 27, "rule noise: unknown key 'colour'"),
        ('title = "Full"', "title = 7", 9, "cause full: title must be text"),
        ('id = "noise"', 'id = "no-space"', 25, "rule 'no-space' stands twice"),
        ('cost = "none"', "cost = none", 24, "Invalid value (column 10)"),
    ],
)
def test_the_message_names_the_line(old, new, line, words):
    """As `file:line:`, which editors and terminals jump to; strings of several lines do not lead astray."""
    with pytest.raises(CorpusError, match=rf"^x\.toml:{line}: .*{re.escape(words)}"):
        parse_text(LINES.replace(old, new), "x.toml")


def test_rules_and_causes_know_their_line():
    """For complaints that are found later."""
    bucket = parse_text(LINES, "x.toml")

    assert [7, 11, 25] == [bucket.causes[0].line, *(rule.line for rule in bucket.rules)]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "rule", "cause", "fix", "title", "match", "role", "pattern"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["id", "title", "meaning", "confusers", "cause", "rule", "other"]), _JSON, max_size=6
    )
)
def test_any_document_is_read_or_refused(data):
    """No document makes the parser fail in any other way."""
    error = ""
    try:
        parse_bucket(data, "x.toml")
    except CorpusError as refusal:
        error = str(refusal)

    assert error == "" or error.startswith("x.toml")


SCHEMA = Path(__file__).parents[2] / "docs" / "rules.schema.json"


def test_the_published_schema_is_that_of_the_classes():
    """`TRIAGE_BLESS=1` writes it anew; `corpus.check --schema` prints the same."""
    made = json.dumps(json_schema(), indent=1) + "\n"
    if os.environ.get("TRIAGE_BLESS"):
        SCHEMA.write_text(made, encoding="utf-8")

    assert SCHEMA.read_text(encoding="utf-8") == made


def test_the_schema_knows_what_the_reader_knows():
    """Choices, kinds of values, which keys there must be; no key is free."""
    told = json.loads(SCHEMA.read_text(encoding="utf-8"))
    cause = told["properties"]["cause"]["items"]
    rule = cause["properties"]["rule"]["items"]

    assert ["id", "title", "meaning"] == told["required"]
    assert [{"type": "boolean"}, {"type": "integer"}, {"type": "number"}] == [
        told["properties"][name] for name in ("waits", "strangers_below", "yields")
    ]
    assert ["certain", "strong", "weak", "guess"] == rule["properties"]["strength"]["enum"]
    assert {"type": "array", "items": {"type": "string"}} == rule["properties"]["match"]
    assert {"line", "bucket", "needs", "ready", "compiled"} & set(rule["properties"]) == set()
    assert [False, False, False] == [part["additionalProperties"] for part in (told, cause, rule)]


def test_the_example_of_the_page_is_a_rule_file():
    """What docs/rules.md shows first can be copied: it is read, and only what it leaves out is complained of."""
    page = (SCHEMA.parent / "rules.md").read_text(encoding="utf-8")
    bucket = parse_text(page.partition("```toml\n")[2].partition("```")[0], "rules.md")

    assert ("kv_cache_oom", ["context_exceeds_cache"], 2) == (
        bucket.id,
        [cause.id for cause in bucket.causes],
        len(bucket.rules),
    )
    assert check_rules(bucket, "rules.md") == []


LEVER = """
id = "acme"
title = "T"
meaning = "M."

[[cause]]
id = "one"
title = "T"
summary = "S."

[[cause.fix]]
lever = "{}"
why = "Here it helps so."
"""


def test_a_lever_stands_once_and_a_cause_says_what_is_its_own():
    """Title, change and cost are the lever's, the reason the cause's; one that is not there is named with the nearest."""
    (fix,) = parse_text(LEVER.format("run-in-eager-mode"), "a.toml").causes[0].fixes
    assert ("--enforce-eager", "Here it helps so.") == (fix.change, fix.why)
    assert fix.title
    with pytest.raises(CorpusError, match=r"no lever 'run-in-eager-mod'.* do you mean 'run-in-eager-mode'"):
        parse_text(LEVER.format("run-in-eager-mod"), "a.toml")


def test_every_lever_is_of_use_to_two_causes():
    """What one cause alone needs stands with it."""
    folder = Path(schema.__file__).parent / "buckets"
    named = Counter(
        re.findall(r'(?m)^ *lever = "([^"]+)"$', "\n".join(path.read_text() for path in folder.glob("*.toml")))
    )
    assert set(named) == set(schema.levers())
    assert min(named.values()) >= 2
