"""Evidence packs over HTTP: with the answer, and of what the history keeps."""

from __future__ import annotations

import pytest

from tests.classifier.masking.planted import A
from tests.classifier.pack.logs import FAILURE, failing
from vllm_triage.classifier.report.pack.schema import pack_of
from vllm_triage.service.http.routes.incidents import PROMPT

LOG = "\n".join([*failing(before=200, after=200), f"HF_TOKEN=hf_{A}"]).encode()
PACK = "application/vnd.vllm-triage.pack+json"


@pytest.fixture
def kept(service, tmp_path):
    """A service that keeps a history."""
    return service(database=f"sqlite:///{tmp_path}/history.sqlite")


@pytest.fixture
def incident(kept):
    """The path of an incident."""
    return f"/v1/incidents/{kept.post('/v1/triage', content=LOG).headers['X-Incident-ID']}"


@pytest.mark.parametrize("filler", [0, 40_000], ids=["in a thread", "in a process"])
@pytest.mark.parametrize(("media", "shown"), [(PACK, '"worth":'), (PROMPT, "Answer in this form")])
def test_a_pack_instead_of_a_report(kept, media, shown, filler):
    """`Accept` chooses it, `budget` and `candidates` its size; whoever read the log makes it."""
    log = LOG + b"INFO 11-02 09:14:01 [a.py:1] all is well with the request\n" * filler
    found = kept.post(
        "/v1/triage", content=log, headers={"Accept": media}, params={"budget": 3000, "candidates": False}
    )

    assert 200 == found.status_code
    assert shown.replace('":', '": ') in found.text or shown in found.text
    assert FAILURE in found.text
    assert "unchecked:" not in found.text
    assert A not in found.text


@pytest.mark.parametrize("filler", [0, 40_000], ids=["in a thread", "in a process"])
def test_the_evidence_of_an_incident_stays_with_it(kept, filler):
    """The log is gone, its telling lines are not: as JSON, as text, with the question."""
    log = LOG + b"INFO 11-02 09:14:01 [a.py:1] all is well with the request\n" * filler
    path = f"/v1/incidents/{kept.post('/v1/triage', content=log).headers['X-Incident-ID']}/pack"
    pack = pack_of(kept.get(path, params={"budget": 2000}).json())

    assert FAILURE in [line.text for line in pack.lines]
    assert len(pack.text()) <= 2000
    assert FAILURE in kept.get(path, headers={"Accept": "text/plain"}).text
    assert "Answer in this form" in kept.get(path, headers={"Accept": PROMPT}).text
    assert () == pack_of(kept.get(path, params={"candidates": False}).json()).candidates
    assert A not in kept.get(path, params={"budget": 60000}).text


def test_more_lines_of_an_incident(kept, incident):
    """By number, and by what they hold; of those that are kept."""
    number = next(at for at, line in enumerate(LOG.decode().split("\n"), 1) if line.endswith(FAILURE))
    by_number = kept.get(f"{incident}/lines", params={"lines": f"{number - 1}-{number}"}).json()["lines"]
    by_text = kept.get(f"{incident}/lines", params={"find": "FREE memory", "process": "worker"}).json()["lines"]

    assert [number - 1, number] == [line["line"] for line in by_number]
    assert [number] == [line["line"] for line in by_text]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/lines", 422), ("/lines?lines=9-3", 422), ("/lines?find=x&budget=1", 422), ("/pack?budget=1", 422),
        ("/pack?budget=60001", 422), ("x/pack", 404), ("x/lines?find=a", 404),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_problem(kept, incident, path, code):
    found = kept.get(incident + path)

    assert code == found.status_code
    assert "application/problem+json" == found.headers["content-type"]
