"""SARIF: what version 2.1.0 asks for, checked by models that allow nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from tests.fixtures.marked import FOLDER, read_marked
from tests.service.samples import failure, found_failure, found_words, healthy, unknown
from vllm_triage.classifier.api import shared
from vllm_triage.service.render.interface import Options, Result, render


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Message(_Object):
    """A message of a result may have markup besides, never alone."""

    text: Annotated[str, Field(min_length=1)]
    markdown: str | None = None


class Text(_Object):
    """A message without arguments."""

    text: Annotated[str, Field(min_length=1)]


class ArtifactLocation(_Object):
    """A relative reference, with the artifact's place in the list."""

    uri: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~/%-]+$")]
    index: Annotated[int, Field(ge=0)] | None = None


class Region(_Object):
    """A line, from 1."""

    startLine: Annotated[int, Field(ge=1)]  # noqa: N815 - SARIF's name
    snippet: dict[Literal["text"], str]


class PhysicalLocation(_Object):
    """Where in an artifact."""

    artifactLocation: ArtifactLocation  # noqa: N815
    region: Region | None = None


class Location(_Object):
    """Where, and what is there."""

    physicalLocation: PhysicalLocation  # noqa: N815
    message: Text | None = None
    id: Annotated[int, Field(ge=0)] | None = None


class Configuration(_Object):
    """How bad a rule's results are."""

    level: Literal["none", "note", "warning", "error"]


class Rule(_Object):
    """A reportingDescriptor."""

    id: str
    name: str
    shortDescription: Text  # noqa: N815
    fullDescription: Text | None = None  # noqa: N815
    help: Text | None = None
    defaultConfiguration: Configuration  # noqa: N815
    properties: dict[str, Any]


class Driver(_Object):
    """The tool."""

    name: str
    version: str
    rules: list[Rule]


class Tool(_Object):
    """The tool with its parts."""

    driver: Driver


class Artifact(_Object):
    """A file that was looked at."""

    location: ArtifactLocation
    length: Annotated[int, Field(ge=-1)]
    mimeType: str  # noqa: N815


class Finding(_Object):
    """A result."""

    ruleId: str  # noqa: N815
    ruleIndex: Annotated[int, Field(ge=0)]  # noqa: N815
    level: Literal["none", "note", "warning", "error"]
    message: Message
    locations: Annotated[list[Location], Field(min_length=1, max_length=1)]
    relatedLocations: list[Location] = []  # noqa: N815
    rank: Annotated[float, Field(ge=0, le=100)]
    partialFingerprints: dict[str, str]  # noqa: N815
    properties: dict[str, Any]


class Run(_Object):
    """One run of the tool."""

    tool: Tool
    artifacts: list[Artifact]
    results: list[Finding]
    columnKind: Literal["utf16CodeUnits", "unicodeCodePoints"]  # noqa: N815


class Sarif(_Object):
    """A SARIF log."""

    schema_: Annotated[str, Field(alias="$schema")]
    version: Literal["2.1.0"]
    runs: Annotated[list[Run], Field(min_length=1, max_length=1)]


def run_of(*results: Result, options: Options | None = None) -> Run:
    """Render results, check the form, return the run."""
    run = Sarif.model_validate_json(render("sarif", list(results), options or Options())).runs[0]
    for result in run.results:
        assert run.tool.driver.rules[result.ruleIndex].id == result.ruleId
        for place in [*result.locations, *result.relatedLocations]:
            where = place.physicalLocation.artifactLocation
            assert where.index is not None
            assert run.artifacts[where.index].location.uri == where.uri
        ids = [place.id for place in result.relatedLocations]
        assert len(ids) == len(set(ids))
    return run


def test_a_failure_is_an_error_at_its_line_and_unknown_a_warning():
    """A log without a failure is looked at, and has no result."""
    run = run_of(failure(), unknown(), healthy())

    assert [("kv_cache_oom/context_exceeds_cache", "error", 37), ("unknown/unrecognised_failure", "warning", 7)] == [
        (item.ruleId, item.level, item.locations[0].physicalLocation.region.startLine) for item in run.results  # type: ignore[union-attr]
    ]  # fmt: skip
    assert ["server.log", "standard-input.log", "ok.log"] == [item.location.uri for item in run.artifacts]


def test_several_logs_with_one_cause_share_its_rule():
    """The rule speaks of the cause, not of one log's figures."""
    run = run_of(failure(), failure())

    assert (1, 2) == (len(run.tool.driver.rules), len(run.results))
    assert "131072" not in run.tool.driver.rules[0].model_dump_json()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.log"))[::4], ids=lambda path: path.stem)
def test_answers_to_logs_are_sarif(path):
    """Whatever the answer holds."""
    run_of(Result(path.name, shared().report(read_marked(path).log)), options=Options(verbose=True))


@given(text=st.text(max_size=200), name=st.text(min_size=1, max_size=60), line=st.integers(0, 10**6))
def test_any_line_and_any_name_of_a_file(text, name, line):
    """Texts that are empty, half a surrogate, names with signs that no URI has."""
    run_of(Result(name, found_words(text or "x", text, line).report))


def test_a_result_is_the_same_finding_tomorrow():
    """Other lines and figures, the same cause, model and release."""
    one, found = failure(), found_failure()
    elsewhere = (replace(found.verdict.evidence[0], line=4711),)
    other = Result("server.log", found.saying(evidence=elsewhere, title="with other figures").report)

    assert len({run_of(item).results[0].partialFingerprints["cause/v1"] for item in (one, other)}) == 1
    assert json.loads(render("sarif", [one], Options()))["$schema"].startswith("https://")
