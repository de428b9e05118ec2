"""Why fixes are left out, word for word; conditions, slots and sentences of fixes; what a start is tried against."""

from __future__ import annotations

from typing import Any

import pytest

from tests.classifier.advice.test_gate import shown
from tests.fixes import context as situation
from tests.fixes import made as fix
from tests.fixes import tried
from vllm_triage.classifier.advice.sources.cause import advise, generic_cause
from vllm_triage.classifier.command.words import as_word, in_prose
from vllm_triage.classifier.conditions import holds
from vllm_triage.classifier.templates import fill, lookup, sentences
from vllm_triage.corpus.action_text import read_actions
from vllm_triage.corpus.actions import packed
from vllm_triage.corpus.types import Bucket, Cause, Fix


def reason(change: str, kind: str = "flag", *, moves: str = "", tags: tuple[str, ...] = (), **situated: Any) -> str:
    """Return why the gate leaves a fix out; "" where it does not."""
    _, withheld = tried(
        [fix(change, kind, moves=moves, title="this", tags=tags), fix("--seed 7", title="that")], situation(**situated)
    )
    return withheld[0][1] if withheld else ""


@pytest.mark.parametrize(
    ("change", "kind", "moves", "situated", "why"),
    [
        ("--attention-backend TRITON_ATTN", "flag", "", {"platform": "cpu"}, "the backend needs a GPU; this server runs on cpu"),
        ("VLLM_CPU_KVCACHE_SPACE=8", "env", "", {"platform": "cuda"}, "for servers on CPUs; this one runs on cuda"),
        ("--trust-remote-code", "flag", "", {"text": "x"}, "it lowers security, and nothing in the log asks for it"),
        ("pip install -U vllm", "command", "", {"release": "0.33.0"}, "0.33.0 is the newest release that is known"),
        ("--swap-space 4", "flag", "", {}, "vLLM 0.32.0 has no --swap-space"),
        ("VLLM_USE_V1=0", "env", "", {}, "vLLM 0.32.0 has no VLLM_USE_V1"),
        ("unset VLLM_USE_V1", "env", "", {}, "vLLM 0.32.0 has no VLLM_USE_V1"),
        ("--enforce-eager", "flag", "", {"enforce_eager": True}, "it is set so already"),
        ("--dtype half", "flag", "", {"text": "error: argument --dtype: invalid choice: 'half' (choose from 'auto', 'float32')"}, "the error refuses --dtype half"),
        ("--dtype bfloat16", "flag", "", {"text": "error: argument --dtype: invalid choice: 'x' (choose from 'auto', 'float32')"},
         "bfloat16 is not among the values that the error lists"),
        ("--gpu-memory-utilization 0.95", "flag", "up", {"gpu_memory_utilization": 0.97},
         "--gpu-memory-utilization is 0.97 already: as high as it goes, or further than the fix would set it"),
        ("--max-num-seqs 64", "flag", "down", {"max_num_seqs": 1},
         "--max-num-seqs is 1 already: as low as it goes, or further than the fix would set it"),
    ],
)  # fmt: skip
def test_reasons(change: str, kind: str, moves: str, situated: dict[str, Any], why: str) -> None:
    """Each says what speaks against the fix here."""
    assert reason(change, kind, moves=moves, **situated) == why


@pytest.mark.parametrize(("tag", "platform"), [("nvidia", "cuda"), ("amd", "rocm")])
def test_tools_of_one_platform(tag: str, platform: str) -> None:
    """Elsewhere they are of no use; where the log tells no platform they may be."""
    others = [name for name in ("cuda", "rocm", "cpu") if name != platform]
    assert [reason("tool --list", "command", tags=(tag,), platform=name) != "" for name in others] == [True, True]
    assert (
        reason("tool --list", "command", tags=(tag,), platform=platform) == reason("tool", "command", tags=(tag,)) == ""
    )


@pytest.mark.parametrize("backend", ["TRITON_ATTN", "FLASHINFER", "FLASH_ATTN", "XFORMERS", "FLEX_ATTENTION"])
def test_backends_that_need_a_gpu(backend: str) -> None:
    """AMD's are some, but FlashInfer is NVIDIA's."""
    change = f"--attention-backend {backend}"
    on_amd = "" if backend == "FLASHINFER" else change
    assert [shown(change, platform=platform) for platform in ("cpu", "tpu", "rocm", "cuda", "")] == [
        "",
        "",
        on_amd,
        change,
        change,
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *[("--trust-remote-code", words) for words in ("trust-remote-code", "trust_remote_code", "custom code", "remote code", "execute the configuration file", "Execute The Model file")],
        *[("--allow-deprecated-quantization", words) for words in ("allow_deprecated_quantization", "allow-deprecated quantization", "x is deprecated")],
        *[("VLLM_ALLOW_INSECURE_SERIALIZATION=1", words) for words in ("insecure serialization", "pickle", "cannot serialize")],
    ],
)  # fmt: skip
def test_switches_that_lower_security_are_shown_where_a_log_asks_for_them(change: str, words: str) -> None:
    """By its own words."""
    kind = "env" if "=" in change else "flag" if change.startswith("--") else "command"
    assert shown(change, kind, text="nothing of the kind") == ""
    assert shown(change, kind, text=f"It says: {words}.") == change


@pytest.mark.parametrize(
    ("release", "own"),
    [
        ("0.19.1", False), ("0.19.1+cu128", False), ("0.19.1+cpu", False), ("0.19.1+rocm64", False), ("0.19.1+xpu", False), ("0.19.1+gabc", True), ("0.19.1.dev3", True),
        ("0.19.1+cu128.d20250101", True), ("0.19.1+dirty", True), ("", False), ("99.1.0", False), ("0.19.1rc1", False), ("0.6.1b2", False), ("0.19.77", True), ("banana", False),
    ],
)  # fmt: skip
def test_builds_of_ones_own(release: str, own: bool) -> None:
    """Local changes, development versions, numbers that no release has; newer ones than are known may be releases."""
    assert situation(release=release).own_build is own


def test_what_is_said_where_a_build_cannot_be_replaced() -> None:
    """The step, and why."""
    kept, _ = tried([fix("pip install -U vllm", "command")], situation(release="0.19.1+gabc"))
    assert (kept[0].kind, kept[0].change, kept[0].why, kept[0].option, kept[0].exact) == (
        "step",
        "Take the change over where the build comes from (its repository or image) and build it anew",
        "why This build of vLLM is not a release of the registry: pip would put another program in its place.",
        "",
        False,
    )
    kept, _ = tried([fix("uv pip install 'vllm>=0.20'", "command")], situation(release="0.19.1", platform="rocm"))
    assert (kept[0].change, kept[0].why) == (
        "Install a newer build for rocm from where this one came (its wheel index or image)",
        "why The registry's wheel of vLLM is the one for CUDA.",
    )
    kept, _ = tried([fix("pip install -U transformers", "command")], situation(release="0.19.1+gabc"))
    assert kept[0].kind == "command"


def test_what_is_advised_where_nothing_holds() -> None:
    """Once more, with all messages."""
    kept, _ = tried([fix("--enforce-eager")], situation(enforce_eager=True))
    assert (kept[0].title, kept[0].kind, kept[0].change, kept[0].option, kept[0].value, kept[0].rank) == (
        "Start once more with all messages, and read the first error", "env", "VLLM_LOGGING_LEVEL=DEBUG", "VLLM_LOGGING_LEVEL", "DEBUG", 1,
    )  # fmt: skip
    assert (kept[0].restart, kept[0].exact, kept[0].cost, kept[0].verify) == (
        True,
        True,
        "A longer log.",
        "The log holds lines of the level DEBUG.",
    )
    assert kept[0].why == (
        "None of the fixes that are known for this cause holds for this server; what came first says more than what came last."
    )


@pytest.mark.parametrize(
    ("change", "arguments", "is_so"),
    [
        ("--enforce-eager", {"enforce_eager": True}, True), ("--no-enable-prefix-caching", {"enable_prefix_caching": False}, True),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": True}, False), ("--max-num-seqs 64", {"max_num_seqs": "64"}, True),
        ("--max-num-seqs 64", {"max_num_seqs": 64.0}, True), ("--max-num-seqs 64", {"max_num_seqs": True}, False), ("--hf-overrides '{\"a\": 2}'", {"hf_overrides": {"a": 1}}, False),
        ("--hf-overrides x", {"hf_overrides": {"a": 1}}, False), ("--served-model-name a b", {"served_model_name": ["a", "b"]}, True),
        ("--served-model-name a", {"served_model_name": ["a", "b"]}, False), ("--compilation-config.mode 3", {"compilation_config": {"mode": 3}}, False),
        ("--enforce-eager --max-num-seqs 64", {"enforce_eager": True}, False), ("--enforce-eager --max-num-seqs 64", {"enforce_eager": True, "max_num_seqs": 64}, True),
        ("--dtype half", {"dtype": "half"}, True), ("--dtype half", {"dtype": "auto"}, False),
    ],
)  # fmt: skip
def test_what_is_set_so_already(change: str, arguments: dict[str, Any], is_so: bool) -> None:
    """All of it, by value and not by spelling."""
    assert (shown(change, arguments=arguments) == "") is is_so


@pytest.mark.parametrize(
    ("command", "is_so"),
    [
        ("A_B=1 vllm serve x", True), ("docker run -e A_B=1 x", True), ("docker run -e 'A_B=1' x", True), ('A_B="1" vllm serve x', True), ("A_B=10 vllm serve x", False), ("XA_B=1 vllm serve x", False),
        ("vllm serve x", False),
    ],
)  # fmt: skip
def test_variables_that_are_set_so_already(command: str, is_so: bool) -> None:
    """As the command shows them."""
    assert (shown("A_B=1", "env", command=command) == "") is is_so


@pytest.mark.parametrize(
    ("change", "moves", "now", "expected"),
    [
        ("--gpu-memory-utilization 0.85", "down", 0.15, "--gpu-memory-utilization 0.10"), ("--gpu-memory-utilization 0.85", "down", 0.14, ""),
        ("--gpu-memory-utilization 0.9", "up", 0.94, "--gpu-memory-utilization 0.97"), ("--gpu-memory-utilization 0.9", "up", 0.95, ""),
        ("--device-memory-utilization 0.85", "down", 0.5, "--device-memory-utilization 0.45"), ("--max-num-seqs 64", "down", 2, "--max-num-seqs 1"), ("--max-num-seqs 64", "down", 63, "--max-num-seqs 31"),
        ("--max-num-seqs 64", "down", 64, "--max-num-seqs 32"), ("--max-num-seqs 64", "up", 64, "--max-num-seqs 128"), ("--max-num-seqs 64", "up", 63, "--max-num-seqs 64"),
        ("--cpu-offload-gb 4", "up", 4.5, ""),
    ],
)  # fmt: skip
def test_the_next_value_on_the_way(change: str, moves: str, now: float, expected: str) -> None:
    """Double or half, a step of a share; the sentence says what it is now."""
    name = change.split(maxsplit=1)[0][2:].replace("-", "_")
    assert shown(change, moves=moves, arguments={name: now}) == expected
    if expected not in ("", change):
        kept, _ = tried([fix(change, moves=moves)], situation(arguments={name: now}))
        assert kept[0].why == f"why Now it is {now:g}."


@pytest.mark.parametrize(
    ("condition", "facts", "expected"),
    [
        ("a present", {"a": 0}, True), ("a present", {}, False), ("a absent", {}, True), ("a absent", {"a": 0}, False), ("arg:--max-num-seqs present", {"arguments": {"max_num_seqs": 1}}, True),
        ("arg:max_num_seqs present", {"arguments": []}, False), ("a > 1", {}, True), ("a in x, y", {"a": "y"}, True), ("a in x, y", {"a": "z"}, False),
        *[(f"a {sign} 2", {"a": value}, result) for sign, results in {
            "==": (False, True, False), "!=": (True, False, True), "<": (True, False, False), ">": (False, False, True), "<=": (True, True, False), ">=": (False, True, True),
        }.items() for value, result in zip((1, "2.0", 3), results, strict=True)],
        *[(f"a {sign} x", {"a": "x"}, result) for sign, result in {"==": True, "!=": False, "<": False, ">": False, "<=": True, ">=": True}.items()],
        *[(f"a {sign} x", {"a": "y"}, result) for sign, result in {"==": False, "!=": True, "<=": False, ">=": False}.items()],
        ("free_port == 8001", {}, True), ("hub_repository present", {}, False),
    ],
)  # fmt: skip
def test_conditions_of_fixes(condition: str, facts: dict[str, Any], expected: bool) -> None:
    """Numbers are compared as numbers, texts for being the same; what is not known does not exclude."""
    assert holds(condition, facts) is expected


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("a {x} b", ("a 1 b", True)), ("{y}", ("2.5", True)), ("{z}", ("…", False)), ("{z|none}", ("none", True)), ("{z|}", ("", True)), ("{e|none}", ("none", True)), ("{t}", ("…", False)),
        ("{free_port}", ("8001", True)), ("{s}", ("<hf-token>", True)), ("{X}", ("{X}", True)),
    ],
)  # fmt: skip
def test_slots_of_a_text(template: str, filled: tuple[str, bool]) -> None:
    """Values are masked; tables and what is empty are none."""
    values = {"x": 1, "y": 2.50, "e": "", "t": {"a": 1}, "s": "hf_" + "Ab1" * 10}
    assert fill(template, values) == filled
    assert lookup("x", values) == "1"


def test_sentences_whose_values_are_known() -> None:
    """The others are left out."""
    assert (
        sentences(" It has {x}. It has {z}! Has it {y}? None. {x} it is; Yes. ", {"x": 1, "y": 2})
        == "It has 1. Has it 2? None. 1 it is; Yes."
    )


def advice(fix_: Fix, gone: str = "", **facts: Any) -> list[Any]:
    """Return what one fix becomes."""
    return advise(Cause("c", "t", "s", fixes=(fix_,)), facts, {}, None, gone)


def test_what_a_fix_becomes() -> None:
    """Its values, the arithmetic in its reason, and what is missing for it."""
    kind: Any = "flag"
    plain = Fix(
        "T", kind, packed(read_actions("--max-num-seqs {halve_max_num_seqs}", kind)[0]), "Fewer at a time.", "none"
    )
    (made,) = advice(plain, max_num_seqs=64)
    assert (made.change, made.exact, made.why) == ("--max-num-seqs 32", True, "Fewer at a time. Half of 64.")
    lacking = Fix("T", kind, packed(read_actions("--max-model-len {fit_max_model_len|N}", kind)[0]), "Shorter.", "none")
    (made,) = advice(lacking)
    assert (made.change, made.exact) == ("--max-model-len N", False)
    assert made.why == (
        "Shorter. To work the value out takes kv_cache_available_gib and kv_bytes_per_token, which the log does not say "
        "(vllm-triage plan)."
    )
    (made,) = advice(lacking, kv_cache_available_gib=3)
    assert "takes kv_bytes_per_token, which" in made.why


def test_upgrades_name_the_release_without_the_words() -> None:
    """Where vLLM no longer says them."""
    kind: Any = "command"
    for change in ("pip install -U vllm", "pip install -U 'vllm>=1'"):
        (made,) = advice(Fix("T", kind, packed(read_actions(change, kind)[0]), "W.", "none"), gone="0.9.0")
        assert (made.fixed_in, made.why) == ("0.9.0", "W. vLLM no longer says this from 0.9.0 on.")
    (made,) = advice(Fix("T", kind, packed(read_actions("pip install x", kind)[0]), "W.", "none"), gone="0.9.0")
    assert (made.fixed_in, made.why) == ("", "W.")


@pytest.mark.parametrize(
    ("value", "before", "word"),
    [
        ("a/b:c.d-e_f@g%h+i=j,k", "x ", "a/b:c.d-e_f@g%h+i=j,k"), ("~/a", "x ", "~/a"), ("~a", "x ", "'~a'"), ("a b", "x ", "'a b'"), ("é", "x ", "'é'"), ("a\nb", "x ", None), ("a b", "x '", "a b"),
        ("a b", 'x "', "a b"), ("a$b", 'x "', None), ("a`b", "x '", None), ("a'b", 'x "', None), ("a!b", 'x "', None), ("a\\b", 'x "', None), ("a b", "x 'y' ", "'a b'"), ("a b", "x \\' ", "'a b'"),
        ("a b", "x # it's ", "'a b'"), ("a b", "x#'", "a b"), ("a b", "'\\' ", "'a b'"),
    ],
)  # fmt: skip
def test_values_as_words_of_a_command(value: str, before: str, word: str | None) -> None:
    """As they stand, in quotes, or not at all."""
    assert as_word(value, before) == word


@pytest.mark.parametrize("sign", "$`;&|\\")
def test_values_in_a_sentence(sign: str) -> None:
    """Quoted where a shell would do something with them."""
    assert in_prose(f"a{sign}b") == f"'a{sign}b'"
    assert in_prose("a b") == "a b"
    assert in_prose("a\x07") is None


def test_fixes_that_several_causes_share() -> None:
    """Those of more than one cause, else the first; without what destroys; the search for others' reports last."""
    kind: Any = "flag"

    def one(option: str, **keys: Any) -> Fix:
        return Fix(
            f"T {option}", kind, packed(read_actions(f"{option} 1", kind)[0]), "W.", "none", option=option, **keys
        )

    causes = (
        Cause(
            "b/1",
            "t",
            "s",
            fixes=(one("--a"), one("--b"), one("--x", safety="destructive"), one("--y", fixed_in="0.9.0")),
        ),
        Cause("b/2", "t", "s", fixes=(one("--c"), one("--b"), one("--x", safety="destructive"))),
        Cause("b/3", "t", "s", fixes=(one("--d"),)),
    )
    bucket = Bucket(id="b", title="t", meaning="m", causes=causes)
    found = generic_cause(bucket)
    assert [item.option or item.title for item in found.fixes] == ["--b", "Search vLLM's issues for this error"]
    alone = generic_cause(Bucket(id="b", title="t", meaning="m", causes=causes[2:]))
    assert [item.option or item.title for item in alone.fixes] == ["--d", "Search vLLM's issues for this error"]
    assert (found.id, found.title, found.summary) == ("", "", "")
