"""vLLM's options by release, and the fixes held against them: no advice names an option that the release lacks."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.facts.versions import in_range
from vllm_triage.corpus import options
from vllm_triage.corpus.schema import levers

BUCKETS = sorted((Path(options.FOLDER).parent / "buckets").glob("*.toml"))
FLAG = re.compile(r"(?<![\w/.=-])--[A-Za-z][\w.-]*\w")
SHELL_VARIABLE = re.compile(r"(?<![\w$./-])([A-Z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?==(\S*))")
JSON_VALUE = re.compile(r"(--[\w-]+) '(\{.*?\})'(?:\s|$)")
PLAIN_VALUE = re.compile(r"^(--[\w-]+) ([\w.-]+)(?=$| {2,}| --)")


def fixes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every fix of the corpus, with its bucket, cause and place."""
    for path in BUCKETS:
        for cause in tomllib.loads(path.read_text(encoding="utf-8")).get("cause", ()):
            for place, fix in enumerate(cause.get("fix", ()), 1):
                yield f"{path.stem}/{cause['id']}-{place}", {**levers().get(fix.get("lever", ""), {}), **fix}


def names_in(fix: dict[str, Any]) -> set[str]:
    """Return the options that a fix tells to set: its own, those beside it, and those of a start command in it."""
    change = fix["change"]
    names = {found[0] for found in SHELL_VARIABLE.findall(change)}
    if fix["kind"] in ("flag", "env"):
        # `{meant_option}` is worked out for the release (tests/classifier/values/test_options.py).
        names |= {name for name in (fix["option"],) if not name.startswith("{")} | {
            *(FLAG.findall(change) if fix["kind"] == "flag" else ())
        }
    for command in re.findall(r"vllm serve ([^\n|#]*)", change):
        names |= set(FLAG.findall(command))
    # `{option|--OPTION}` and the like stand for what the log named.
    return {name for name in names if name not in re.findall(r"\{\w+\|([^}]*)\}", change)}


def covered(fix: dict[str, Any]) -> list[str]:
    """Return the releases for which the fix is shown, by the comparison that the advice itself makes."""
    return [version for version in options.releases() if in_range(version, fix.get("versions", "")) is not False]


def test_every_option_of_a_fix_exists_in_every_release_it_is_shown_for() -> None:
    """All fixes × all releases of their range: flags and variables, of vLLM or of a named other owner."""
    assert [
        (place, name, version)
        for place, fix in fixes()
        for name in sorted(names_in(fix))
        for version in covered(fix)
        if not options.exists(name, version) and not abbreviated(fix, name, version)
    ] == []


def abbreviated(fix: dict[str, Any], name: str, version: str) -> bool:
    """Return whether a fix takes out what argparse reads as the beginning of another of its options in that release."""
    others = FLAG.findall(fix["change"]) if fix["change"].startswith("leave out ") else ()
    return any(other != name and other.startswith(name) and options.exists(other, version) for other in others)


def test_every_value_of_a_fix_is_one_that_the_release_takes() -> None:
    """JSON only where JSON is parsed, with keys that are declared; of fixed choices only one that is there."""
    settings = [(place, fix) for place, fix in fixes() if fix["kind"] in ("flag", "env")]
    assert {place: wrong for place, fix in settings if (wrong := refused_values(fix))} == {}


def refused_values(fix: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return release, option and value of what a fix would set in vain."""
    wrong: list[tuple[str, ...]] = []
    for version in covered(fix):
        for name, text in JSON_VALUE.findall(fix["change"]):
            option = options.describe(name, version)
            if option is None or option.kind != "json":
                wrong.append((version, name, "takes no JSON"))
            keys = [] if "VALUE" in text else json.loads(text)
            wrong += [(version, name, key) for key in keys if not options.exists(f"{name}.{key}", version)]
        for name, value in [*PLAIN_VALUE.findall(fix["change"]), *SHELL_VARIABLE.findall(fix["change"])]:
            option = options.describe(name, version)
            # What is put in by the person or by the advice is not held against the choices.
            if (
                option is not None
                and option.choices
                and re.fullmatch(r"[A-Z0-9_]{3,}|[a-z0-9_]+", value)
                and value != "NAME"
            ):
                wrong += [] if value in map(str, option.choices) else [(version, name, value)]
    return wrong


def test_every_fix_for_a_flag_or_variable_covers_at_least_one_release() -> None:
    """A range that no release lies in is a slip of the pen."""
    assert [place for place, fix in fixes() if not covered(fix)] == []


# The table


def test_releases_are_final_ones_in_order_since_0_5_2() -> None:
    """Pre-releases are left out, post releases are in, 0.10 follows 0.9."""
    found = options.releases()
    assert found[0] == "0.5.2"
    assert {"0.8.5.post1", "0.10.1.1", "0.33.0"} <= set(found)
    assert sorted(found, key=lambda version: options.version_key(version) or ()) == list(found)
    assert [version for version in found if re.search("rc|dev|a|b", version)] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("--max-model-len", ">=0.5.2"),
        ("--max_model_len=4096", ">=0.5.2"),
        ("-tp", ">=0.5.2"),
        ("--speculative-config", ">=0.8.2"),
        ("--speculative-model", ">=0.5.2,<0.8.3"),
        ("--guided-decoding-backend", ">=0.5.2,<0.12.0"),
        ("--structured-outputs-config", ">=0.11.0"),
        ("--no-enable-prefix-caching", ">=0.6.5"),
        ("--compilation-config.cudagraph_mode", ">=0.10.1"),
        ("-O3", ">=0.6.5"),
        ("VLLM_USE_V1", ">=0.6.4,<0.11.1"),
        ("VLLM_ATTENTION_BACKEND", ">=0.5.2,<0.15.0"),
        ("VLLM_ROCM_USE_AITER_FP4_ASM_GEMM", ">=0.11.0,<0.29.0 or >=0.31.0,<0.33.0"),
        ("swap_space", ">=0.5.2,<0.18.0"),
        ("vllm:gpu_cache_usage_perc", ">=0.5.2,<0.12.0"),
        ("vllm:kv_cache_usage_perc", ">=0.9.2"),
        ("--no-such-option", ""),
        ("VLLM_WORKER_TIMEOUT", ""),
    ],
)
def test_the_lifetime_of_an_option_is_told_as_a_range(name: str, expected: str) -> None:
    """First and last release, in the form that fixes use; empty for what never was."""
    assert options.lifetime(name) == expected


@pytest.mark.parametrize(
    ("version", "same_as"),
    [
        ("0.10.2+cu128", "0.10.2"),
        ("v0.10.2", "0.10.2"),
        ("0.8.5.dev12+g1234abc", "0.8.4"),
        ("0.12.0rc2", "0.12.0"),
        ("0.9.2.post7", "0.9.2"),
        ("0.34.1", "0.33.0"),
        ("0.11.0.rocm700", "0.11.0"),
    ],
)
def test_other_builds_count_as_the_nearest_release_below(version: str, same_as: str) -> None:
    """Local versions, forks, development builds and newer releases have the options of a release."""
    names = [
        "--attention-backend",
        "--structured-outputs-config",
        "VLLM_USE_V1",
        "--swap-space",
        "--speculative-config",
    ]
    assert [options.exists(name, version) for name in names] == [options.exists(name, same_as) for name in names]


@pytest.mark.parametrize("version", ["", "unknown", "0.4.3", "0.1.dev3151+g31c7178", "main"])
def test_a_version_that_is_not_covered_is_answered_with_none(version: str) -> None:
    """Not knowing is not the same as not there."""
    assert options.exists("--max-model-len", version) is None
    assert options.nearest("--max-model-len", version) is None
    assert options.describe("--max-model-len", version) is None


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_name_and_no_version_is_too_odd_to_be_asked_for(name: str, version: str) -> None:
    """Names come out of logs: whatever they hold, there is an answer."""
    assert options.exists(name, version) in (True, False, None)
    assert isinstance(options.lifetime(name), str)


@given(st.sampled_from(options.releases()), st.data())
def test_what_is_proposed_exists_in_that_release(version: str, data: st.DataObject) -> None:
    """``nearest`` never names an option that the release lacks, for any option of any release."""
    table = json.loads(Path(options.TABLE).read_text(encoding="utf-8"))
    section = data.draw(st.sampled_from(["flags", "variables", "arguments", "metrics"]))
    name = data.draw(st.sampled_from(sorted(table[section])))
    found = options.nearest(name, version)
    assert found is None or options.exists(found, version)


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("--max-model-len", "0.9.0", "--max-model-len"),
        ("--speculative-model", "0.9.2", "--speculative-config"),
        ("--speculative-config", "0.7.0", "--speculative-model"),
        ("--guided-decoding-backend", "0.12.0", "--structured-outputs-config"),
        ("--structured-outputs-config", "0.10.0", "--guided-decoding-backend"),
        ("VLLM_ATTENTION_BACKEND", "0.20.0", "--attention-backend"),
        ("--attention-backend", "0.9.2", "VLLM_ATTENTION_BACKEND"),
        ("--swap-space", "0.20.0", None),
        ("VLLM_USE_V1", "0.19.0", None),
        ("vllm:gpu_cache_usage_perc", "0.19.0", "vllm:kv_cache_usage_perc"),
        ("vllm:gpu_prefix_cache_hits", "0.19.0", "vllm:prefix_cache_hits_total"),
        ("--max-modle-len", "0.9.0", "--max-model-len"),
        ("--gpu-memory-utilisation", "0.9.0", "--gpu-memory-utilization"),
        ("VLLM_ATTENTION_BACKND", "0.20.0", "--attention-backend"),
        ("max_model_length", "0.33.0", "max_model_len"),
        ("VLLM_WORKER_TIMEOUT", "0.19.0", None),
    ],
)
def test_a_renamed_or_misspelt_option_leads_to_one_that_works(name: str, version: str, expected: str | None) -> None:
    """Successors and predecessors before spelling; nothing rather than something else."""
    assert options.nearest(name, version) == expected


def test_an_option_is_described_as_its_release_has_it() -> None:
    """Choices, default, aliases and keys are those of the version that is asked for."""
    older, newer = options.describe("--kv-cache-dtype", "0.6.0"), options.describe("--kv-cache-dtype", "0.11.1")
    assert older is not None
    assert newer is not None
    assert older.choices == ("auto", "fp8", "fp8_e5m2", "fp8_e4m3")
    assert "bfloat16" in newer.choices
    utilization = options.describe("--device-memory-utilization", "0.33.0")
    assert utilization is not None
    assert (utilization.name, utilization.default, utilization.kind) == ("--gpu-memory-utilization", 0.92, "float")


def test_variables_of_other_owners_exist_whatever_the_version() -> None:
    """HF_TOKEN is no option of vLLM, and advice may name it all the same."""
    assert options.exists("HF_TOKEN", "0.5.2") is True
    owners = [options.owner(name) for name in ("HF_TOKEN", "VLLM_PORT", "VLLM_GPU_MEMORY")]
    assert owners == ["huggingface_hub", "vllm", ""]


# What is kept by hand


def known() -> dict[str, Any]:
    """Return the file that is kept by hand."""
    found: dict[str, Any] = json.loads(Path(options.KNOWN).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(known()["successors"]))
def test_a_successor_is_an_option_and_takes_over_before_or_when_the_old_one_goes(name: str) -> None:
    """Both stand in the table, the old one is gone today, and the reason and its place in the sources are given."""
    entry = known()["successors"][name]
    assert set(entry) - {"one_way"} == {"new", "note", "source"}
    assert entry["note"].endswith(".")
    assert re.search(r"\w+\.py \d", entry["source"])
    assert options.exists(name, options.releases()[-1]) is False
    if entry["new"]:
        assert options.lifetime(entry["new"])
        assert options.nearest(name, options.releases()[-1]) == entry["new"] or entry["new"] in known()["successors"]


def test_no_variable_of_another_owner_carries_vllms_name() -> None:
    """What begins with VLLM_ is vLLM's own, and the table knows it or nobody does."""
    assert [name for name in known()["others"] if name.startswith("VLLM_")] == []
    assert [owner for owner in known()["others"].values() if not owner] == []


def test_the_table_stays_small_enough_to_ship() -> None:
    """It goes into the wheel and is read whole."""
    assert Path(options.TABLE).stat().st_size < 400_000


def test_a_flag_is_found_by_each_of_its_names():
    """Short ones, and long ones that a release added."""
    found = {name: options.flag_of(name) for name in ("-tp", "--device-memory-utilization", "--gpu-memory-utilization")}

    assert ["--tensor-parallel-size", *["--gpu-memory-utilization"] * 2] == [flag[0] for flag in found.values() if flag]
    assert options.flag_of("--nobodys-flag") is None
    assert [True, False] == [options.is_engine_argument(name) for name in ("max_model_len", "port_of_nobody")]
