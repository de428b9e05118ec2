"""What each wording of an error finds fault with: the option, the value, what is accepted; and each correction in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vllm_triage.classifier.complaints import correct
from vllm_triage.classifier.complaints.case import Case, Complaint
from vllm_triage.classifier.complaints.read import read

RELEASE = "0.32.0"


def case(text: str, code: str = "", captures: dict[str, str] | None = None, **arguments: Any) -> Case:
    """Return an error of a start with these arguments."""
    return Case(text, {"arguments": arguments, "vllm_version": RELEASE}, RELEASE, captures, code)


def complaints(text: str, code: str = "", captures: dict[str, str] | None = None, **arguments: Any) -> list[Complaint]:
    """Return what an error finds fault with."""
    return read(case(text, code, captures, **arguments))


def argument(rest: str, names: str = "--max-num-seqs") -> list[Complaint]:
    """Return what argparse's words find fault with."""
    return complaints(f"vllm serve: error: argument {names}: {rest}")


@pytest.mark.parametrize(
    ("rest", "names", "expected"),
    [
        ("invalid choice: 'x' (choose from 'a', 'b')", "--dtype", Complaint("--dtype", "x", ("a", "b"))),
        ('invalid choice: "x" (choose from a, b)', "--dtype", Complaint("--dtype", "x", ("a", "b"))),
        ("invalid choice: x (chose from 'a')", "--dtype", Complaint("--dtype", "x", ("a",))),
        ("ignored explicit argument 'true'", "--enforce-eager", Complaint("--enforce-eager", "true", kind="switch")),
        ("expected one argument", "--dtype", Complaint("--dtype", kind="value")),
        ("expected at least one argument", "--dtype", Complaint("--dtype", kind="value")),
        ("expected 2 arguments", "--dtype", Complaint("--dtype", kind="value")),
        ("not allowed with argument --b", "--dtype", Complaint("--dtype", kind="none")),
        ("invalid int value: '8x'", "--max-num-seqs", Complaint("--max-num-seqs", "8x", kind="int")),
        ("invalid int value: '8x'", "--no-such/-x", Complaint("--no-such", "8x", kind="int")),
        ("invalid float value: '8x'", "-x", Complaint("-x", "8x", kind="float")),
        ("invalid bool value: '8x'", "-x", Complaint("-x", "8x", kind="bool")),
        ("invalid loads value: '8x'", "-x", Complaint("-x", "8x", kind="json")),
        ("invalid parse_dict value: '8x'", "-x", Complaint("-x", "8x", kind="json")),
        ("invalid json_type value: '8x'", "-x", Complaint("-x", "8x", kind="json")),
        ("invalid thing value: '8x'", "-x", Complaint("-x", "8x", kind="thing")),
        ("Value 8x cannot be converted to <class 'int'>.", "--no-such", Complaint("--no-such", "8x", kind="int")),
        ("Value 8x cannot be converted to <function loads at 0x7>.", "--no-such", Complaint("--no-such", "8x", kind="json")),
        ("must be at least 1, got 0", "--max-num-seqs", Complaint("--max-num-seqs", "0", low=1.0)),
    ],
)  # fmt: skip
def test_argparse(rest: str, names: str, expected: Complaint) -> None:
    """By the option's long name; the release's table tells its kind, else the function that read it."""
    assert argument(rest, names) == [expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("must be greater than or equal to 1, got 0", Complaint("--max-num-seqs", "0", low=1.0)),
        ("must be greater than 1, got 0", Complaint("--max-num-seqs", "0", low=1.0, open_low=True)),
        ("must be less than or equal to 9, got 10", Complaint("--max-num-seqs", "10", high=9.0)),
        ("must be less than 9, got 10", Complaint("--max-num-seqs", "10", high=9.0, open_high=True)),
        ("must be >= 1, got 0", Complaint("--max-num-seqs", "0", low=1.0)), ("must be > 1, got 0", Complaint("--max-num-seqs", "0", low=1.0, open_low=True)),
        ("must be <= 9, got 10", Complaint("--max-num-seqs", "10", high=9.0)), ("must be < 9, got 10", Complaint("--max-num-seqs", "10", high=9.0, open_high=True)),
        ("should be at least 1, but is 0", Complaint("--max-num-seqs", "0", low=1.0)), ("should be at most 9, received: 10", Complaint("--max-num-seqs", "10", high=9.0)),
        ("must be positive, got 0", Complaint("--max-num-seqs", "0", low=0.0, open_low=True)), ("must be a positive integer, got -1", Complaint("--max-num-seqs", "-1", low=0.0, open_low=True)),
        ("should be positive, given -1", Complaint("--max-num-seqs", "-1", low=0.0, open_low=True)), ("must be non-negative, got -1", Complaint("--max-num-seqs", "-1", low=0.0)),
        ("must be in [1, 9], got 10", Complaint("--max-num-seqs", "10", low=1.0, high=9.0)),
        ("must be in (1, 9), got 10", Complaint("--max-num-seqs", "10", low=1.0, high=9.0, open_low=True, open_high=True)),
        ("must be in the range (0, 1], got 10", Complaint("--max-num-seqs", "10", low=0.0, high=1.0, open_low=True)),
        ("(=10) is, must be in the interval [0, 1)", Complaint("--max-num-seqs", "10", low=0.0, high=1.0, open_high=True)),
    ],
)  # fmt: skip
def test_bounds(words: str, expected: Complaint) -> None:
    """In words and in signs, open and closed; a number that is reported is none."""
    assert complaints(f"ValueError: max_num_seqs {words}") == [expected]


def test_what_is_reported_is_no_bound() -> None:
    """Only what is demanded."""
    assert complaints("ValueError: Invalid max_num_seqs; the length is greater than 9") == []


@pytest.mark.parametrize(
    "words",
    [
        "Valid options are: a_x, b_x", "Valid modes: a_x, b_x", "valid values are ['a_x', 'b_x']", "Valid choices: {a_x, b_x}", "valid backends: a_x or b_x", "Valid types are (a_x|b_x)",
        "Must be one of ['a_x', 'b_x']", "It should be one of a_x and b_x", "Available options: a_x, b_x", 'available parsers: "a_x", "b_x"', "Available backends are a_x, b_x",
        "Supported values: a_x, b_x", "supported quantization methods: a_x, b_x", "Supported backends are: a_x, b_x", "chose from a_x, b_x", "choose from a_x, b_x",
        "Expected one of a_x, b_x", "It is not one of a_x, b_x", "Allowed values: `a_x`, `b_x`.",
    ],
)  # fmt: skip
def test_lists(words: str) -> None:
    """However what is accepted is introduced and printed."""
    assert complaints(f"ValueError: Unknown dtype: 'c_x'. {words}", dtype="c_x") == [
        Complaint("--dtype", "c_x", ("a_x", "b_x"))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Unknown dtype: c_x.", "Invalid dtype 'c_x'", "unsupported dtype: 'c_x',", "dtype 'c_x' is not supported", "dtype `c_x` not found", 'dtype "c_x" is not available', 'Unsupported dtype: "c_x"; sorry',
    ],
)  # fmt: skip
def test_values_that_are_refused(text: str) -> None:
    """With the option's name before them."""
    assert complaints(f"ValueError: {text}", dtype="c_x") == [Complaint("--dtype", "c_x")]


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("Error: --enable-auto-tool-choice requires --tool-call-parser", {}, Complaint("--enable-auto-tool-choice", "--tool-call-parser", kind="needs")),
        ("Set VLLM_SOME_THING=1-x", {}, Complaint("VLLM_SOME_THING", "1-x", kind="set")),
        *[(f"--a-b and --enable-lora {verb} be {done}", {}, Complaint("--enable-lora", kind="none")) for verb in ("cannot", "can not", "can't", "must not")
          for done in ("enabled", "used", "set", "given", "specified")],
        ("bind(): port must be 0-65535.", {"port": 70000}, Complaint("--port", "70000", low=1, high=65535)),
        ("invalid tool call parser: x_y (chose from { a,b })", {}, Complaint("--tool-call-parser", "x_y", ("a", "b"))),
        ("GPU memory utilization must be less than 1.0. Got 1.5.", {}, Complaint("--gpu-memory-utilization", "1.5", high=1.0, open_high=True)),
        ("GPU memory utilization must be less than 1.0.", {"gpu_memory_utilization": 1.5}, Complaint("--gpu-memory-utilization", "1.5", high=1.0, open_high=True)),
        ("Unknown thing: 'c_x'. Must be one of ['a']", {"load_format": "c_x"}, Complaint("--load-format", "c_x", ("a",))),
        ("Unknown dtype: 'c_x'. Must be one of ['a']", {"load_format": "c_x"}, Complaint("--load-format", "c_x", ("a",))),
        ("Unknown dtype: 'c_x'. Must be one of ['a']", {"load_format": "c_x", "dtype": "auto"}, Complaint("--dtype", "c_x", ("a",))),
        ("Invalid value 'c_x' for VLLM_A_B. Must be one of ['a']", {"load_format": "c_x"}, Complaint("VLLM_A_B", "c_x", ("a",))),
    ],
)  # fmt: skip
def test_sentences_of_vllms_own(text: str, arguments: dict[str, Any], expected: Complaint) -> None:
    """What needs, what is told to be set, what may not stand together; the value tells the option where words do not."""
    assert complaints(f"ValueError: {text}", **arguments) == [expected]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("int(os.getenv('VLLM_A', '0'))", "VLLM_A"), ('int(os.environ.get("VLLM_A"))', "VLLM_A"), ("int(os.environ['VLLM_A'])", "VLLM_A"), ("x = envs.VLLM_A", "VLLM_A"),
        ("os.getenv('OTHER')\nos.getenv('VLLM_A')", "VLLM_A"),
    ],
)  # fmt: skip
def test_variables_in_code(code: str, name: str) -> None:
    """The last that is read."""
    assert complaints("ValueError: invalid literal for int() with base 10: '8x'", code) == [
        Complaint(name, "8x", kind="int")
    ]
    assert complaints("ValueError: could not convert string to float: '8x'", code) == [
        Complaint(name, "8x", kind="float")
    ]
    assert complaints("ValueError: invalid literal for int() with base 10: '8x'") == []


@pytest.mark.parametrize("sign", ["VLLM_A must be x", "VLLM_A=8x", "VLLM_A '8x'"])
def test_variables_in_words(sign: str) -> None:
    """Beside the number that could not be read."""
    assert complaints(f"invalid literal for int() with base 10: '8x': {sign}") == [
        Complaint("VLLM_A", "8x", kind="int")
    ]


def field(path: str, said: str, kind: str, given: str, owner: str = "ModelConfig", **arguments: Any) -> list[Complaint]:
    """Return what one line of pydantic's finds fault with."""
    text = f"1 validation error for {owner}\n{path}\n  {said} [type={kind}, input_value={given}, input_type=str]"
    return complaints(text, **arguments)


@pytest.mark.parametrize(
    ("path", "said", "kind", "given", "expected"),
    [
        ("dtype", "Input should be 'a' or 'b'", "literal_error", "'x'", Complaint("--dtype", "x", ("a", "b"))), ("dtype", "Input should be 'a'", "enum", "'x'", Complaint("--dtype", "x", ("a",))),
        *[("hf_overrides", "bad", kind, "'x'", Complaint("--hf-overrides", "x", kind="json")) for kind in ("dict_type", "model_type", "dataclass_type", "json_invalid", "json_type")],
        ("dtype", "bad", "int_parsing", "'x'", Complaint("--dtype", "x", kind="int")), ("dtype", "bad", "float_type", "x", Complaint("--dtype", "x", kind="float")),
        ("dtype", "bad", "bool_parsing", '"x"', Complaint("--dtype", "x", kind="bool")), ("dtype", "bad", "unexpected_keyword_argument", "1", Complaint("--dtype", "1", kind="key")),
        ("dtype", "bad", "extra_forbidden", "1", Complaint("--dtype", "1", kind="key")), ("dtype", "Input should be greater than 1", "greater_than", "0", Complaint("--dtype", "0", low=1.0, open_low=True)),
        ("hf_overrides.dict[str,any]", "bad", "dict_type", "'x'", Complaint("--hf-overrides", "x", kind="json")), ("hf_overrides.callable", "bad", "dict_type", "'x'", Complaint("--hf-overrides", "x", kind="json")),
        ("hf_overrides.function", "bad", "dict_type", "'x'", Complaint("--hf-overrides", "x", kind="json")),
        ("dtype", "Value error, Unknown dtype: 'x'. Must be one of ['a']", "value_error", "'x'", Complaint("--dtype", "x", ("a",))),
    ],
)  # fmt: skip
def test_fields(path: str, said: str, kind: str, given: str, expected: Complaint) -> None:
    """Lists, types, bounds, sentences."""
    assert field(path, said, kind, given) == [expected]


def test_fields_that_no_option_sets() -> None:
    """Are left alone, and so are words that say nothing."""
    assert field("no_such", "bad", "int_parsing", "'x'") == []
    assert complaints("nothing is wrong with it") == []


def test_a_value_that_is_shown_in_part_is_taken_from_the_command() -> None:
    """Where it was given as a text."""
    assert field("hf_overrides", "bad", "dict_type", "'{a: ...}'", hf_overrides="{a: 1}") == [
        Complaint("--hf-overrides", "{a: 1}", kind="json")
    ]
    assert field("hf_overrides", "bad", "dict_type", "'{a: 1'", hf_overrides="{b: 1}") == [
        Complaint("--hf-overrides", "{a: 1", kind="json")
    ]


def test_what_was_given_goes_before_what_follows_from_it() -> None:
    """Of two fields the one that the command sets."""
    lines = "".join(
        f"{name}\n  bad [type=int_parsing, input_value='x', input_type=str]\n" for name in ("dtype", "max_num_seqs")
    )
    text = f"2 validation errors for ModelConfig\n{lines}"
    assert [item.name for item in complaints(text)] == ["--dtype", "--max-num-seqs"]
    assert [item.name for item in complaints(text, max_num_seqs="x")] == ["--max-num-seqs"]


def test_the_option_that_a_rule_captured() -> None:
    """Where the error holds the value that it was given."""
    captures = {"option": "--max-model-len"}
    assert complaints("It is 4096 long", captures=captures, max_model_len=4096) == [
        Complaint("--max-model-len", "4096")
    ]
    for text in ("It is 40961 long", "It is 4096x long", "It is long"):
        assert complaints(text, captures=captures, max_model_len=4096) == []
    assert complaints("It is True", captures={"option": "--enforce-eager"}, enforce_eager=True) == []


def written(text: str, code: str = "", **arguments: Any) -> tuple[str, str, str, str, str]:
    """Return title, change, reason, option and value of a correction."""
    (made,) = correct(case(text, code, **arguments))
    assert (made.cost, made.restart, made.exact, made.source) == (
        "none",
        True,
        True,
        "the error's own words",
    )
    assert made.verify == "The server's next start gets past this message."
    return made.title, made.change, made.why, made.option, made.value


@pytest.mark.parametrize(
    ("text", "code", "arguments", "expected"),
    [
        ("error: argument --max-num-seqs: invalid int value: '1,024'", "", {},
         ("Give --max-num-seqs 1024: '1,024' is not accepted", "--max-num-seqs 1024", "--max-num-seqs takes a plain number.", "--max-num-seqs", "1024")),
        ("error: argument --swap-space-x: invalid int value: '1,024'", "", {}, None),
        ("error: argument --gpu-memory-utilization: invalid float value: '90%'", "", {},
         ("Give --gpu-memory-utilization 0.9: '90%' is not accepted", "--gpu-memory-utilization 0.9", "--gpu-memory-utilization takes a plain number.",
          "--gpu-memory-utilization", "0.9")),
        ("error: argument --enforce-eager: ignored explicit argument 'yes'", "", {},
         ("Write --enforce-eager alone, without yes", "--enforce-eager", "--enforce-eager is a switch: it takes no value.", "--enforce-eager", "")),
        ("error: argument --enforce-eager: ignored explicit argument 'off'", "", {},
         ("Leave --enforce-eager out", "leave out --enforce-eager=off", "--enforce-eager is a switch: it takes no value.", "--enforce-eager", "")),
        ("error: argument --enforce-eager: ignored explicit argument 'perhaps'", "", {}, None),
        ("error: argument --dtype: invalid choice: 'flaot16' (choose from 'auto', 'float16')", "", {},
         ("Give --dtype float16: 'flaot16' is not accepted", "--dtype float16", "Accepted: auto, float16.", "--dtype", "float16")),
        ("error: argument --dtype: invalid choice: 'int7' (choose from 'auto', 'float16')", "", {},
         ("Leave --dtype out: 'int7' is not accepted", "leave out --dtype int7", "Accepted: auto, float16. vLLM's default is auto.", "--dtype", "")),
        ("error: argument --max-num-seqs: expected one argument", "", {},
         ("Leave --max-num-seqs out, or give it a value", "leave out --max-num-seqs", "", "--max-num-seqs", "")),
        ("error: argument --hf-overrides: invalid loads value: '{a: 1}'", "", {},
         ("Give --hf-overrides {\"a\": 1}: '{a: 1}' is not accepted", "--hf-overrides '{\"a\": 1}'", "--hf-overrides takes JSON: names and texts in double quotes.",
          "--hf-overrides", '{"a": 1}')),
        ("error: argument --max-num-seqs: must be at least 1, got 0", "", {},
         ("Leave --max-num-seqs out: '0' is not accepted", "leave out --max-num-seqs 0", "--max-num-seqs must be at least 1.", "--max-num-seqs", "")),
        ("error: argument --gpu-memory-utilization: must be in (0, 1], got 85", "", {},
         ("Give --gpu-memory-utilization 0.85: '85' is not accepted", "--gpu-memory-utilization 0.85",
          "--gpu-memory-utilization must be above 0 and at most 1. 85 read as per cent.", "--gpu-memory-utilization", "0.85")),
        ("error: argument --gpu-memory-utilization: must be in [0, 1), got 7", "", {},
         ("Give --gpu-memory-utilization 0.92: '7' is not accepted", "--gpu-memory-utilization 0.92",
          "--gpu-memory-utilization must be at least 0 and below 1. This is vLLM's default.", "--gpu-memory-utilization", "0.92")),
        ("error: argument --max-num-seqs: must be at most 9, got 10", "", {},
         ("Give --max-num-seqs 9: '10' is not accepted", "--max-num-seqs 9", "--max-num-seqs must be at most 9.", "--max-num-seqs", "9")),
        ("error: argument --max-num-seqs: must be less than 9, got 10", "", {},
         ("Give --max-num-seqs 8: '10' is not accepted", "--max-num-seqs 8", "--max-num-seqs must be below 9.", "--max-num-seqs", "8")),
        ("invalid literal for int() with base 10: '10,000'", "os.getenv('VLLM_A')", {},
         ("Set VLLM_A to 10000: '10,000' is not accepted", "VLLM_A=10000", "VLLM_A takes a plain number.", "VLLM_A", "10000")),
        ("invalid literal for int() with base 10: 'x'", "os.getenv('VLLM_A')", {}, ("Unset VLLM_A: 'x' is not accepted", "unset VLLM_A", "", "VLLM_A", "")),
        ("invalid literal for int() with base 10: 'x'", "os.getenv('OTHER')", {}, None),
        ("Error: --a-b and --enable-lora cannot be used", "", {},
         ("Leave --enable-lora out", "leave out --enable-lora", "The two exclude each other.", "--enable-lora", "")),
        ("Set VLLM_A=1 please", "", {}, ("Set VLLM_A to 1", "VLLM_A=1", "The message asks for it.", "VLLM_A", "1")),
        ("Set VLLM_ALLOW_A=1 please", "", {}, None),
        ("--enable-lora requires --enforce-eager", "", {},
         ("Give --enforce-eager as well", "--enforce-eager", "--enable-lora needs --enforce-eager beside it.", "--enforce-eager", "")),
        ("--enable-lora requires --trust-remote-code", "", {}, None),
        ("--enable-lora requires --no-such-option", "", {}, None),
        ("--enable-lora requires --scheduling-policy", "", {"enable_lora": True},
         ("Leave --enable-lora out, or give --scheduling-policy as well", "leave out --enable-lora",
          "--enable-lora needs --scheduling-policy beside it. It takes: fcfs, priority.", "--enable-lora", "")),
        ("--enable-lora requires --scheduling-policy", "", {"seed": 1}, None),
    ],
)  # fmt: skip
def test_corrections_in_words(
    text: str, code: str, arguments: dict[str, Any], expected: tuple[str, ...] | None
) -> None:
    """Title, change, reason; nothing where it is not settled, or would take a check away."""
    if expected is None:
        assert correct(case(text, code, **arguments)) == []
    else:
        assert written(text, code, **arguments) == expected


@pytest.mark.parametrize(
    ("given", "title", "change"),
    [
        (
            {"metod": "ngram", "model": "m"},
            "Write the key method in --speculative-config: 'metod' is none",
            '{"model": "m", "method": "ngram"}',
        ),
        ({"metod": "ngram", "method": "m"}, "Leave the key metod out of --speculative-config", '{"method": "m"}'),
    ],
)
def test_keys_of_json(given: dict[str, str], title: str, change: str) -> None:
    """Misspelt, or none of the option's."""
    error = "1 validation error for SpeculativeConfig\nmetod\n  bad [type=unexpected_keyword_argument, input_value='ngram', input_type=str]"
    made = written(error, speculative_config=given)
    assert made[0] == title
    assert made[1] == f"--speculative-config '{change}'   # instead of --speculative-config '{json.dumps(given)}'"
    assert made[2].startswith("--speculative-config knows: attention_backend, ")
    assert made[2].count(",") == 19
    assert correct(case(error, speculative_config={"model": "m"})) == []
    assert correct(case(error)) == []
