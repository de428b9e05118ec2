"""Progress is told to whoever watches."""

from __future__ import annotations

from vllm_triage.training import progress


def test_progress_is_silent_in_a_pipe(capsys) -> None:
    """What is not watched gets no bar; steps are lines."""
    assert list(progress.track(range(20), "reading")) == list(range(20))
    assert capsys.readouterr().err == ""
    with progress.steps() as say:
        say("first")
        say("second")
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == ["first", "second"]


def test_progress_is_shown_on_a_terminal(capsys, monkeypatch) -> None:
    """On standard error alone."""
    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(progress.track(range(20), "reading")) == list(range(20))
    with progress.steps() as say:
        say("first")
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "reading" in seen.err
    assert "first" in seen.err
