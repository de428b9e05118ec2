"""What SECURITY.md says is defended: the threats whose tests stand nowhere else, and that every test named there exists."""

from __future__ import annotations

import ast
import hmac
import json
import re
import shlex
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from tests.classifier.masking.planted import SECRETS
from tests.everyday import sample
from tests.service.http.conftest import BASE, LOG
from vllm_triage.classifier import triage
from vllm_triage.service.http import keys
from vllm_triage.service.http.app import create_app
from vllm_triage.service.http.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "SECURITY.md"
RULE = """
id = "acme_bait"
title = "Bait"
meaning = "A rule whose expression explodes."
[[cause]]
id = "bait"
title = "Bait"
summary = "Found."
[[rule]]
id = "bait"
role = "cause"
cause = "bait"
pattern = '(?:a+)+b acme bait'
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A service with a history."""
    settings = Settings(database=f"sqlite:///{tmp_path_factory.mktemp('kept')}/history.sqlite", rate_limit=0)
    with TestClient(create_app(settings), base_url=BASE) as client:
        yield client


def test_every_test_that_the_document_names_exists():
    """A row whose test is gone or renamed is no promise any more; and a row without a test is none."""
    text = DOCUMENT.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    functions = {
        path: {node.name for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)}
        for path in {path for path, _ in named}
    }  # fmt: skip
    rows = [line for line in text.splitlines() if line.startswith("| **")]

    assert len(rows) > 30
    assert [] == [row[:60] for row in rows if "::test_" not in row]
    assert [] == [f"{path}::{name}" for path, name in named if name not in functions[path]]


def test_no_address_of_a_log_is_asked(kept):
    """An address in a line, a traceback, a label, a name or a field is text: nobody connects to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        callers: list[object] = []
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                try:
                    callers.append(listener.accept()[1])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=listen)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/x.safetensors"
        log = f"{LOG.decode()}\nRuntimeError: cannot load {url} ({url}) ${{jndi:{url}}} <img src={url}> ![a]({url})\n"
        triage(log)
        kept.post("/v1/triage", content=log, params={"name": url, "service": url})
        kept.post("/v1/triage", json={"log": log, "command": f"vllm serve {url}", "name": url})
        kept.post("/v1/triage/batch", json={"logs": [{"log": log, "name": url}]})
        kept.post("/v1/triage/stream", content=log)
        over.set()
        thread.join()

    assert [] == callers


@pytest.mark.parametrize("text", ["${jndi:ldap://h.example/a}", "{{7*7}}", "{0.__class__}", "%s%n%x", "{max_model_len}", "$(id)", "`id`"])  # fmt: skip
def test_templates_of_a_log_are_text(text):
    """What other programs would fill in or run comes out as it stood."""
    report = triage(f"INFO: start\nValueError: No available memory for the cache blocks. {text}\n")

    assert "kv_cache_oom" == report.bucket
    assert report.evidence[0].text.endswith(text)


@pytest.mark.parametrize(
    "name", ["a/b; touch x", "a/$(id)", "a/`id`", "a/b\n- evil", "a/'b", 'a/"b', "a/b && c", "--help"]
)
def test_a_value_of_a_log_is_one_word_of_a_command(name):
    """The corrected command quotes what came from the log."""
    log = f"non-default args: {{'model': {name!r}, 'max_model_len': 131072}}\n".encode() + LOG
    report = triage(f"INFO 11-02 09:14:00 [utils.py:233] {log.decode()}")
    words = shlex.split(report.corrected_command)

    assert ["vllm", "serve"] == words[:2]
    assert not {";", "&&", "|", "touch", "id", "evil", "$(id)", "`id`"} & set(words)


@pytest.mark.parametrize(
    "path", ["//evil.example", "//evil.example/..", "/incidents//evil.example", "/%2f%2fevil.example", "/\\evil.example", "/history?next=//evil.example"]
)  # fmt: skip
def test_nobody_is_sent_elsewhere(kept, path):
    """Whatever stands in a path: no answer leads to another host."""
    answer = kept.get(BASE + path, follow_redirects=False)

    assert urlsplit(answer.headers.get("location", "/")).netloc in ("", urlsplit(BASE).netloc)


@pytest.mark.parametrize("field", ["service", "bucket", "cause", "fingerprint", "q"])
def test_filters_are_values(kept, field):
    """A filter finds what has that text, and nothing else happens."""
    kept.post("/v1/triage", content=LOG, params={"service": "chat"})
    before = kept.get("/v1/incidents").json()["items"]
    for bait in ("' OR 1=1 --", "%", "_", "'; DROP TABLE incidents; --", '" UNION SELECT 1', "\\", "x' OR 'a'='a"):
        found = kept.get("/v1/incidents", params={field: bait})
        assert found.status_code in (200, 422)
        assert found.status_code == 422 or [] == [
            item for item in found.json()["items"] if bait not in json.dumps(item)
        ]

    assert before
    assert before == kept.get("/v1/incidents").json()["items"]


def test_an_export_has_a_line_for_each_row_whatever_was_noted(kept):
    """A note with line ends, quotes or a formula stays one text in one line of JSON."""
    incident = kept.post("/v1/triage", content=LOG).json()["incident"]["id"]
    # The service is shared with other tests, which may have said something before.
    before = set(kept.get("/v1/feedback/export").text.split("\n"))
    notes = ['=HYPERLINK("http://h.example")\n{"bucket": "forged"}\r\n', "@SUM(1)\u2028x", "\x1b[31mred"]
    for note in notes:
        said = {"incident": incident, "verdict": "wrong", "bucket": "runtime_oom", "note": note}
        assert 201 == kept.post("/v1/feedback", json=said).status_code
    lines = kept.get("/v1/feedback/export").text.rstrip("\n").split("\n")

    assert {"runtime_oom"} == {json.loads(line)["bucket"] for line in lines if line not in before}
    assert all(line.isprintable() for line in lines)


def test_deep_json_is_a_fault_of_the_caller(kept):
    """Brackets in brackets do not end the process."""
    for body in (b"[" * 200_000, b'{"log":' * 100_000, b'{"log": "x", "name": ' + b"[" * 100_000):
        answer = kept.post("/v1/triage", content=body, headers={"Content-Type": "application/json"})
        assert 400 <= answer.status_code < 500


def test_a_rule_that_explodes_ends(tmp_path, run):
    """Rules of others are data; a try of one takes a bounded time, and the log is answered."""
    (tmp_path / "bait.toml").write_text(RULE)
    log = "a" * 4000 + " acme bait\nValueError: No available memory for the cache blocks.\n"
    shown = run("-", "--rules", tmp_path, "--format", "json", stdin=log)

    assert "kv_cache_oom" == json.loads(shown.out)["bucket"]


@pytest.mark.parametrize("folder", ["classifier", "service"])
def test_nothing_that_a_user_gives_is_unpickled(folder):
    """Models are JSON and bare numbers: neither half of the package that reads them imports what can run code of a file.

    Ray's workers get their tasks pickled from their driver, by Ray as by us: no file of a user's is among them.
    """
    names = {
        name.split(".")[0]
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "on_ray.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }

    assert set() == names & {"pickle", "_pickle", "cPickle", "joblib", "dill", "cloudpickle", "shelve", "torch"}


def test_a_name_of_a_file_moves_no_cursor(tmp_path, run):
    """Names of files come from strangers, too: in the text, in Markdown, in what is said of one that is not there."""
    path = tmp_path / "a\x1b[31m`b\n.log"
    path.write_text("ValueError: No available memory for the cache blocks.\n")
    for words in ([path, path], [path, path, "--format", "markdown"], [f"{path}.gone"]):
        shown = run(*words)
        assert "\x1b" not in shown.out + shown.err
    assert "File: `" not in run(path, path, "--format", "markdown").out.replace("File: `" + str(tmp_path), "")


def test_keys_are_compared_in_constant_time(monkeypatch):
    """All of them, each by its hash: how long it takes tells nothing of how much of a key was right."""
    compared: list[tuple[str, str]] = []
    real = hmac.compare_digest

    def noting(one: str, other: str) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noting)
    made = [keys.make_key(f"k{number}", ["read"]) for number in range(3)]
    known = [keys.read_key(line) for _, line in made]

    assert known[0] == keys.find_key(known, made[0][0])
    assert 3 == len(compared)
    assert all(len(one) == len(other) == 64 for one, other in compared)


def test_a_key_that_we_made_is_masked_wherever_it_stands(kept, tmp_path):
    """As a value without a name: in answers of every format, labels, notes, the history and its file."""
    key, _ = keys.make_key("planted", ["triage"])
    planted = f"{LOG.decode()}\nRuntimeError: upstream refused {key}\nINFO: {key} {{'x': '{key}'}} https://h.example/?a={key}\n"
    params = {"service": f"chat {key}", "name": f"{key}.log"}
    answers = [
        kept.post("/v1/triage", content=planted, params=params, headers={"Accept": media}).text
        for media in ("application/json", "text/plain", "text/markdown", "application/sarif+json")
    ]
    incident = kept.get("/v1/incidents").json()["items"][0]["id"]
    kept.post("/v1/feedback", json={"incident": incident, "verdict": "right", "note": f"it was {key}"})
    answers += [kept.get(path).text for path in (f"/v1/incidents/{incident}", "/v1/feedback/export", "/metrics")]
    answers.append(kept.post("/v1/triage/stream", content=planted).text)

    assert [] == [answer for answer in answers if key[4:] in answer]
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.rglob("*.sqlite*"))


def test_secrets_leave_neither_by_http_nor_by_the_page(kept):
    """Each kind, in an exception and around the cause: in no answer, no stored incident, and no format."""
    log = LOG.decode()
    for text, secret in sample((pair for pairs in SECRETS.values() for pair in pairs), 9):
        planted = f"{log}\nINFO: {text}\nacme.FlangeError: no way on: {text}\n"
        stored = kept.post(
            "/v1/triage", content=planted, params={"service": text if len(text) <= 100 else "", "name": text}
        )
        shown = kept.get(f"/v1/incidents/{stored.json()['incident']['id']}").text
        lines = kept.post("/v1/triage/stream", content=planted).text
        assert [False, False, False] == [secret in answer for answer in (stored.text, shown, lines)], text
