"""`vllm-triage explain`: a page for every bucket, cause and rule, offline."""

from __future__ import annotations

import json
import re

import pytest

from vllm_triage.corpus.store import load

CORPUS = load()


@pytest.mark.parametrize("bucket", CORPUS.buckets())
def test_every_bucket_has_a_page(run, bucket):
    """Meaning, causes, fixes, rules."""
    ran = run("explain", bucket)
    page = CORPUS.bucket(bucket)

    assert (ran.code, ran.out.splitlines()[0]) == (0, f"{bucket}: {page.title}")
    assert all(f"{bucket}/{cause.id}" in ran.out for cause in page.causes)
    assert re.findall(r"\{[a-z_]+(?:\|[^{}]*)?\}", ran.out) == []


def test_the_page_of_a_cause_holds_that_cause_alone(run):
    """And of the rules those that lead to it."""
    out = run("explain", "kv_cache_oom/no_cache_blocks").out

    assert ("kv_cache_oom/no_cache_blocks" in out, "context_exceeds_cache" in out) == (True, False)


def test_a_rule_leads_to_its_cause(run):
    """An id from --explain can be looked up as it stands."""
    assert "kv_cache_oom/context_exceeds_cache" in run("explain", "kv_cache_oom/max-seq-len-v1").out


def test_without_a_word_all_are_listed(run):
    """Each bucket with its title, on a line of its own."""
    lines = run("explain").out.splitlines()

    assert [line.split()[0] for line in lines[: len(CORPUS.buckets())]] == list(CORPUS.buckets())
    assert [item["id"] for item in json.loads(run("explain", "-f", "json").out)] == list(CORPUS.buckets())


def test_nothing_is_wider_than_the_terminal(run, monkeypatch):
    """But what is to be copied."""
    monkeypatch.setenv("COLUMNS", "60")
    page = CORPUS.bucket("kv_cache_oom")
    copied = " ".join(text for cause in page.causes for fix in cause.fixes for text in (fix.change, fix.source))
    long = [line for line in run("explain", "kv_cache_oom").out.splitlines() if len(line) > 60]

    assert [line for line in long if line.strip().split()[0] not in copied] == []


def test_json(run):
    """The same for programs."""
    page = json.loads(run("explain", "kv_cache_oom", "-f", "json").out)

    assert (page["id"], {"causes", "meaning", "rules", "title"} <= set(page)) == ("kv_cache_oom", True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["kv_cache_om"], "near: kv_cache_oom"),
        (["xyzzy"], "vllm-triage rules lists them"),
        (["kv_cache_oom/nothing"], "causes: "),
        (["facts"], "vllm-triage rules facts"),
    ],
)
def test_what_there_is_not(run, words, complaint):
    """Exit code 2, and what may have been meant."""
    ran = run("explain", *words)

    assert (ran.code, complaint in ran.err) == (2, True)
