"""The output contract: its typed form, its JSON Schema, its page. All three say the same."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.fixtures.marked import FOLDER, read_marked
from tests.service.samples import failure, healthy, unknown
from vllm_triage.classifier.report.contract import FIX, SCHEMA_VERSION, as_dict, shown
from vllm_triage.classifier.report.model import Report, triage

DOCS = Path(__file__).parent.parent.parent / "docs"
SCHEMA = DOCS / "report.schema.json"


def _schema() -> str:
    schema = Report.model_json_schema(mode="serialization")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


def test_the_published_schema_is_that_of_the_code():
    """`TRIAGE_BLESS=1 pytest tests/service/test_report.py` writes it anew; raise SCHEMA_VERSION with it."""
    if os.environ.get("TRIAGE_BLESS"):
        SCHEMA.write_text(_schema(), encoding="utf-8")

    assert SCHEMA.read_text(encoding="utf-8") == _schema()


@pytest.mark.parametrize("sample", [failure, unknown, healthy])
def test_an_answer_goes_there_and_back(sample):
    """From the engine's answer to JSON and to the typed form: nothing is lost, nothing is added."""
    given = json.loads(json.dumps(as_dict(sample().diagnosis), default=str))
    report = Report.model_validate(given)

    assert json.loads(report.model_dump_json(exclude_unset=True)) == given
    assert set(given) == set(Report.model_fields)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.log")), ids=lambda path: path.stem)
def test_every_log_is_answered_by_the_contract(path):
    """Not only samples: each fixture's answer is a report, and JSON can hold it."""
    report = triage(read_marked(path).log)

    assert Report.model_validate_json(report.model_dump_json()) == report
    assert report.schema_version == SCHEMA_VERSION
    assert report.failed is (report.bucket != "no_failure")
    assert report.cause.startswith(f"{report.bucket}/")
    assert [fix.rank for fix in report.fixes] == list(range(1, len(report.fixes) + 1))


def test_every_field_stands_in_the_documentation():
    """docs/output.md, field by field."""
    page = (DOCS / "output.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([a-z_.\[\]]+)`", page, re.MULTILINE))
    fields = set(Report.model_fields) | {f"fixes[].{name}" for name in FIX}

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
    answer = failure().diagnosis
    answer.fixes[0].change = "HF_TOKEN=hf_… vllm serve acme/harbor-8b --api-key sk-live-0123456789abcdef"
    given = as_dict(answer)

    assert given["fixes"][0]["change"] == "HF_TOKEN=hf_… vllm serve acme/harbor-8b --api-key <secret>"
    assert given["facts"]["arguments"] == {"api_key": "<secret>"}
