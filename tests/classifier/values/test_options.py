"""What became of an option that a release refuses, and what an option accepts, from the table of all releases."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.question import Question
from vllm_triage.classifier.values import COMPUTED, WORKED
from vllm_triage.corpus import options


def told(name: str, option: str, version: str = "", **facts: str) -> str:
    return COMPUTED[name]({"option": option, "vllm_version": version, **facts})


@pytest.mark.parametrize(
    ("option", "version", "expected"),
    [
        ("--max-modle-len 1024", "0.32.0", "--max-model-len 1024   # instead of --max-modle-len 1024"),
        ("--tensor_parallel_sizee=2", "0.9.2", "--tensor-parallel-size 2   # instead of --tensor_parallel_sizee 2"),
        ("--guided-decoding-backend xgrammar", "0.12.0",
         """--structured-outputs-config '{"backend": "xgrammar"}'   # instead of --guided-decoding-backend xgrammar"""),
        ("--speculative-model a/b --num-speculative-tokens 5", "",
         "--speculative-config '{\"model\": \"a/b\", \"num_speculative_tokens\": 5}'   # instead of --speculative-model a/b --num-speculative-tokens 5"),
        ("--attention-backend FLASHINFER", "0.9.2", "VLLM_ATTENTION_BACKEND=FLASHINFER   # instead of --attention-backend FLASHINFER"),
        ("--disable-log-requests", "0.19.1", "--no-enable-log-requests   # instead of --disable-log-requests"),
        ("--task generate", "0.13.0", "--runner generate   # instead of --task generate"),
        ("--harbour-depth 3", "", ""),
        ("--swap-space 4", "", ""),
        ("", "0.32.0", ""),
    ],
)  # fmt: skip
def test_the_name_that_does_it_in_this_release(option: str, version: str, expected: str) -> None:
    """Misspelt, renamed, made a key of a JSON option, a variable before it was an option."""
    assert expected == told("meant_options", option, version)


def test_a_value_that_the_successor_does_not_take_is_not_carried_over() -> None:
    """The choices are shown instead, so that nothing wrong can be pasted."""
    assert told("meant_options", "--task embed", "0.13.0").startswith("--runner <auto|")


@pytest.mark.parametrize(
    ("option", "version", "gone", "later", "misplaced"),
    [
        (
            "--use-v2-block-manager --num-scheduler-steps 8",
            "0.32.0",
            "--use-v2-block-manager --num-scheduler-steps 8",
            "",
            "",
        ),
        ("--swap-space 4", "", "--swap-space 4", "", ""),
        # Nobody told the release: the newest has the option, so the one that refused it is older.
        ("--attention-backend FLASHINFER", "", "", "0.13.0", ""),
        ("--kv-offloading-size 8", "0.9.2", "", "0.11.1", ""),
        ("--max-model-len 10", "0.32.0", "", "", "--max-model-len"),
        ("serve /data/m", "0.32.0", "", "", ""),
    ],
)
def test_gone_not_yet_there_or_out_of_place(option: str, version: str, gone: str, later: str, misplaced: str) -> None:
    if later == "0.11.1":
        later = options.lifetime("--kv-offloading-size").removeprefix(">=")
    assert (gone, later, misplaced) == tuple(
        told(name, option, version) for name in ("gone_options", "later_options", "misplaced_options")
    )


@pytest.mark.parametrize("version", options.releases())
def test_what_is_named_exists_in_the_release(version: str) -> None:
    """Whatever option of any release is refused, the one that is named in its place is an option of this one."""
    for name in options._table().sections["flags"]:
        text = told("meant_option", f"{name} 1", version)
        assert not text or options.exists(text, version), (name, text)


@given(st.text(max_size=300), st.sampled_from(("", "0.32.0", "nonsense")))
def test_whatever_is_printed_there_is_an_answer(text: str, version: str) -> None:
    """No words break the reading, and what may be pasted is made of whole shell words."""
    for name in (
        "meant_options",
        "gone_options",
        "later_options",
        "misplaced_options",
        "stray_words",
        "option_name",
        "accepted_value",
    ):
        found = WORKED[name]({"option": text, "vllm_version": version, "allowed": text, "given": text})
        if name == "meant_options" and found and "…" not in found.value and "<" not in found.value:
            shlex.split(found.value.partition("   # ")[0])


@pytest.mark.parametrize(
    ("option", "given_", "allowed", "expected"),
    [
        ("--dtype", "'bfloat'", "'auto', 'bfloat16', 'float16'", "--dtype bfloat16"),
        ("--dtype", "'int7'", "'auto', 'half'", "--dtype <auto|half>"),
        ("--dtype/-d", "int7", "", "--dtype <auto|bfloat16|float|float16|float32|half>"),
        ("--max-model-len", "8k", "", ""),
        ("Load format", "harbor", "", ""),
        ("tool call", "hermes2", " deepseek_v3,hermes,mistral ", "--tool-call-parser hermes"),
        ("Reasoning", "harbor", "granite, qwen3", "--reasoning-parser <granite|qwen3>"),
    ],
)
def test_a_value_that_is_accepted(option: str, given_: str, allowed: str, expected: str) -> None:
    """The log's own list first, then the choices in the release's sources; the nearest where one is near."""
    assert expected == told("accepted_value", option, "0.32.0", given=given_, allowed=allowed)


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Load format", "--load-format", "str"), ("block_size", "--block-size", "int"), ("--compilation-config/-O", "--compilation-config", "json"),
        ("--enforce-eager", "--enforce-eager", "switch"), ("model_tag", "", ""), ("whatever it is", "", ""),
    ],
)  # fmt: skip
def test_the_option_that_a_message_means(text: str, name: str, kind: str) -> None:
    assert (name, kind) == (told("option_name", text, "0.32.0"), told("option_kind", text, "0.32.0"))


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("cv2", "opencv-python-headless"), ("pydantic.main", "pydantic"), ("google.protobuf", "protobuf"), ("librosa", "librosa"),
        ("vllm._C", "none"), ("deep_gemm", "none"), ("Ray", "ray"), ("", ""),
    ],
)  # fmt: skip
def test_what_pip_calls_it(module: str, expected: str) -> None:
    """A module's name is not the name of its package."""
    assert expected == COMPUTED["distribution"]({"package": module})


@pytest.mark.parametrize(
    ("line", "command", "expected"),
    [
        ("vllm: error: unrecognized arguments: --max-modle-len 1024", "vllm serve m --max-modle-len 1024 --port 1",
         "vllm serve m --port 1 --max-model-len 1024"),
        ("vllm: error: unrecognized arguments: --swap-space 4", "docker run vllm/vllm-openai --model m --swap-space 4 --port 1",
         "docker run vllm/vllm-openai --model m --port 1"),
        ("vllm: error: unrecognized arguments: --harbour-depth 3", "vllm serve m --harbour-depth 3 --port 1", "vllm serve m --port 1"),
    ],
)  # fmt: skip
def test_the_corrected_command_no_longer_has_the_refused_option(line: str, command: str, expected: str) -> None:
    """What was misspelt is replaced, what is gone is left out, and so is what no release has."""
    report = shared().report(line.encode() + b"\n", Question(command=command))
    assert expected == report.corrected_command
