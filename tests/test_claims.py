"""The claims that the first articles made: each is in docs/lab/claims.md, and what is false is recommended nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.corpus.types import Fix

PAGE = Path(__file__).parent.parent / "docs" / "lab" / "claims.md"
CORPUS = shared().corpus
COUNTS = {"000": 32, "001": 23, "002": 36, "003": 31, "004": 36}
"""Claims of each article; they are numbered from 1."""
VERDICTS = {"true", "false", "partly", "by version", "elsewhere", "open"}

NEVER = ("VLLM_WORKER_TIMEOUT", "HF_HUB_DISABLE_TELEMETRY", "--disable-log-stats=false", "--quantization gptq ")
"""What the articles recommend and no release knows, heeds or needs."""

ENDED = (
    "--speculative-model", "--num-speculative-tokens", "--guided-decoding-backend", "--lora-extra-vocab-size",
    "--swap-space", "VLLM_USE_V1", "VLLM_ATTENTION_BACKEND", "guided_json", "gpu_cache_usage_perc",
    "time_per_output_token_seconds",
)  # fmt: skip
"""Options and names that newer releases lack: a fix that sets one must be bound to old releases."""

# What the articles advise against these two causes changes nothing.
NO_HELP = {
    "model_load_oom/weights_too_big": ("--max-model-len", "--gpu-memory-utilization"),
    "kv_cache_oom/no_cache_blocks": ("--max-model-len", "--enable-prefix-caching", "--no-enable-prefix-caching"),
}


def rows() -> list[list[str]]:
    """Return the cells of the table's rows."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| \d{3}\.", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def references(cell: str) -> list[tuple[str, list[str]]]:
    """Return the causes that a cell names, each with the fixes named after it."""
    found: list[tuple[str, list[str]]] = []
    for match in re.finditer(r"`(?P<cause>[a-z_0-9]+/[a-z_0-9]+)`|\*\*(?P<fix>.+?)\*\*", cell):
        if match["cause"]:
            found.append((match["cause"], []))
        else:
            found[-1][1].append(match["fix"])
    return found


def fixes() -> list[tuple[str, Fix]]:
    """Return all fixes of the corpus with the cause that they belong to."""
    return [
        (f"{bucket}/{cause.id}", fix)
        for bucket in CORPUS.buckets()
        for cause in CORPUS.bucket(bucket).causes
        for fix in cause.fixes
    ]


def titles_of(bucket: str, cause: str) -> list[str]:
    """Return the titles of a cause's fixes, best first."""
    found = CORPUS.bucket(bucket).cause(cause)
    assert found is not None, f"{bucket}/{cause}"
    return [fix.title for fix in found.fixes]


def test_every_claim_has_its_row():
    """No claim is left out, none stands twice, and they stand in order."""
    expected = [f"{article}.{number}" for article, count in COUNTS.items() for number in range(1, count + 1)]
    assert expected == [row[0] for row in rows()]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_row_says_what_is_claimed_how_true_it_is_and_where_it_lives(row):
    """Causes and fixes that a row names exist, under these very words."""
    claim, text, verdict, place = row
    assert verdict in VERDICTS, claim
    assert text
    assert place
    for cause, titles in references(place):
        bucket, _, name = cause.partition("/")
        known = titles_of(bucket, name)
        assert set(titles) <= set(known), cause


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_fixes_are_named_in_the_order_in_which_they_are_advised(row):
    """A row lists fixes of one cause as the cause does: the better before the worse."""
    for cause, titles in references(row[3]):
        bucket, _, name = cause.partition("/")
        known = titles_of(bucket, name)
        assert titles == sorted(titles, key=known.index), cause


def test_see_also_points_to_rows_that_are_there():
    """ "As 000.6" leads somewhere."""
    named = {number for row in rows() for number in re.findall(r"\b(00\d\.\d+)\b", row[3])}
    assert named
    assert named <= {row[0] for row in rows()}


@pytest.mark.parametrize("option", NEVER)
def test_what_is_false_is_recommended_by_no_fix(option):
    """Neither as an option nor in a text of a fix."""
    naming = [cause for cause, fix in fixes() if option in f"{fix.title} {fix.option} {fix.change} {fix.why} "]
    assert naming == []


@pytest.mark.parametrize("cause", NO_HELP)
def test_advice_that_does_not_help_is_not_given(cause):
    """Context and memory share free no room for weights, the context frees none for the cache's first block."""
    advised = {fix.option for name, fix in fixes() if name == cause}
    assert advised
    assert not advised & set(NO_HELP[cause])


def test_the_memory_share_is_not_lowered_where_the_cache_has_no_room():
    """Every change of it there is a step up."""
    shares = [
        fix.change
        for name, fix in fixes()
        if name.startswith("kv_cache_oom/") and fix.option == "--gpu-memory-utilization"
    ]
    assert shares
    # 0.95 stands where the share in force is 0.94 at most (`too_much_lacks`).
    steps = ("{raise_gpu_memory_utilization", "--gpu-memory-utilization 0.95 ")
    assert all(any(step in change for step in steps) for change in shares)


@pytest.mark.parametrize("option", ENDED)
def test_what_ended_is_recommended_for_old_releases_only(option):
    """Each fix that sets it says up to which release."""
    setting = [
        (cause, fix)
        for cause, fix in fixes()
        if fix.kind in ("flag", "env")
        and re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", fix.change)
        and not fix.change.startswith("unset")
    ]
    assert [cause for cause, fix in setting if "<" not in fix.versions] == []


def test_the_page_speaks_of_no_option_that_never_was_but_to_warn_of_it():
    """The variable that no release knows stands in a row that calls it false."""
    naming = [row for row in rows() if "VLLM_WORKER_TIMEOUT" in row[1]]
    assert [row[2] for row in naming] == ["false"]
