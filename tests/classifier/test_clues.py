"""What errors tell by their words or places, whichever cause they have."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from vllm_triage import corpus
from vllm_triage.classifier.clues import WORKED_OUT, clues_of
from vllm_triage.corpus import options
from vllm_triage.corpus.actions import DropOption, DropVariable, SetOption, SetVariable
from vllm_triage.corpus.clues import TABLES as NAMES
from vllm_triage.corpus.clues import Clue, Clues, read_clues
from vllm_triage.corpus.places import CorpusError

FOLDER = Path(next(iter(corpus.__path__)))
TABLES = [FOLDER / name for name in NAMES]
ROWS = [row for path in TABLES for rows in tomllib.loads(path.read_text(encoding="utf-8")).values() for row in rows]
CLUES = Clues([row for path in TABLES for row in read_clues(path)])
STACK = "vllm/v1/engine/core.py:run: x\n{frame}: run()\ntorch/nn/modules/module.py:_call_impl: y"


def _first(error: str, **more: str) -> Clue | None:
    return next((found.clue for found in clues_of(CLUES, error, **more)), None)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        pytest.param(row, text, id=f"{row['id']}-{at}")
        for row in ROWS
        for at, text in enumerate(row.get("examples", ()))
    ],
)
def test_each_row_explains_its_examples(row: dict[str, str], text: str) -> None:
    """And no row before it does; nothing is left to fill in."""
    found = next(iter(clues_of(CLUES, text, all_words=text)))
    assert found.clue.id == row["id"]
    slots = set(re.findall(r"\{(\w+)\}", " ".join((found.clue.says, *(fix.title for fix in found.clue.fixes)))))
    assert slots <= found.values.keys() | {"where", "why", "graphs", "distribution"}


def test_there_are_rows_enough_with_slots_that_can_be_filled() -> None:
    """More than a hundred idioms with two examples each; slots are groups of the words, or worked out."""
    idioms = [row for row in ROWS if "name" not in row]
    assert len(idioms) >= 100
    for row in idioms:
        both = row.get("words", ""), row.get("log", "")
        groups = {name for text in both for name in re.compile(text).groupindex} | WORKED_OUT.keys() | {"vllm_version"}
        slots = set(
            re.findall(
                r"\{(\w+)[|}]", " ".join((row["says"], row.get("do", ""), row.get("title", ""), row.get("then", "")))
            )
        )
        assert slots <= groups, row["id"]
        assert len(row.get("examples", ("", ""))) >= 2, row["id"]


def test_components_name_options_and_variables_that_a_release_has() -> None:
    """Whatever a lever sets or leaves out, some release knows."""
    for clue in CLUES:
        if clue.kind != "component":
            continue
        for fix in clue.fixes:
            for action in fix.actions:
                if isinstance(action, (SetOption, DropOption)) or (
                    isinstance(action, (SetVariable, DropVariable)) and action.name.startswith("VLLM_")
                ):
                    known = any(
                        options.exists(action.name.partition(".")[0], release) for release in options.releases()
                    )
                    assert known, (clue.id, action.name)


@pytest.mark.parametrize(
    ("frame", "component"),
    [
        ("vllm/distributed/device_communicators/custom_all_reduce.py:register", "custom_all_reduce"),
        ("deep_gemm/jit/compiler.py:build", "deep_gemm"),
        ("vllm/v1/kv_offload/worker/cpu_gpu.py:transfer", "offload"),
        ("vllm/lora/layers/base.py:apply", "lora"),
        ("aiter/ops/mha.py:fwd", "aiter"),
        ("vllm/multimodal/cache.py:get", "media_cache"),
        ("vllm/v1/attention/backends/flashinfer.py:forward", "flashinfer_attention"),
    ],
)
def test_the_place_tells_the_component(frame: str, component: str) -> None:
    """Whatever the words are."""
    found = _first("RuntimeError: acme failed", stack=STACK.format(frame=frame))
    assert found is not None
    assert found.id == component


def test_the_innermost_component_counts() -> None:
    """What it was called by works."""
    stack = "vllm/lora/layers/base.py:apply: x\ndeep_gemm/ops.py:gemm: y"
    found = _first("RuntimeError: acme failed", stack=stack)
    assert found is not None
    assert found.id == "deep_gemm"


@pytest.mark.parametrize("error", ["ImportError: cannot import name 'acme'", "RuntimeError: CUDA out of memory. Tried"])
def test_the_place_of_imports_and_allocations_tells_nothing(error: str) -> None:
    """Whoever imported or allocated last is not at fault."""
    found = clues_of(CLUES, error, stack=STACK.format(frame="vllm/lora/layers/base.py:apply"))
    assert "component" not in {each.clue.kind for each in found}


def test_an_error_that_tells_of_another_gives_way_to_what_stands_around_it() -> None:
    """The first error is the cause."""
    alone = clues_of(CLUES, "RuntimeError: Engine core initialization failed. See root cause above.")
    assert [each.clue.id for each in alone] == ["first_error_is_above"]
    found = clues_of(
        CLUES,
        "RuntimeError: Engine core initialization failed. See root cause above.",
        around="ModuleNotFoundError: No module named 'yaml'",
    )
    assert (found[0].clue.id, found[0].around) == ("module_missing", True)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", "package", "pyyaml"),
        ("ImportError: cannot import name 'override' from 'typing' (x)", "floor", "3.12"),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4096 and 2048x9)", "ratio", ", exactly 2 times apart: two ranks, or two 4-bit weights in a byte"),
        ("worker exited with code -11", "signal", "signal 11, SIGSEGV (a fault in native code)"),
        ("ImportError: Numba needs NumPy 2.2 or less. Got NumPy 2.4.", "beyond", "2.3"),
        ("HTTPError: 403 Client Error: Forbidden for url: https://example.com", "status_means", "the token may not do that"),
        ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: x", "magic", ", as gzip has it"),
    ],
)  # fmt: skip
def test_what_follows_from_the_values_is_worked_out(text: str, name: str, value: str) -> None:
    """Packages, floors, ratios, signals, the version behind the last allowed one, kinds of files."""
    assert clues_of(CLUES, text)[0].values[name] == value


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ('says = "x"\nwords = "a"\ndo = "Look"', "missing id"),
        ('id = "a"\nsays = "x"\ndo = "Look"', "needs words or frames"),
        ('id = "a"\nsays = "x"\nwords = "a"', "says nothing to do"),
        ('id = "a"\nsays = "x"\nwords = "("\ndo = "Look"', "no regular expression"),
        ('id = "a"\nsays = "x"\nwords = "a"\ndo = "Look"\ncolour = "red"', "unknown key 'colour'"),
    ],
)
def test_a_row_that_breaks_the_format_is_refused(row: str, wrong: str, tmp_path: Path) -> None:
    """With words that say why."""
    path = tmp_path / "idioms.toml"
    path.write_text(f"[[idiom]]\n{row}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=wrong):
        read_clues(path)
