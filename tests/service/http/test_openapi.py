"""The OpenAPI document: fresh, with real examples, and true (schemathesis asks everything it allows)."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.everyday import examples
from tests.service.http.conftest import PATIENCE
from vllm_triage.classifier.report.schema import report_of
from vllm_triage.classifier.version import version
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.openapi import document
from vllm_triage.service.http.protocol import Guarded
from vllm_triage.service.http.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "openapi.json"
APP = create_app(Settings(database="none", rate_limit=0, web=False))
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, unsupported_method,
]  # fmt: skip
SCHEMA = schemathesis.openapi.from_dict(document(APP))


def test_the_page_is_fresh():
    """docs/openapi.json is what the service serves; TRIAGE_BLESS=1 writes it anew."""
    text = json.dumps(document(APP), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    # An example shows the version, which is another one after every release and none in a checkout.
    text = text.replace(f'"version": "{version()}"', '"version": "1.2.3"')
    if os.environ.get("TRIAGE_BLESS"):
        PAGE.write_text(text, "utf-8")

    assert PAGE.read_text("utf-8") == text


def test_every_operation_says_what_it_does_and_how_it_can_fail():
    """A summary, a description, an operation id of its own, and a problem for what is wrong with the request."""
    ids = set()
    for path, item in document(APP)["paths"].items():
        for method, operation in item.items():
            ids.add(operation["operationId"])
            assert operation["summary"], path
            assert operation["description"], path
            assert {"421", "431", "500"} <= set(operation["responses"]), (method, path)
    assert len(ids) == sum(len(item) for item in document(APP)["paths"].values())


def test_every_reference_leads_somewhere():
    """A body whose schema is missing would be tested by nobody."""
    made = document(APP)
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(made)))

    assert set() == named - set(made["components"]["schemas"])


def test_a_key_is_told_of_and_not_demanded_where_there_is_none():
    """Every operation below /v1; the others say that they ask for none."""
    for path, item in document(APP)["paths"].items():
        for operation in item.values():
            assert ([{"key": []}, {}] if path.startswith("/v1/") else []) == operation.get("security"), path


def test_examples_are_answers():
    """They have the report's form, and the figures of a real log."""
    example = document(APP)["paths"]["/v1/triage"]["post"]["responses"]["200"]["content"]["application/json"]["example"]

    assert report_of(example).cause == "kv_cache_oom/context_exceeds_cache"


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """A real server with a history, in a thread."""
    folder = tmp_path_factory.mktemp("history")
    app = create_app(Settings(database=f"sqlite:///{folder}/history.sqlite", rate_limit=0, web=False))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, http=Guarded))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield url
        server.should_exit = True
        thread.join(PATIENCE)


@SCHEMA.parametrize()
@settings(
    max_examples=examples(int(os.environ.get("TRIAGE_SCHEMATHESIS", "12"))), deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
def test_the_document_is_true(case, url):
    """No 5xx, no status or type that is not in it, no answer of another form."""
    case.call_and_validate(checks=CHECKS, base_url=url, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("query", "near"),
    [("bucket=kv_cache", "kv_cache_oom"), ("role=causes", "cause"), ("bucket=kv_cache_oom&role=x", "")],
)
def test_rules_of_what_there_is_not_are_no_empty_list(url, query, near):
    """The nearest names are told."""
    answer = httpx2.get(f"{url}/v1/rules?{query}", timeout=PATIENCE)

    assert (422, True) == (answer.status_code, near in [*answer.json().get("near", ()), ""])


def test_pydantic_reads_each_class_once_however_many_applications_there_are():
    """Reading sources for the fields' descriptions takes most of the time that an application takes to make."""
    from pydantic import TypeAdapter

    from vllm_triage.classifier.report.model import Report

    TypeAdapter(Report)
    kept = vars(Report)["__pydantic_core_schema__"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inspect.getsourcelines", lambda kind: pytest.fail(f"{kind} is read again"))
        assert TypeAdapter(list[Report]).json_schema()["items"] == {"$ref": "#/$defs/Report"}
    assert kept is vars(Report)["__pydantic_core_schema__"]
