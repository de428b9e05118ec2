"""Upgrades name the release that changed what failed, or no longer refuses it."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.report.model import Fix, Report

HEAD = "INFO 03-01 04:55:00 [api_server.py:1] vLLM API server version {}\n"
LOGGED = "(EngineCore_DP0 pid=266) ERROR 03-01 04:55:09 [core.py:938] "
FRAME = '  File "/opt/venv/lib/python3.12/site-packages/{}", line {}, in {}\n    {}'
HERMES = (
    "vllm/entrypoints/openai/tool_parsers/hermes_tool_parser.py", 227, "extract_tool_calls_streaming",
    'function_name: Union[str, None] = current_tool_call.get("name")',
)  # fmt: skip
STAGES = (
    "vllm/model_executor/models/deepseek_v2.py", 743, "__init__", "assert isinstance(layer, DeepseekV2DecoderLayer)",
)  # fmt: skip
MAMBA = ("vllm/model_executor/layers/mamba/abstract.py", 58, "get_kv_cache_spec", "raise NotImplementedError(")


def answer(release: str, error: str, *frames: tuple[str, int, str, str]) -> Report:
    """Return the answer to one exception of the engine."""
    lines = ["Traceback (most recent call last):"]
    lines += [line for frame in frames for line in FRAME.format(*frame).split("\n")]
    head = HEAD.format(release) if release else ""
    return shared().report(head + "\n".join(LOGGED + line for line in [*lines, error]) + "\n")


def dated(report: Report) -> list[Fix]:
    """Return the fixes that upgrade to a release for what vLLM's sources tell."""
    return [
        fix
        for fix in report.fixes
        if fix.fixed_in and ("sources do not say" in fix.why or "vllm-project/vllm#" in fix.why)
    ]


@pytest.mark.parametrize(
    ("release", "error", "frames", "first", "said"),
    [
        ("0.6.4.post1", "AttributeError: 'NoneType' object has no attribute 'get'", [HERMES], "0.6.5", "vllm-project/vllm#10979, in 0.6.5, puts a test before"),
        ("0.9.2", "AssertionError", [STAGES], "0.10.0", "vllm-project/vllm#20665, in 0.10.0, puts a test before"),
    ],
)  # fmt: skip
def test_the_upgrade_goes_to_the_release_that_changed_what_failed(
    release: str, error: str, frames: list[tuple[str, int, str, str]], first: str, said: str
) -> None:
    """With the change as its reason, by number."""
    (fix,) = dated(answer(release, error, *frames))
    assert fix.fixed_in == first
    assert f"'vllm>={first}'" in fix.change
    assert said in fix.why


@pytest.mark.parametrize("release", ["0.10.0", "0.33.0"])
def test_a_release_that_has_the_change_is_not_told_of_it(release: str) -> None:
    """Nor one that is newer."""
    assert not dated(answer(release, "AssertionError", STAGES))


def test_where_the_release_is_not_known_the_upgrade_is_for_older_servers() -> None:
    """One line is not enough to bound it."""
    path, number, function, code = STAGES
    frame = FRAME.format(path, number, function, code)
    (fix,) = dated(shared().report(f"Traceback (most recent call last):\n{frame}\nAssertionError\n"))
    assert fix.title.startswith(
        "Upgrade vLLM, if it is older, to 0.10.0 or later: vllm-project/vllm#20665 puts a test before"
    )
    assert "does not say which release ran" in fix.why


def test_a_limit_that_is_gone_stands_behind_what_can_be_done_without() -> None:
    """The options' own fix stays first."""
    text = (
        HEAD.format("0.7.3")
        + "Error: --enable-auto-tool-choice and --enable-reasoning cannot be enabled at the same time\n"
    )
    fixes = shared().report(text).fixes
    assert fixes[0].kind != "command" or "pip install" not in fixes[0].change
    assert [fix.fixed_in for fix in fixes][-1] == "0.8.2"
    assert fixes[-1].title == "Upgrade vLLM to 0.8.2 or later: it no longer refuses this"


def test_a_release_is_named_once() -> None:
    """The cause has its own fix with that release."""
    report = answer("0.16.0", "NotImplementedError: Mamba with speculative decoding is not supported yet.", MAMBA)
    assert [fix.fixed_in for fix in report.fixes if fix.fixed_in] == ["0.17.0"]


def test_words_of_others_are_no_check_of_vllm() -> None:
    """Another package raised them."""
    other = ("transformers/modeling_utils.py", 12, "get", "raise NotImplementedError(")
    report = answer(
        "0.16.0", "NotImplementedError: Mamba with speculative decoding is not supported yet.", MAMBA, other
    )
    assert not dated(report)
