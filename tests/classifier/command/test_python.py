"""The form for Python: each kind of option as a value of its type; and what the table says of options."""

from __future__ import annotations

from typing import Any

import pytest

from tests.classifier.command.helpers import fix, forms
from vllm_triage.classifier.command.blocks import quoted, read_flow, read_scalar, scalar
from vllm_triage.classifier.command.parts import flag


def python(command: str) -> str:
    """Return the corrected command as Python."""
    return str(forms(command, fix("--seed 7"))["python"])


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        ("--max-num-seqs 64", "max_num_seqs=64"), ("--max-num-seqs=+64", "max_num_seqs=64"), ("--max-num-seqs many", 'max_num_seqs="many"'),
        ("--max-model-len 16k", "max_model_len=16000"), ("--max-model-len 16K", "max_model_len=16384"),
        ("--max-model-len 1m", "max_model_len=1000000"), ("--max-model-len 1M", "max_model_len=1048576"),
        ("--max-model-len 1g", "max_model_len=1000000000"), ("--max-model-len 1G", "max_model_len=1073741824"),
        ("--max-model-len 1t", "max_model_len=1000000000000"), ("--max-model-len 1T", "max_model_len=1099511627776"),
        ("--max-model-len 1.5k", "max_model_len=1500"), ("--max-model-len auto", 'max_model_len="auto"'),
        ("--max-model-len -1", "max_model_len=-1"),
        ("--gpu-memory-utilization 0.9", "gpu_memory_utilization=0.9"), ("--gpu-memory-utilization 1", "gpu_memory_utilization=1.0"),
        ("--gpu-memory-utilization most", 'gpu_memory_utilization="most"'), ("--gpu-memory-utilization nan", 'gpu_memory_utilization=float("nan")'),
        ("--gpu-memory-utilization inf", 'gpu_memory_utilization=float("inf")'),
        ("--gpu-memory-utilization=-inf", 'gpu_memory_utilization=float("-inf")'),
        ("--enforce-eager", "enforce_eager=True"), ("--no-enforce-eager", "enforce_eager=False"),
        ("--dtype half", 'dtype="half"'), ("--tokenizer \"it's\"", "tokenizer=\"it's\""), ("--tokenizer 'a\"b'", "tokenizer='a\"b'"),
        ("--tokenizer $T", 'tokenizer=os.path.expandvars("$T")'),
        ("--hf-overrides '{\"a\": {\"b\": [1, null, true]}}'", 'hf_overrides={"a": {"b": [1, None, True]}}'),
        ("--limit-mm-per-prompt image=4,video=x", 'limit_mm_per_prompt={"image": 4, "video": "x"}'),
        ("--compilation-config.level 3", 'compilation_config={"level": 3}'),
        ("--compilation-config.a.b=x --compilation-config.a.c 1", 'compilation_config={"a": {"b": "x", "c": 1}}'),
        ("--served-model-name x", 'served_model_name="x"'), ("--served-model-name x y", 'served_model_name=["x", "y"]'),
    ],
)  # fmt: skip
def test_values_of_each_type(option: str, argument: str) -> None:
    """Numbers, short forms, switches, texts, variables, JSON, keys behind dots, lists."""
    assert f"\n    {argument},\n" in python(f"vllm serve a/b {option}")


def test_an_option_of_the_server_stands_on_one_line() -> None:
    """As a remark, with any value."""
    shown = python("vllm serve a/b --chat-template 'one\ntwo' --disable-log-requests")
    assert shown.endswith(
        "# Options of the server, not of the engine:\n#   --chat-template 'one two'\n#   --disable-log-requests\n"
    )


def test_nothing_is_imported_that_is_not_needed() -> None:
    """os only for variables."""
    assert python("vllm serve a/b") == 'from vllm import LLM\n\nllm = LLM(\n    model="a/b",\n    seed=7,\n)\n'
    assert python("vllm serve $M").startswith("import os\n\nfrom vllm import LLM\n")
    assert python("A=1 vllm serve a/b").startswith('import os\n\nos.environ["A"] = "1"\n\nfrom vllm import LLM\n')
    assert python("A=${A} vllm serve a/b").startswith("from vllm import LLM\n")


@pytest.mark.parametrize(
    ("name", "long", "kind", "about"),
    [
        ("--max-model-len", "--max-model-len", "int", {"engine"}),
        ("--enforce-eager", "--enforce-eager", "switch", {"switch", "engine"}),
        ("-tp", "--tensor-parallel-size", "int", {"engine"}),
        ("--served-model-name", "--served-model-name", "", {"many", "engine"}),
        ("--hf-overrides", "--hf-overrides", "json", {"engine"}),
        ("--port", "--port", "int", set()),
        ("--disable-log-requests", "--disable-log-requests", "switch", {"switch"}),
        ("--enable-log-requests", "--enable-log-requests", "switch", {"switch"}),
        ("--engine-use-ray", "--engine-use-ray", "switch", {"switch"}),
        ("--max-log-len", "--max-log-len", "int", set()),
    ],
)
def test_what_is_known_of_an_option(name: str, long: str, kind: str, about: set[str]) -> None:
    """By its long name or an alias, in whichever release."""
    found: Any = flag(name)
    told = {word for word in ("switch", "many", "engine") if getattr(found, word)}
    assert (found.known, found.name, told) == (True, long, about)
    assert kind in (found.kind, "" if found.kind == "str" else found.kind)


@pytest.mark.parametrize("name", ["--harbour-depth", "-zz", "--"])
def test_what_no_release_has_is_not_known(name: str) -> None:
    """Nothing is said of it."""
    found = flag(name)
    assert (found.known, found.name, found.switch, found.many, found.kind) == (False, name, False, False, "")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain", "plain"), ("--max-model-len", "--max-model-len"), ("-tp", "-tp"), ("a/b-c.d_e+f@g=h", "a/b-c.d_e+f@g=h"),
        ("a:b", "a:b"), ("vllm/vllm-openai:v0.9", "vllm/vllm-openai:v0.9"), ("a:", '"a:"'), ("1", '"1"'), ("0.9", '"0.9"'), ("", '""'),
        ("true", '"true"'), ("False", '"False"'), ("yes", '"yes"'), ("NO", '"NO"'), ("on", '"on"'), ("off", '"off"'), ("null", '"null"'),
        ("none", '"none"'), ("y", '"y"'), ("n", '"n"'), ("nan", '"nan"'), ("-inf", '"-inf"'), ("~", '"~"'), ("a b", '"a b"'), ("a #b", '"a #b"'),
        ('{"a": 1}', "'{\"a\": 1}'"), ("it's \"x\"", "'it''s \"x\"'"), ("a\nb", '"a\\nb"'), ("a\tb", '"a\\tb"'), ("a\rb", '"a\\rb"'),
        ("a\\b", '"a\\\\b"'), ("é", '"é"'), ('"é"', '"\\"é\\""'), ("\x85", '"\\x85"'), ("\u2028", '"\\u2028"'), ("\ufeff", '"\\ufeff"'),
        ("\U000e0001", '"\\U000e0001"'), ("\x7f", '"\\x7f"'),
    ],
)  # fmt: skip
def test_a_text_as_a_yaml_scalar(value: str, written: str) -> None:
    """Plain where every reader takes it for a text, else in the quotes that need the fewest escapes."""
    assert scalar(value) == written
    assert read_scalar(written) == value
    assert quoted(value) == (written if written[0] in "\"'" else f'"{written}"')


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("  a b  ", "a b"), ("a # remark", "a"), ("a#b", "a#b"), ('"a" # remark', "a"), ("'a''b' # remark", "a'b"), ('"a\\0b"', "a\0b"),
        ('"\\/"', "/"), ('"\\x41\\u0042\\U00000043"', "ABC"), ('"\\Uffffffff"', "\U0010ffff"), ('"a', "a"), ("'a", "a"),
    ],
)  # fmt: skip
def test_scalars_as_people_write_them(text: str, value: str) -> None:
    """Remarks go, escapes are undone, a quote that is not closed ends with the line."""
    assert read_scalar(text) == value


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[a, b]", ["a", "b"]), ("[]", []), ("[a,]", ["a"]), ("[ 'a, b' , \"c]\" ] # x", ["a, b", "c]"]), ("[a\nb, c]", ["a b", "c"]),
        ("[a, [b]]", None), ("[{a: b}]", None), ("[a, b", None), ("[it's]", ["it's"]),
    ],
)  # fmt: skip
def test_lists_between_brackets(text: str, items: list[str] | None) -> None:
    """Scalars alone, and the place behind the closing bracket."""
    found = read_flow(text)
    assert (found[0] if found else None) == items
    if found:
        assert text[: found[1]].endswith("]")
