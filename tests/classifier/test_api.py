"""The library's front door: what may be handed in, what is refused with a sentence, what never gets out."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vllm_triage.classifier
from vllm_triage.classifier.api import Triage, shared, triage
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.question import Question

LOG = "ValueError: No available memory for the cache blocks.\n"
TOKEN = "hf_" + "AbCdEfGhIj" * 3


def test_the_public_names_are_shown_and_there():
    """``dir()`` shows what is meant to be used, not thirty inner modules."""
    names = [
        "Alternative", "ContextLine", "Corrected", "Evidence", "Filtered", "Fix", "Input", "InputError", "KnownFacts", "Memory", "Question",
        "Report", "RuleError", "Stage", "Startup", "Story", "Triage", "TriageError", "TriageHandler", "Way", "Withheld", "__version__",
        "atriage", "explained", "triage",
    ]  # fmt: skip

    assert names == sorted(dir(vllm_triage.classifier))
    assert None not in [getattr(vllm_triage.classifier, name) for name in names]


def test_the_library_needs_no_pydantic():
    """Its classes are plain dataclasses; schema and validation are made of them where they are asked for."""
    ask = f"import sys; from vllm_triage.classifier import triage; triage({LOG!r}); print('pydantic' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=True)

    assert "False" == ran.stdout.strip()


def test_a_log_may_come_as_anything_that_holds_lines():
    """Text, bytes, files, lines with and without their ends."""
    data = LOG.encode()
    sources: list[Any] = [LOG, LOG.strip(), data, bytearray(data), memoryview(data), io.BytesIO(data), io.StringIO(LOG)]
    sources += [[LOG], [data], (line for line in [LOG.strip()])]

    assert {"kv_cache_oom/no_cache_blocks"} == {triage(source).cause for source in sources}


@pytest.mark.parametrize(
    "name", ["server.log", "SERVER.LOG", "/var/log/vllm/server.log.gz", "a.txt", "logs/x.out", r"C:\logs\x.err"]
)
def test_a_text_that_is_the_name_of_a_file_is_refused(name):
    """It would be read as a log of one line, without a failure in it."""
    with pytest.raises(InputError, match=r"is the name of a file: pass pathlib\.Path\("):
        triage(name)


def test_a_text_that_names_a_file_that_is_there_is_refused(tmp_path: Path):
    """Also a name with blanks, without an ending; a line that only ends like one is a log."""
    path = tmp_path / "my server output"
    path.write_text(LOG)

    with pytest.raises(InputError, match="is the name of a file"):
        triage(str(path))
    assert "kv_cache_oom" == triage(path).bucket
    assert "kv_cache_oom" == triage("ValueError: No available memory for the cache blocks. See server.log").bucket
    assert "kv_cache_oom" == triage(f"server.log\n{LOG}").bucket


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ({"log": LOG}, "from a dict"),
        ({LOG}, "from a set"),
        (7, "from int"),
        (None, "from NoneType"),
        ([LOG, LOG.encode()], "text and bytes by turns"),
        ([7], "pieces of type int"),
        ("", "empty"),
        (Path("/no/such/file.log"), "no such file"),
    ],
)
def test_what_holds_no_log_is_refused_with_a_sentence(source: Any, complaint):
    with pytest.raises(InputError, match=complaint):
        triage(source)


@pytest.mark.parametrize("text", [f"{LOG}\ud800", f"\udcff{LOG}", f"\ud83d\ude00 {LOG}", f"\udcff \ud800 {LOG}"])
def test_halves_of_surrogates_are_read(text):
    """As they come from files read with ``surrogateescape``, from JSON, from Windows."""
    assert "kv_cache_oom" == triage(text).bucket == triage([text]).bucket == triage(io.StringIO(text)).bucket


@given(st.text(max_size=200))
def test_any_text_is_answered_or_refused(text):
    """Never another error than our own."""
    try:
        report = triage(text)
    except InputError:
        return
    assert report.to_json().encode()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"only": "kv_cache_oom"}, r"only is a list .* give \['kv_cache_oom'\]"),
        ({"ignore": "kv_cache_oom"}, "ignore is a list"),
        ({"only": 7}, "only is a list .* not int"),
        ({"ignore": [7]}, "as texts"),
        ({"only": ["nosuch"]}, "'nosuch' is not a bucket, cause or rule"),
        ({"ignore": ["kv_cache_oom/nosuch"]}, "is not a bucket, cause or rule"),
        ({"vllm_version": "banana"}, "'banana' is not a vLLM release such as"),
        ({"engine": "oracle"}, "none of auto, rules, model"),
        ({"rule_folders": ["/nosuch"]}, "/nosuch: no such rule file or folder"),
        ({"rule_folders": "rules"}, r"give \['rules'\]"),
        ({"rule_folders": 7}, "not int"),
        ({"model": "/nosuch"}, "vllm-triage train"),
    ],
)
def test_options_that_are_not_possible_are_refused(options, complaint):
    """When the engine is made, before any log is read."""
    with pytest.raises(InputError, match=complaint):
        Triage(**options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"min_confidence": 2}, "2 is not a number from 0 to 1"),
        ({"min_confidence": float("nan")}, "nan is not a number"),
        ({"min_confidence": "high"}, "not str"),
        ({"min_confidence": True}, "not bool"),
        ({"command": ["vllm", "serve"]}, "not list"),
        ({"vllm_version": 7}, "7 is not a vLLM release"),
    ],
)
def test_a_question_that_is_not_possible_is_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        Question(**options)


def test_a_question_may_be_asked_once_or_of_every_log():
    """A call's question goes before that of the engine; both are checked against the rules."""
    engine = Triage(vllm_version="v0.8.5")

    assert ("0.8.5", "0.9.1") == (
        engine.report(LOG).facts["vllm_version"],
        engine.report(LOG, Question(vllm_version="0.9.1")).facts["vllm_version"],
    )
    with pytest.raises(InputError, match="'nosuch' is not a bucket"):
        engine.report(LOG, Question(only=["nosuch"]))


def test_the_question_is_asked_of_a_log_in_pieces_as_well():
    """As the service does: what comes with the log late counts for the answer."""
    engine = shared()
    session = engine.start()
    from vllm_triage.classifier.input.read import read_blocks

    for block in read_blocks(LOG):
        session.feed(block)
    question = Question(ignore=["kv_cache_oom"])

    assert [True, False, False] == [
        report.failed
        for report in (engine.peek(session), engine.peek(session, question), engine.conclude(session, question))
    ]


def test_below_the_confidence_asked_for_the_answer_is_unknown():
    report = triage(LOG, Question(min_confidence=0.999))

    assert ("unknown/below_threshold", "none", ()) == (report.cause, report.decided_by, report.fixes)
    assert ("kv_cache_oom", True) == (report.alternatives[0].bucket, report.failed)


def test_rules_can_be_left_out_altogether():
    """To see what would be answered if nobody had written them."""
    assert "kv_cache_oom" != Triage(without=["kv_cache_oom"], engine="rules").report(LOG).bucket


def test_nothing_unmasked_gets_out():
    """A planted token is in no part of the report, whatever way it was made."""
    log = f"+ HF_TOKEN={TOKEN} vllm serve a/b --api-key {TOKEN}\n{LOG.strip()} {TOKEN}\n"
    engine = shared()
    session = engine.start()
    from vllm_triage.classifier.input.read import read_blocks

    for block in read_blocks(log):
        session.feed(block)
    for report in (triage(log), engine.peek(session), engine.conclude(session)):
        held = [report.to_json(), repr(report), *report.explanation, str(report.corrected)]
        assert [] == [text for text in held if TOKEN in text]
