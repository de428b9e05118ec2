"""The output contract: its typed form, its JSON Schema, its page. All three say the same."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import re
from pathlib import Path

import pytest

from tests.fixtures.marked import FOLDER, read_marked
from tests.service.samples import failure, found_failure, healthy, unknown
from vllm_triage.classifier.api import triage
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.report.model import SCHEMA_VERSION, Report
from vllm_triage.classifier.report.schema import json_schema
from vllm_triage.classifier.report.shown import shown

DOCS = Path(__file__).parent.parent.parent / "docs"
SCHEMA = DOCS / "report.schema.json"


def _schema() -> str:
    told = {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema()}
    return json.dumps(told, indent=2) + "\n"


def test_the_published_schema_is_that_of_the_code():
    """`TRIAGE_BLESS=1 pytest tests/service/test_report.py` writes it anew; raise SCHEMA_VERSION with it."""
    if os.environ.get("TRIAGE_BLESS"):
        SCHEMA.write_text(_schema(), encoding="utf-8")

    assert SCHEMA.read_text(encoding="utf-8") == _schema()


@pytest.mark.parametrize("sample", [failure, unknown, healthy])
def test_an_answer_goes_there_and_back(sample):
    """From the report to JSON and back: nothing is lost, nothing is added."""
    report = sample().report
    text = report.to_json()

    assert report == Report.from_json(text)
    assert text == Report.from_json(text).to_json()


def test_json_has_every_field_and_nothing_of_the_inside():
    """What is for those who show a report here and now stays here; what the log does not tell of a stage is absent."""
    given = failure().report.to_dict()

    assert set(json_schema()["properties"]) == {*given, "filtered", "memory", "proposals"}
    assert [{"stage", "line", "time", "seconds"}] * 3 + [{"stage", "line", "time"}] == [
        set(stage)
        for stage in given["startup"]["stages"]  # type: ignore[index]
    ]


def test_a_report_of_a_later_release_is_read():
    """Fields that are not known are left out; what is no report is refused with its place."""
    text = failure().report.to_json().removesuffix("}") + ', "epilogue": ["new"]}'

    assert failure().report == Report.from_json(text)
    with pytest.raises(InputError, match="no report: confidence: "):
        Report.from_json(text.replace('"confidence": 0.97', '"confidence": 7', 1))
    with pytest.raises(InputError, match="no report: "):
        Report.from_json("{")


def test_a_report_is_frozen_compared_by_its_fields_and_pickled():
    report, other = failure().report, failure().report

    assert report == other
    assert report != dataclasses.replace(other, title="x")
    assert pickle.loads(pickle.dumps(report)) == report
    assert "context_exceeds_cache" in repr(report)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.title = "x"  # type: ignore[misc]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.log")), ids=lambda path: path.stem)
def test_every_log_is_answered_by_the_contract(path):
    """Not only samples: each fixture's answer is a report, and JSON can hold it."""
    report = triage(read_marked(path).log)

    assert Report.from_json(report.to_json()) == report
    assert report.schema_version == SCHEMA_VERSION
    assert report.failed is (report.bucket != "no_failure")
    assert report.cause.startswith(f"{report.bucket}/")
    assert [fix.rank for fix in report.fixes] == list(range(1, len(report.fixes) + 1))


def test_every_field_stands_in_the_documentation():
    """docs/output.md, field by field."""
    page = (DOCS / "output.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([a-z_.\[\]]+)`", page, re.MULTILINE))
    schema = json_schema()
    fields = set(schema["properties"]) | {f"fixes[].{name}" for name in schema["$defs"]["Fix"]["properties"]}

    assert fields - documented == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[31mb\tc\x07", "a [31mb c"),
        ("x" * 3000, "x" * 2000 + " …"),
        ("token=" + "s" * 50, "token=" + "s" * 50),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz", "HF_TOKEN=<hf-token>"),
        ("two\nlines", "two lines"),
    ],
)
def test_lines_are_shown_without_what_does_no_good(text, expected):
    """Control characters, endless lines, secrets."""
    assert shown(text) == expected


def test_our_own_advice_is_not_masked():
    """A fix may name the variable for a token, with a placeholder; what the log held of one is gone."""
    change = "HF_TOKEN=hf_… vllm serve acme/harbor-8b --api-key sk-live-0123456789abcdef"
    found = found_failure().advising(change, 0)
    report = found.report

    assert report.fixes[0].change == "HF_TOKEN=hf_… vllm serve acme/harbor-8b --api-key <secret>"
    assert report.facts["arguments"] == {"api_key": "<secret>"}
