"""The helper for people who add rules: it passes what is right and names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus.test_store import LOG, RULES
from vllm_triage.classifier.errors import RuleError
from vllm_triage.classifier.testing import CORPUS, RuleFile, assert_verdict, check_examples, company, fires
from vllm_triage.corpus import remedies
from vllm_triage.corpus.check import check_file, check_remedies, main


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a rule file, with some of its text replaced."""

    def make(old: str = "", new: str = "") -> Path:
        text = 'confusers = ["INFO all is well", "KeyError: 1"]\n' + RULES
        assert old in text
        path = tmp_path / "acme_plugin.toml"
        path.write_text(text.replace(old, new) if old else text)
        return path

    return make


def test_a_good_file_has_no_complaints(write):
    """Format, examples, confusers."""
    rules = RuleFile(write())

    assert (rules.complaints(), [rule.id for rule in rules.rules]) == ([], ["acme_plugin/bad-cache"])


def test_a_file_of_ones_own_needs_no_confusers(tmp_path):
    """Nor a fix for every cause: that is asked of the corpus."""
    path = tmp_path / "acme_plugin.toml"
    path.write_text(RULES[: RULES.index("  [[cause.fix]]")] + RULES[RULES.index("[[rule]]") :])

    assert RuleFile(path).complaints() == []
    assert check_file(path) == []


def test_a_file_of_the_corpus_is_read_as_what_it_is():
    """It is not added a second time."""
    assert RuleFile(CORPUS / "buckets" / "kv_cache_oom.toml").complaints() == []


def test_a_confuser_that_is_answered_with_the_bucket_is_named(write):
    """What looks like it and is not."""
    found = RuleFile(write('"KeyError: 1"', f'"{LOG}"')).complaints()

    assert [text.startswith("acme_plugin: its confuser is answered with it") for text in found] == [True]


def test_an_example_that_does_not_fire_is_named(write):
    """With its beginning."""
    rules = RuleFile(write())
    rules.rules[0].match += ("INFO acme cache is fine",)

    assert check_examples(rules.rules[0], rules.triage) == [
        "acme_plugin/bad-cache: does not fire on its example 'INFO acme cache is fine'"
    ]


def test_a_counter_example_that_fires_is_named(write):
    """In the engine, with all that it peels off."""
    rules = RuleFile(write())
    rules.rules[0].reject += (f"(EngineCore pid=7) ERROR 11-02 10:00:00 [core.py:1] {LOG}",)

    found = check_examples(rules.rules[0], rules.triage)
    assert ["fires on its counter-example" in text for text in found] == [True]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('role = "cause"', 'role = "culprit"', "role must be one of"),
        ("acme cache entry", "(?:a+)+ entry", "repeat inside"),
        ('reject = ["INFO acme cache is fine"]', f'reject = ["{LOG}"]', "matches its own counter-example"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused(write, old, new, words):
    """With the reason."""
    with pytest.raises(RuleError, match=words):
        RuleFile(write(old, new))


def test_a_file_that_is_not_there(tmp_path):
    """As a rule error: whoever tests rules catches one kind."""
    with pytest.raises(RuleError, match="nowhere"):
        RuleFile(tmp_path / "nowhere.toml")


def test_a_verdict_that_holds_returns_the_answer(write):
    """For further questions."""
    rules = RuleFile(write())
    answer = assert_verdict(f"INFO: start\n{LOG}\n", "acme_plugin/bad_cache", line=2, rules=rules)

    assert answer.summary == "Entry k7 cannot be read."
    assert assert_verdict(LOG, "acme_plugin", rules=rules.triage).cause == "acme_plugin/bad_cache"


@pytest.mark.parametrize(
    ("expected", "more", "words"),
    [
        ("nccl_hang", {}, "expected nccl_hang, got kv_cache_oom/no_cache_blocks"),
        ("kv_cache_oom/context_exceeds_cache", {}, "expected kv_cache_oom/context_exceeds_cache"),
        ("kv_cache_oom", {"line": 7}, r"expected line 7 as the first evidence, got \[\(1"),
        ("kv_cache_oom", {"facts": {"max_model_len": 5}}, "fact max_model_len: expected 5, got None"),
    ],
)
def test_a_verdict_that_does_not_hold_says_what_was_answered(expected, more, words):
    """And why: the rules and their weights are in the message."""
    with pytest.raises(AssertionError, match=words):
        assert_verdict("ValueError: No available memory for the cache blocks.", expected, **more)


def test_rules_get_the_company_that_they_ask_for():
    """A stage that is reached, a rule that fired before."""
    rule = RuleFile(CORPUS / "buckets" / "kv_cache_oom.toml").rules[0]
    rule.stages, rule.requires = ("weights",), ("kv_cache_oom/max-seq-len-v1",)
    lines = company(rule).splitlines()

    assert len(lines) == 2
    assert fires("kv_cache_oom/max-seq-len-v1", lines[1])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('summary = "', 'summary = "{usedd} ', "nothing stands for {usedd}"),
        ("[[cause]]\n", '[[cause]]\nalso = ["no_such_bucket"]\n', "also: there is no 'no_such_bucket'"),
        (
            "[[rule]]\n",
            '[[rule]]\noverlaps = ["no_such_bucket"]\n',
            "overlaps: there is no 'no_such_bucket'",
        ),
        ("[[rule]]\n", '[[rule]]\nrequires = ["nothing/here"]\n', "requires: there is no 'nothing/here'"),
    ],
)
def test_what_nothing_stands_for_is_told(write, old, new, told):
    """A slip in a name would only show in use: a sentence that is left out, a rule that never fires."""
    [complaint] = check_file(write(old, new))
    assert told in complaint


def test_the_command_tells_what_is_wrong_with_a_file_and_ends_with_one(write, capsys):
    """What the hook before a commit runs on rule files."""
    assert main([str(write())]) == 0
    assert main([str(write('role = "cause"', 'role = "reason"'))]) == 1
    told = capsys.readouterr().out.splitlines()

    assert "1 files, 0 complaints" == told[0]
    assert any(line.startswith("acme_plugin.toml:") and "reason" in line for line in told[1:])


def test_a_change_of_a_remedy_that_cannot_be_read_names_its_line(tmp_path):
    """A tag that is none, and an action that is none."""
    table = Path(remedies.FOLDER) / "aiohttp.tsv"
    rows = [line.split("\t") for line in table.read_text("utf-8").splitlines()]
    first = next(at for at, parts in enumerate(rows) if len(parts) >= remedies.COLUMNS)
    path = tmp_path / table.name
    path.write_text(table.read_text("utf-8"), "utf-8")
    assert check_remedies(path) == []
    rows[first] = [*rows[first][: remedies.COLUMNS], "no_such_tag"]
    path.write_text("\n".join("\t".join(parts) for parts in rows) + "\n", "utf-8")
    assert [complaint.partition(": ")[0] for complaint in check_remedies(path)] == [f"aiohttp.tsv:{first + 1}"]
