"""Settings: variables, file, what does not go together."""

from __future__ import annotations

import socket

import pytest
from pydantic import ValidationError

from vllm_triage.service.cli.main import main
from vllm_triage.service.http.app import open_history
from vllm_triage.service.http.settings import Settings, state_folder


def test_variables_go_before_the_file(monkeypatch, tmp_path):
    """And arguments before both; parts of a section are set by two underscores."""
    file = tmp_path / "triage.toml"
    file.write_text('port = 1\nqueue = 7\ncors_origins = ["https://a.example"]\n[notify]\nqueue = 5\n')
    monkeypatch.setenv("VLLM_TRIAGE_CONFIG", str(file))
    monkeypatch.setenv("VLLM_TRIAGE_PORT", "2")
    monkeypatch.setenv("VLLM_TRIAGE_NOTIFY__WINDOW_SECONDS", "60")
    settings = Settings(host="localhost")

    assert (2, 7, ("https://a.example",), 60) == (
        settings.port, settings.queue, settings.cors_origins, settings.notify.window_seconds,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["a,b", "a b", '["a", "b"]', " a,  b "])
def test_a_list_is_words_or_json(monkeypatch, text):
    """As people write it in a unit file, or a program in a manifest."""
    monkeypatch.setenv("VLLM_TRIAGE_RULES", text)

    assert ("a", "b") == Settings().rules


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PORT", "http", "port"),
        ("QUEUE", "0", "queue"),
        ("HOST", "0.0.0.0", "needs API keys"),
        ("CONFIG", "/no/such/file.toml", "no such settings file"),
        ("API_KEYS", "nonsense", "key nonsense: no scope"),
        ("API_KEYS_FILE", "/no/such/file", "api_keys_file cannot be read"),
        ("RATE_LIMMIT", "5", "did you mean VLLM_TRIAGE_RATE_LIMIT?"),
        ("SLAK__BOT_TOKEN", "5", "did you mean VLLM_TRIAGE_SLACK?"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_setting(monkeypatch, capsys, name, value, words):
    """On one line, with exit code 2."""
    monkeypatch.setenv(f"VLLM_TRIAGE_{name}", value)

    assert main(["serve"]) == 2
    out, err = capsys.readouterr()
    assert ("", True, 1) == (out, words in err, err.count("\n"))


def test_a_name_that_is_no_setting_is_refused_in_the_file(monkeypatch, tmp_path, capsys):
    """A limit that is misspelt would not be missed before it is needed."""
    (tmp_path / "t.toml").write_text("rate_limmit = 5\n")

    monkeypatch.setenv("VLLM_TRIAGE_CONFIG", "")
    assert main(["serve", "--config", str(tmp_path / "t.toml")]) == 2
    assert "'rate_limmit' is not a setting" in capsys.readouterr().err


def test_variables_of_others_are_left_alone(monkeypatch):
    """Kubernetes sets such for a service of our name."""
    for name in ("SERVICE_HOST", "SERVICE_PORT", "PORT_8501_TCP_ADDR", "SERVICE_PORT_HTTP"):
        monkeypatch.setenv(f"VLLM_TRIAGE_{name}", "10.0.0.1")

    assert 8501 == Settings(database="none").port


@pytest.mark.parametrize("content", [b"port = ", b"\xff\xfe", b"port = 1\nport = 2\n"])
def test_a_settings_file_that_cannot_be_read_is_named(tmp_path, monkeypatch, capsys, content):
    """No TOML, no UTF-8, the same twice."""
    (tmp_path / "t.toml").write_bytes(content)
    monkeypatch.setenv("VLLM_TRIAGE_CONFIG", "")

    assert main(["serve", "--config", str(tmp_path / "t.toml")]) == 2
    err = capsys.readouterr().err
    assert (True, 1) == (f"{tmp_path}/t.toml: " in err, err.count("\n"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use_is_told_at_once(capsys, monkeypatch, workers):
    """On one line, with exit code 2."""
    monkeypatch.setenv("VLLM_TRIAGE_DATABASE", "none")
    # The command sets them for its workers: to be taken back.
    for name in ("PORT", "WORKERS"):
        monkeypatch.setenv(f"VLLM_TRIAGE_{name}", "1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = main(["serve", "--port", str(port), "--workers", workers])
    err = capsys.readouterr().err

    assert (2, True, 1) == (code, f"cannot listen on 127.0.0.1, port {port}: " in err, err.count("\n"))


def test_a_model_that_is_not_there_is_told_at_once(capsys, monkeypatch):
    """On one line, with exit code 2, before a log needs it."""
    monkeypatch.setenv("VLLM_TRIAGE_DATABASE", "none")
    monkeypatch.setenv("VLLM_TRIAGE_PORT", "0")
    monkeypatch.setenv("VLLM_TRIAGE_MODEL", "/no/such/model")

    assert main(["serve"]) == 2
    err = capsys.readouterr().err
    assert (True, 1) == ("/no/such/model" in err, err.count("\n"))


def test_the_historys_limits_are_set(tmp_path):
    """How many incidents, and whether the disk is waited for."""
    settings = Settings(database=f"sqlite:///{tmp_path}/h.sqlite", most_incidents=7, power_safe=True)
    history = open_history(settings)
    assert history is not None
    with history._database.reading() as connection:
        synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
    most = history._retention.most
    history.close()

    assert (7, 2) == (most, synchronous)


def test_keys_come_from_a_file_too(tmp_path):
    """One a line, comments between: as secrets are mounted."""
    from vllm_triage.service.http.keys import make_key

    _, line = make_key("ci", ["triage"])
    (tmp_path / "keys").write_text(f"# of the build\n\n{line}\n")

    assert ["ci"] == [key.name for key in Settings(api_keys_file=tmp_path / "keys").keys]


def test_the_history_has_its_place(monkeypatch, tmp_path):
    """In the user's state folder, unless told otherwise; none is stateless."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert f"sqlite:///{tmp_path}/vllm-triage/history.sqlite" == Settings().database_url
    assert tmp_path / "vllm-triage" == state_folder()
    assert "" == Settings(database="none").database_url
    assert "postgresql://db/x" == Settings(database="postgresql://db/x").database_url


def test_a_validation_error_does_not_show_values():
    """They may be secrets."""
    with pytest.raises(ValidationError) as caught:
        Settings(slack={"signing_secret": "s3cr3t-value", "bot_token": 5})
    assert "s3cr3t-value" not in str(caught.value)
