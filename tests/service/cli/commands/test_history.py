"""`vllm-triage history`: the incidents from a terminal."""

from __future__ import annotations

import json

import pytest

from tests.service.history.reports import report
from vllm_triage.service.history import Change, History


@pytest.fixture
def url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/history.db"


@pytest.fixture
def kept(url) -> str:
    """The id of an incident with feedback, in a database with another one."""
    history = History(url)
    history.upgrade()
    for _ in range(2):
        fix = {"rank": 1, "title": "Less", "kind": "flag", "change": "--max-model-len 9", "why": "", "cost": ""}
        got = history.record(report(fixes=[fix]), service="chat")
    history.feedback(got.id, "wrong", bucket="runtime_oom", note="it was the activations")
    history.record(report(bucket="port_in_use", cause="port_in_use/http_port_taken", title="The port is taken"))
    history.close()
    return got.id


def test_list(run, url, kept):
    ran = run("history", "--database", url, "list")

    assert (0, "") == (ran.code, ran.err)
    assert ["2 ×  chat", "1 ×  -"] == [
        " ".join(line.split()[2:4]) + "  " + line.split()[4] for line in reversed(ran.out.splitlines()[::2])
    ]
    assert "kv_cache_oom/context_exceeds_cache ✘" in ran.out


def test_list_with_filters(run, url, kept):
    told = json.loads(
        run("history", "--database", url, "list", "--bucket", "kv_cache_oom", "--since", "7d", "-f", "json").out
    )

    assert [(kept, 2)] == [(incident["id"], incident["occurrences"]) for incident in told]
    assert "" == run("history", "--database", url, "list", "--since", "2100-01-01").out
    assert "there are more" in run("history", "--database", url, "list", "-n", "1").out


def test_who_looks_after_what_and_whose_it_is(run, url, kept):
    """The list tells it, and finds it; without a tenant it tells of all."""
    history = History(url)
    history.handle(kept, Change(state="muted", assignee="kim"))
    history.record(report(), service="theirs", tenant="acme")
    history.close()

    told = run("history", "--database", url, "list", "--state", "muted", "--assignee", "kim").out
    assert "[muted] → kim" in told
    assert 2 == len(told.splitlines())
    assert "theirs" in run("history", "--database", url, "list").out
    for words, seen in ((("--tenant", "acme"), True), (("--tenant", ""), False)):
        assert seen is ("theirs" in run("history", "--database", url, "list", *words).out)
    assert "1" in run("history", "--database", url, "stats", "--tenant", "acme").out.split()


def test_show(run, url, kept):
    ran = run("history", "--database", url, "show", kept)
    told = json.loads(run("history", "--database", url, "show", kept, "-f", "json").out)

    assert ran.code == 0
    for text in (kept, "line 40: ", "1. Less: --max-model-len 9", "wrong  runtime_oom  it was the activations"):
        assert text in ran.out
    assert {"incident", "report", "occurrences", "feedback"} == set(told)
    assert [2, 1] == [seen["id"] for seen in told["occurrences"]]


def test_stats(run, url, kept):
    ran = run("history", "--database", url, "stats")
    told = json.loads(run("history", "--database", url, "stats", "--step", "hour", "-f", "json").out)

    assert ["kv_cache_oom", "port_in_use"] == [line.split()[0] for line in ran.out.splitlines()]
    assert [2, 1] == [sum(each["count"] for each in row["counts"]) for row in told]


def test_export_feedback(run, url, kept):
    """A JSON object a line, as the training reads it."""
    (line,) = run("history", "--database", url, "export-feedback").out.splitlines()
    row = json.loads(line)

    assert ("runtime_oom", "wrong", "feedback", kept) == (row["bucket"], row["verdict"], row["source"], row["id"])
    assert "ValueError: the cache holds 12 tokens" in row["digest"]


def test_prune_and_upgrade(run, tmp_path, monkeypatch):
    """The variable names the database, as it does for the service."""
    monkeypatch.setenv("VLLM_TRIAGE_DATABASE", f"sqlite:///{tmp_path}/new/history.db")

    assert "up to date" in run("history", "upgrade").out
    assert "0 incidents removed\n" == run("history", "prune", "--retention-days", "7").out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["list"], "history upgrade"),
        (["show", "inc_x"], "history upgrade"),
        (["prune", "--retention-days", "-1"], "retention"),
        (["list", "--since", "yesterday"], "neither an age"),
        (["list", "--limit", "0"], "limit 0"),
        ([], "ACTION"),
    ],
)
def test_what_cannot_be_done(run, url, words, complaint):
    """Exit code 2, and what to do."""
    ran = run("history", "--database", url, *words)

    assert (2, True) == (ran.code, complaint in ran.err)


def test_no_history(run, monkeypatch):
    monkeypatch.setenv("VLLM_TRIAGE_DATABASE", "none")

    assert "there is no history" in run("history", "list").err


def test_the_default_is_the_file_of_the_service(run, tmp_path, monkeypatch):
    monkeypatch.delenv("VLLM_TRIAGE_DATABASE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run("history", "upgrade")

    assert (tmp_path / "vllm-triage" / "history.sqlite").exists()


def test_a_settings_file_counts(run, tmp_path, monkeypatch):
    """As for the service."""
    (tmp_path / "settings.toml").write_text(f'database = "sqlite:///{tmp_path}/named.db"\n')
    monkeypatch.setenv("VLLM_TRIAGE_CONFIG", str(tmp_path / "settings.toml"))

    assert "named.db is up to date" in run("history", "upgrade").out


def test_an_incident_that_is_not_there(run, url, kept):
    ran = run("history", "--database", url, "show", "inc_nothing")

    assert (2, "vllm-triage: no incident 'inc_nothing'\n") == (ran.code, ran.err)
