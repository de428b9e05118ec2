"""`vllm-triage rules`: what is looked for."""

from __future__ import annotations

import json

from vllm_triage.corpus.store import load


def test_every_rule_is_listed(run):
    """With the number of all at the end."""
    ran = run("rules")
    rules = load().rules

    assert (ran.code, len(ran.out.splitlines())) == (0, len(rules) + 2)
    assert f"{len(rules)} rules in" in ran.out


def test_rules_of_one_bucket(run):
    """Nothing of others."""
    lines = run("rules", "kv_cache_oom").out.splitlines()[:-2]

    assert {line.partition("/")[0] for line in lines} == {"kv_cache_oom"}


def test_json(run):
    """A list; what a rule does not have is left out."""
    rules = json.loads(run("rules", "kv_cache_oom", "-f", "json").out)

    assert {"id", "bucket", "role"} <= set(rules[0])
    assert all(value for rule in rules for value in rule.values())


def test_a_bucket_that_is_not_there(run):
    """Exit code 2, with those that are."""
    ran = run("rules", "nonsense")

    assert (ran.code, "no bucket 'nonsense'; there are: attention_backend" in ran.err) == (2, True)


def test_rules_of_ones_own_are_listed_and_broken_ones_told(run, tmp_path):
    """As the main command loads them."""
    (tmp_path / "bad.toml").write_text("id = ")
    ran = run("rules", "--rules", tmp_path, "kv_cache_oom")

    assert (ran.code, "rule file left out: bad.toml" in ran.err) == (0, True)
