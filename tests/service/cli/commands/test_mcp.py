"""`vllm-triage mcp`: what cannot be served is told at once, and the instructions need nothing installed."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.extras import install


def test_the_instructions_are_printed(run):
    ran = run("mcp", "--instructions")

    assert (ran.code, ran.out.startswith("---\nname: vllm-triage\n")) == (0, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--root", "/no/such/folder"], "no such folder"),
        (["--http", "--host", "0.0.0.0"], "--keys"),
        (["--http", "--keys", "/no/such/file"], "No such file"),
        (["--keys", "/dev/null", "--http"], "holds no key"),
        (["--database", "sqlite://", "--service", "http://a"], "not allowed with"),
        (["--rules", "/no/such/rules"], "no such rule file"),
    ],
)
def test_what_cannot_be_served(run, words, told):
    pytest.importorskip("mcp")
    ran = run("mcp", *words)

    assert (ran.code, told in ran.err) == (2, True), ran.err


def test_without_the_sdk_the_extra_is_named(run, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith("vllm_triage.service.agents")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    ran = run("mcp")

    assert (ran.code, install("mcp") in ran.err) == (2, True)
