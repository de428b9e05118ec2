"""``vllm-triage train``: from labelled logs to answers, with a bucket that only the user has."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from vllm_triage.classifier.extras import install
from vllm_triage.service.history.feedback import row as feedback_row

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")

QUOTA = ("has used up its tokens", "is over its share of hours", "was suspended by billing", "has no budget left")
LEASE = ("lease of the adapter lost", "adapter store is sealed", "stale adapter handle", "adapter was withdrawn")
SLOT = ("slot already leased", "slot taken by another pod", "no claim on the slot", "slot has an owner")


def log(kind: str, text: str) -> str:
    """An exception as a plug-in of vLLM's raises it."""
    return (
        "INFO 11-21 09:00:00 [api_server.py:1500] vLLM API server version 0.19.1\n"
        "ERROR 11-21 09:00:10 [engine.py:448] Traceback (most recent call last):\n"
        f'ERROR 11-21 09:00:10 [engine.py:448]   File "/srv/acme/{kind.lower()}.py", line 9, in admit\n'
        f"ERROR 11-21 09:00:10 [engine.py:448]     raise {kind}(tenant)\n"
        f"ERROR 11-21 09:00:10 [engine.py:448] {kind}: {text}\n"
    )


BUCKETS = {
    "Acme quota": [log("AcmeQuotaError", f"the tenant {text}") for text in QUOTA],
    "lora": [log("AcmeStoreError", text) for text in LEASE],
    "port_in_use": [log("AcmeGateError", text) for text in SLOT],
}
NEW = log("AcmeQuotaError", "the tenant blue has spent its monthly tokens")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each bucket."""
    folder = tmp_path_factory.mktemp("logs")
    for bucket, texts in BUCKETS.items():
        (folder / bucket).mkdir()
        for number, text in enumerate(texts):
            (folder / bucket / f"{number}.log").write_text(text)
    return folder


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row in eight of what it is held against: the tests have no need of all."""
    from vllm_triage.training.user_model import negatives as background

    every = background.background()
    monkeypatch.setattr(background, "background", lambda: every[::8])


@pytest.mark.slow
def test_from_logs_to_answers(run, few, logs: Path, tmp_path: Path) -> None:
    """Trained on three buckets, one of them the user's own, it names a log that it has not seen."""
    out, new = tmp_path / "model", tmp_path / "new.log"
    new.write_text(NEW)
    assert json.loads(run(new, "--format", "json").out)["bucket"] == "unknown"
    done = run("train", logs, "--out", out, "--json", tmp_path / "figures.json")
    assert done.code == 0
    assert "12 logs of 12 different failures" in done.out
    assert "warning: acme_quota is a new bucket" in done.err
    assert "warning: lora: only 4 different failures" in done.err
    assert json.loads((tmp_path / "figures.json").read_text())["validation"]["logs"] == 12

    answered = run(new, "--model", out, "--format", "json")
    report = json.loads(answered.out)
    assert (answered.code, report["bucket"], report["decided_by"]) == (1, "acme_quota", "model")
    assert report["title"] == "Probably: Acme quota"
    assert "trained on your own logs" in report["summary"]
    assert "No rule file describes this bucket" in report["summary"]
    assert [item["line"] for item in report["evidence"]]
    assert report["fixes"] == []
    text = run(new, "--model", out).out
    assert "Probably: Acme quota" in text
    assert "vllm-triage explain" not in text


@pytest.mark.slow
def test_a_bucket_of_the_corpus_keeps_its_fixes(run, few, logs: Path, tmp_path: Path) -> None:
    """And what rules decide stays as it is."""
    out, new = tmp_path / "model", tmp_path / "new.log"
    run("train", logs, "--out", out)
    new.write_text(log("AcmeStoreError", "lease of the adapter harbor lost"))
    report = json.loads(run(new, "--model", out, "--format", "json").out)
    assert (report["bucket"], report["decided_by"]) == ("lora", "model")
    assert report["fixes"]
    new.write_text("ValueError: No available memory for the cache blocks.\n")
    report = json.loads(run(new, "--model", out, "--format", "json").out)
    assert (report["bucket"], report["decided_by"]) == ("kv_cache_oom", "rule")


@pytest.mark.slow
def test_every_format_says_that_it_is_a_guess(run, few, logs: Path, tmp_path: Path) -> None:
    """And how sure it is."""
    out, new = tmp_path / "model", tmp_path / "new.log"
    run("train", logs, "--out", out)
    new.write_text(NEW)
    for name in ("text", "json", "jsonl", "markdown", "sarif", "github"):
        told = " ".join(run(new, "--model", out, "--format", name).out.replace("%25", "%").split())
        assert "Probably: Acme quota" in told, name
        assert "A model trained on your own logs" in told, name
        assert "% confidence" in told, name


@pytest.mark.slow
def test_it_is_evaluated_with_its_own_buckets(run, few, logs: Path, tmp_path: Path) -> None:
    """Labels as the folders have them."""
    out = tmp_path / "model"
    run("train", logs, "--out", out)
    done = run("evaluate", logs, "--model", out, "--against", "rules", "--json", "-")
    assert done.err == ""
    data = json.loads(done.out)
    assert data["result"]["accepted"]["count"] > data["against"]["accepted"]["count"]
    assert "acme_quota" in data["result"]["buckets"]


@pytest.mark.slow
def test_rules_of_ones_own_describe_a_bucket(run, few, logs: Path, tmp_path: Path) -> None:
    """Then it is not new."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "acme_quota.toml").write_text(OWN_RULES)
    done = run("train", logs, "--out", tmp_path / "model", "--rules", rules)
    assert done.code == 0
    assert "new bucket" not in done.err
    (tmp_path / "new.log").write_text(NEW)
    words = (tmp_path / "new.log", "--model", tmp_path / "model", "--rules", rules, "--format", "json")
    report = json.loads(run(*words).out)
    assert (report["bucket"], report["decided_by"]) == ("acme_quota", "model")
    assert report["title"].startswith("Probably: ")
    assert report["fixes"]


@pytest.mark.slow
def test_feedback_of_the_service_is_learnt(run, few, tmp_path: Path) -> None:
    """What export-feedback prints: rows of reports, with what people said they were."""
    from vllm_triage.classifier.api import shared

    lines = []
    for number, text in enumerate(BUCKETS["Acme quota"]):
        told = feedback_row(shared().report(text), f"print{number}")
        lines.append(
            {
                "id": f"inc_{number}",
                **told,
                "bucket": "acme_quota",
                "cause": "",
                "verdict": "wrong",
                "source": "feedback",
            }
        )
    file = tmp_path / "feedback.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("train", file, "--out", tmp_path / "model").code == 0
    (tmp_path / "new.log").write_text(NEW)
    report = json.loads(run(tmp_path / "new.log", "--model", tmp_path / "model", "--format", "json").out)
    assert report["bucket"] == "acme_quota"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "logs.jsonl:1: no JSON"),
        ('{"text": "INFO all is well", "bucket": "no_failure"}', "nothing to train on"),
        ('{"text": "ValueError: x y z", "bucket": "no_failure"}', "no log is labelled with a failure"),
        ("", "no labelled log in it"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "logs.jsonl").write_text(text)
    done = run("train", tmp_path / "logs.jsonl", "--out", tmp_path / "model")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_a_place_that_cannot_be_written_is_told(run, few, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("train", logs, "--out", tmp_path / "file")
    assert done.code == 2
    assert "File exists" in done.err


@pytest.mark.parametrize("words", [[], ["x"], ["--out", "y"]])
def test_wrong_usage_is_told(run, words: list[str]) -> None:
    assert run("train", *words).code == 2


def test_missing_scikit_learn_is_told(run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    done = run("train", logs, "--out", tmp_path / "model")
    assert (done.code, done.err) == (2, f"vllm-triage: training needs scikit-learn: {install('model')}\n")


OWN_RULES = """\
id = "acme_quota"
title = "The tenant's quota is used up"
meaning = "The billing plug-in refuses a tenant."

[[cause]]
id = "used_up"
title = "The tenant's quota is used up"
summary = "The billing plug-in refuses a tenant."

[[cause.fix]]
title = "Raise the quota"
kind = "step"
change = "Ask the billing team for a larger quota"
why = "The plug-in then lets the tenant in."
cost = "none"

[[rule]]
id = "quota-ledger"
role = "cause"
cause = "used_up"
strength = "strong"
pattern = 'ledger of the tenant is closed'
source = "acme"
match = ["ERROR the ledger of the tenant is closed"]
reject = ["ERROR the ledger is open"]
"""
