"""What the argument parser says: what was probably meant, help that fits, words that people use."""

from __future__ import annotations

import json
import re

import pytest

from vllm_triage.service.cli.commands import COMMANDS


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--frmat", "json", "x.log"], "there is no option --frmat; did you mean --format?"),
        (["x.log", "--format", "jsn"], "'jsn' is not one of its values; did you mean json?"),
        (["x.log", "--format", "xyzzy"], "it is one of concise, github"),
        (["x.log", "--as", "kubernets"], "did you mean kubernetes?"),
        (["history", "shw"], "did you mean show?"),
        (["rules", "--formt", "json"], "did you mean --format?"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(run, words, complaint):
    """On one line, with where to look further; exit code 2, and no page of usage."""
    ran = run(*words)

    assert (ran.code, complaint in ran.err, len(ran.err.splitlines())) == (2, True, 2)


def test_a_slip_in_an_id_is_answered_too(run, failed):
    """What --only and --ignore name."""
    assert "did you mean kv_cache_oom?" in run(failed, "--only", "kv_cach").err


@pytest.mark.parametrize(
    ("alias", "meant"),
    [(("-f", "md"), ("-f", "markdown")), (("--as", "k8s"), ("--as", "kubernetes")), (("-f", "JSON"), ("-f", "json"))],
)
def test_choices_go_by_their_short_names(run, failed, alias, meant):
    """As people say them."""
    command = ("--command", "vllm serve m --gpu-memory-utilization 0.5")

    assert run(failed, *alias, *command).out == run(failed, *meant, *command).out != ""


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("width", [60, 100])
def test_help_fits_the_terminal(run, name, width, monkeypatch):
    """Of the command and of each of its own; lists of choices stand as they are."""
    monkeypatch.setenv("COLUMNS", str(width))
    ran = run(*([name] if name else []), "-h")

    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if len(line) > width and "{" not in line] == []


def test_help_is_coloured_on_a_terminal_alone(run, monkeypatch):
    """The same words."""
    plain = run("-h").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = run("-h").out

    assert ("\x1b[" in plain, "\x1b[36m--format\x1b[0m" in colored) == (False, True)
    assert re.sub(r"\x1b\[\d+m", "", colored) == plain


def test_help_and_version_are_words_too(run):
    """As other commands have them."""
    assert run("help", "plan").out == run("plan", "-h").out
    assert run("version").out == run("--version").out


def test_only_the_command_is_printed(run, failed):
    """Ready for a file or a shell, in the form that was asked for."""
    ran = run(failed, "--only-command", "--as", "k8s", "--command", "vllm serve m --gpu-memory-utilization 0.5")

    assert (ran.code, ran.out.splitlines()[0]) == (0, "containers:")
    assert run(failed, "--only-command", "--command", "vllm serve m").out.startswith("vllm serve m --gpu-memory-")


def test_no_command_is_no_success(run, tmp_path):
    """A script must not go on with an empty file."""
    log = tmp_path / "x.log"
    log.write_text("root:x:0:0:root:/root:/bin/bash\n")
    ran = run(log, "--only-command")

    assert (ran.code, ran.out) == (2, "")
    assert f"{log}: no corrected command" in ran.err


def test_two_logs_are_compared(run, failed, healthy):
    """Exit code 1 where the second fails."""
    cured, broken = run("compare", failed, healthy), run("compare", healthy, failed, "-f", "json")

    assert (cured.code, broken.code) == (0, 1)
    assert cured.out.startswith("✔ The failure kv_cache_oom/no_cache_blocks is gone")
    assert json.loads(broken.out)["after"]["cause"] == "kv_cache_oom/no_cache_blocks"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--max-model-len"], 0, "has --max-model-len."),
        (["--swap-space", "--vllm-version", "0.11"], 0, "vLLM 0.11.2 has --swap-space."),
        (["--swap-space", "--vllm-version", "0.19.1"], 1, "has no --swap-space."),
        (["VLLM_USE_V1", "--vllm-version", "v0.9.2"], 0, "has VLLM_USE_V1."),
        (["--max-model-len", "--vllm-version", "banana"], 2, ""),
        ([], 2, ""),
    ],
)
def test_an_option_is_looked_up(run, words, code, told):
    """An option of vLLM is not taken for one of ours."""
    ran = run("option", *words)

    assert (ran.code, told in ran.out) == (code, True)


@pytest.mark.parametrize(
    ("platform", "part"), [("discord", "embeds"), ("teams", "attachments"), ("webhooks", "report")]
)
def test_a_message_is_previewed(run, failed, platform, part):
    """As it would be sent, without an app."""
    ran = run("chat", "--preview", platform, failed)

    assert (ran.code, part in json.loads(ran.out)) == (0, True)


def test_what_cannot_be_previewed_is_told(run, failed):
    """With what can."""
    assert "did you mean teams?" in run("chat", "--preview", "team", failed).err


def test_a_large_file_shows_how_far_it_is(run, failed, monkeypatch, capsys):
    """On a terminal alone; the answer is the same."""
    from vllm_triage.service.cli import progress

    before = run(failed)
    monkeypatch.setattr(progress, "LARGE", 1)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = run(failed)

    assert (before.out, before.err) == (shown.out, "")
    assert "reading: 100% of" in shown.err
    assert shown.err.endswith("\r\x1b[K")
