"""What may be asked and handed in, and what helps people who write rules: refused with a whole sentence, or answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier.errors import InputError, RuleError
from vllm_triage.classifier.log_source import checked
from vllm_triage.classifier.question import ENGINES, Question
from vllm_triage.classifier.testing import (
    RuleFile,
    assert_verdict,
    check_confusers,
    check_examples,
    company,
    fires,
    standing,
)

LOG = "(EngineCore_DP0 pid=7) ERROR 11-02 10:00:00 [core.py:1] ValueError: No available memory for the cache blocks.\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "magic"}, "engine 'magic' is none of auto, rules, model"), ({"command": 7}, "command is a text (vllm serve MODEL …), not int"),
        ({"min_confidence": True}, "min_confidence is a number from 0 to 1, not bool"), ({"min_confidence": "1"}, "min_confidence is a number from 0 to 1, not str"),
        ({"min_confidence": 1.1}, "min_confidence 1.1 is not a number from 0 to 1"), ({"min_confidence": -0.1}, "min_confidence -0.1 is not a number from 0 to 1"),
        ({"only": "lora"}, "only is a list of buckets, causes or rules: give ['lora'], not 'lora'"), ({"ignore": 7}, "ignore is a list of buckets, causes or rules, not int"),
        ({"ignore": ["a", 7]}, "ignore names buckets, causes or rules as texts; one of them is none"), ({"vllm_version": "banana"}, "'banana' is not a vLLM release such as 0.19.1"),
        ({"vllm_version": 7}, "7 is not a vLLM release such as 0.19.1"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(options: dict[str, Any], says: str) -> None:
    """The value is named, and what would be one."""
    with pytest.raises(InputError) as caught:
        Question(**options)
    assert str(caught.value) == says


def test_what_can_be_asked() -> None:
    """Ends of the range, lists of any kind, releases with a v."""
    question = Question(min_confidence=1, only=["a"], ignore=("b",), vllm_version=" v0.19.1 ")
    assert (question.min_confidence, question.only, question.ignore, question.engine) == (1, ("a",), ("b",), "auto")
    assert Question(vllm_version="v0.19.1").vllm_version == "0.19.1"
    assert (Question(min_confidence=0).min_confidence, Question().vllm_version, ENGINES) == (
        0,
        "",
        ("auto", "rules", "model"),
    )


@pytest.mark.parametrize(
    "ending",
    [".log", ".txt", ".out", ".err", ".json", ".jsonl", ".gz", ".zst", ".bz2", ".xz", ".zip", ".tar", ".tgz", ".LOG"],
)
def test_names_of_files_are_no_logs(ending: str) -> None:
    """By their ending; a sentence about a file is a log of one line."""
    with pytest.raises(InputError) as caught:
        checked(f"server{ending}")
    assert str(caught.value) == (
        f"'server{ending}' is the name of a file: pass pathlib.Path('server{ending}') to have it read (a text is the log itself)"
    )
    for text in (f"see server{ending}", f"server{ending}\n", f"server{ending}x", "", "x" * 1001 + ending):
        assert checked(text) == text


@pytest.mark.parametrize(("source", "kind"), [({"a": 1}, "dict"), ({"a"}, "set"), (frozenset("a"), "frozenset")])
def test_what_holds_no_lines_in_order(source: object, kind: str) -> None:
    """Is refused by its type."""
    with pytest.raises(
        InputError, match=f"^cannot read a log from a {kind}: give a path, text, bytes, a file or lines$"
    ):
        checked(source)


def test_lines_are_of_one_kind() -> None:
    """Texts or bytes."""
    lines: Any = checked(["a", "b"])
    assert list(lines) == ["a", "b"]
    mixed: Any = checked(["a", b"b"])
    with pytest.raises(InputError, match=r"^the lines are text and bytes by turns: give the one or the other$"):
        list(mixed)
    number: Any = 7
    assert checked(number) == number


RULES = """\
id = "acme_plugin"
title = "Acme"
meaning = "Faults of Acme's plug-in."
confusers = ["{confuser}"]

[[cause]]
id = "bad_cache"
title = "The cache is bad"
summary = "It is."

[[cause.rule]]
id = "bad-cache"
role = "cause"
strength = "strong"
pattern = 'acme: the harbour cache is bad'
match = ["ERROR {match}"]
reject = ["ERROR {reject}"]

[[cause.fix]]
title = "Mend it"
kind = "step"
change = "Mend the cache"
why = "It is bad."
cost = "none"
"""


def rules(
    folder: Path, match: str = "acme: the harbour cache is bad", reject: str = "acme: fine", confuser: str = "no"
) -> RuleFile:
    """Return a rule file with one rule."""
    path = folder / "acme_plugin.toml"
    path.write_text(RULES.format(match=match, reject=reject, confuser=confuser), encoding="utf-8")
    return RuleFile(path)


def test_what_is_wrong_with_a_rule_file(tmp_path: Path) -> None:
    """Examples that do not fire, counter-examples that do, confusers that are taken for it."""
    good = rules(tmp_path)
    assert [rule.id for rule in good.rules] == ["acme_plugin/bad-cache"]
    assert check_examples(good.rules[0], good.triage) == []
    with pytest.raises(RuleError, match=r"bad-cache: does not match its own example 'ERROR acme: all is well'$"):
        rules(tmp_path, match="acme: all is well")
    taken = rules(tmp_path, confuser="ERROR acme: the harbour cache is bad")
    assert check_confusers(taken.bucket, taken.triage) == [
        "acme_plugin: its confuser is answered with it: 'ERROR acme: the harbour cache is bad'"
    ]
    assert check_confusers(good.bucket, good.triage) == []


def test_what_an_answer_is_held_to(tmp_path: Path) -> None:
    """Bucket or cause, the first line of evidence, facts."""
    made = rules(tmp_path)
    log = "x\nERROR acme: the harbour cache is bad\n"
    report = assert_verdict(log, "acme_plugin/bad_cache", line=2, rules=made)
    assert (report.bucket, assert_verdict(log, "acme_plugin", rules=made.triage).cause) == (
        "acme_plugin",
        "acme_plugin/bad_cache",
    )
    with pytest.raises(AssertionError, match=r"^expected lora, got acme_plugin/bad_cache \(0\.\d+\):\n  "):
        assert_verdict(log, "lora", rules=made)
    with pytest.raises(AssertionError, match=r"^expected line 1 as the first evidence, got \[\(2, 'ERROR acme"):
        assert_verdict(log, "acme_plugin", line=1, rules=made)
    with pytest.raises(AssertionError, match=r"^fact port: expected 1, got None$"):
        assert_verdict(log, "acme_plugin", facts={"port": 1}, rules=made)
    assert fires("acme_plugin/bad-cache", log, made.triage)
    assert not fires("acme_plugin/bad-cache", "x\n", made.triage)
    assert standing(log, made.triage) == {"acme_plugin/bad-cache"}
    assert company(made.rules[0]) == ""


def test_a_rule_file_that_breaks_the_format(tmp_path: Path) -> None:
    """Is refused with what is wrong."""
    path = tmp_path / "broken.toml"
    path.write_text("id = 7\n", encoding="utf-8")
    with pytest.raises(RuleError, match=r"broken\.toml"):
        RuleFile(path)
    with pytest.raises(RuleError, match="absent"):
        RuleFile(tmp_path / "absent.toml")
