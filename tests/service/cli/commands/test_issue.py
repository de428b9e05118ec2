"""`vllm-triage issue`: from a file or a pipe, to a file or standard output."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

LOG = Path(__file__).parents[4] / "corpus/logs/written/kv-cache-too-small.log"


def test_a_file_and_a_pipe_give_the_same(run, tmp_path):
    """Packed, too: the log is read twice."""
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    ran = [
        run("issue", LOG),
        run("issue", stdin=LOG.read_bytes()),
        run("issue", packed),
        run("issue", stdin=packed.read_bytes()),
    ]

    assert {(one.code, one.out) for one in ran} == {(0, ran[0].out)}
    assert ran[0].out.startswith("[Bug]: The KV cache cannot hold one request of the full context\n\n### Your current")
    assert "| ValueError: To serve at least one request" in ran[0].out


def test_whoever_can_mend_it_is_told_first(run):
    ran = run("issue", LOG)

    assert "this may be no bug of vLLM; try first: --max-model-len 41936" in ran.err
    assert "https://github.com/vllm-project/vllm/issues/new" in ran.err


def test_it_is_written_to_a_file(run, tmp_path):
    ran = run("issue", LOG, "-o", tmp_path / "issue.md")

    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / "issue.md").read_text().startswith("[Bug]: ")


@pytest.mark.parametrize(
    ("words", "stdin", "told"),
    [
        (["/no/such.log"], "", "no such file"),
        ([], "INFO:     Application startup complete.\n", "nothing to report"),
        ([], "", "empty"),
        ([LOG, "-o", "/no/such/folder/x"], "", "No such file"),
        ([LOG, "--vllm-version", "banana"], "", "not a vLLM release"),
    ],
)
def test_what_gives_no_report(run, words, stdin, told):
    ran = run("issue", *words, stdin=stdin)

    assert (ran.code, told in ran.err, ran.out) == (2, True, ""), ran.err
