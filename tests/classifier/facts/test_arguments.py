"""Arguments as logs hold them: tables, calls, command lines, lists; what is prose or a secret tells nothing."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_triage.classifier.facts import arguments
from vllm_triage.classifier.facts.book import ARGUMENT_FACTS, FactBook
from vllm_triage.classifier.facts.defaults import given, namespace
from vllm_triage.classifier.facts.types import GIVEN


def command(text: str) -> dict[str, object]:
    """Return what a command line gives, by name."""
    return dict(arguments.command_arguments(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vllm serve a/b", {"model": "a/b"}), ("vllm serve llama --port 1", {"model": "llama", "port": 1}), ("vllm serve llama", {"model": "llama"}),
        ("vllm serve llama now", {}), ("vllm serve m1 now", {"model": "m1"}), ("vllm serve my_model now", {"model": "my_model"}),
        ("vllm serve v.x now", {"model": "v.x"}), ("vllm serve x-y now", {"model": "x-y"}), ("vllm serve", {}), ("vllm serve --port 1", {"port": 1}),
        ("vllm serve a/b, then", {}), ("vllm serve a/b: x", {}), ("vllm serve 'a/b;' x", {}), ("vllm serve <model>", {}), ("vllm serve [x]", {}),
        ("vllm serve (x)", {}), ("vllm serve $M", {}), ("vllm serve `x`", {}),
        *[(f"vllm serve {word}", {}) for word in (
            "on", "in", "with", "and", "or", "command", "is", "to", "the", "a", "an", "for", "using", "as", "from", "by", "via", "at",
            "server", "process", "api", "it", "The",
        )],
        ("-tp 2 -pp 3 -dp 4 -q awq -n 5",
         {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "data_parallel_size": 4, "quantization": "awq", "nnodes": 5}),
        ("-tp=2", {"tensor_parallel_size": 2}), ("-tp", {}), ("-tp=", {}), ("--tp-size 2 --dp_size=3", {"tensor_parallel_size": 2, "data_parallel_size": 3}),
        ("--model-tag a/b", {"model": "a/b"}), ("--enforce-eager", {"enforce_eager": True}), ("--enforce-eager --port 1", {"enforce_eager": True, "port": 1}),
        ("--enforce-eager -tp 2", {"enforce_eager": True, "tensor_parallel_size": 2}), ("--port=1", {"port": 1}), ("--seed -1", {"seed": -1}),
        ("--x 0.5", {"x": 0.5}), ("--x 1e5", {"x": "1e5"}), ("--x 12345678901234567890", {"x": "12345678901234567890"}),
        ("--x 1234567890123456789", {"x": 1234567890123456789}), ("--", {}), ("--9x 1", {}), ("--X 1", {}), ("word --port 1", {"port": 1}),
        ("--port $P", {}), ("--port <port>", {}), ("--port {{port}}", {}), ("--x {a}", {"x": "{a}"}), ("--x 'a $b'", {}),
        *[(f"--{name} x --port 1", {"port": 1}) for name in ("api-key", "hf-token", "api-keys", "token", "password")],
        *[(f"--port 1 {sign} --seed 2", {"port": 1}) for sign in
          ("&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1", "2>", "1>", "&>", "|&", ">log", "2>log", "#", "#x")],
        *[(f"--enforce-eager {sign} x", {"enforce_eager": True}) for sign in
          ("&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1", "2>", "1>", "&>", "|&")],
        ("--port 1 \\\\ --seed 2", {"port": 1}), ("--x 'a b' --y \"c d\"", {"x": "a b", "y": "c d"}), ("--x 'a b", {"x": "'a"}),
    ],
)  # fmt: skip
def test_command_lines(text: str, found: dict[str, object]) -> None:
    """A shell's operators end them; words of prose are no model; variables and places to fill in are no values."""
    assert command(text) == found


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a b > log", "a b"), ("a b >> log", "a b"), ("a b 2>&1 | tee log", "a b"), ("a b 2> log", "a b"), ("a b 1>log", "a b"), ("a b &> log", "a b"),
        ("a b && c", "a b"), ("a b || c", "a b"), ("a b | c", "a b"), ("a b &", "a b"), ("a b < in", "a b"), ("a b; c", "a b"), ("a b;", "a b"),
        ("a b ; c", "a b"), ("a b ", "a b"), ("a b`", "a b"), ("a b \\", "a b"), ("a 'b')`", "a 'b')"), ("a b'", "a b"), ('a b").', "a b"), ("a b', ", "a b"),
        ("a b'}]", "a b"), ("a x>y", "a x>y"), ("a>b", "a>b"), ("a b # two GPUs", "a b"), ("a b#c #d", "a b#c #d"),
    ],
)  # fmt: skip
def test_what_a_shell_does_behind_a_command_is_cut_off(text: str, cut: str) -> None:
    """And a quotation or a bracket that the sentence around it closes."""
    assert arguments.cut_command(text) == cut


@pytest.mark.parametrize(
    ("before", "front"),
    [
        ("x docker run -it ", "docker run -it "), ("podman run ", "podman run "), ("A=1 nerdctl run img ", "A=1 nerdctl run img "),
        ("sudo env A=1 ", "sudo env A=1 "), ("docker build ", ""), ("A=1 x ", ""), ("A='1' ", ""), ('A="1" ', ""), ("A=`x` ", ""), ("1A=x ", ""),
        ("_A=x", "_A=x "), ("ExecStart=/opt/venv/bin/", ""), ("A=1 /opt/venv/bin/", "A=1 "),
    ],
)  # fmt: skip
def test_what_stands_in_front_of_a_command(before: str, front: str) -> None:
    """Plain assignments, sudo, env, and a container engine with its options."""
    assert arguments.front_of(before) == front


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("args: ['vllm', 'serve', 'x']", ["vllm", "serve", "x"]), ('["--port", 8001, 0.5]', ["--port", "8001", "0.5"]), ("['x']", []),
        ("[a, b] ['c', 'd']", ["c", "d"]), ("['a', ['b']]", []), ("[", []), ("['a', 'b'", []), ("no list", []), ("[']', 'b']", ["]", "b"]),
        ("[] ['a', \"b]\"]", ["a", "b]"]),
    ],
)  # fmt: skip
def test_printed_lists(text: str, words: list[str]) -> None:
    """The first that is a list of two words or more."""
    assert arguments.listed_words(text) == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': 1, 'model_tag': 'm'}", {"a": 1, "model": "m"}), ("{'a': X(b=1), 'c': [1, 2], 'd': 'e,f'}", {"a": "X(b=1)", "c": [1, 2], "d": "e,f"}),
        ("{'a': 1, 'b': 2", {"a": 1}), ("{'a': X, 'a': 2, 'b': 3,", {"a": "X", "b": 3}), ("{'a': X, 'B': 1, '9': 2, 'c': 3}", {"a": "X", "c": 3}),
        ("{\"tp_size\": X, 'dp_size': 2}", {"tensor_parallel_size": "X", "data_parallel_size": 2}), ("{'a': 'x\\'}, y', 'b': Y}", {"a": "x'}, y", "b": "Y"}),
        ("{'a': X} 'b': 1}", {"a": "X"}), ("nothing", {}), ("{'a', 'b': X}", {"b": "X"}),
    ],
)  # fmt: skip
def test_printed_tables(text: str, found: dict[str, object]) -> None:
    """Whole, with objects among the values, or cut short: then the last item is left out."""
    assert arguments.table(text) == found


def test_a_long_value_is_cut() -> None:
    """Of a nested object the first 600 characters are kept."""
    found = arguments.table("{'a': X(" + "y" * 700 + "), 'b': Z}")
    assert (len(str(found["a"])), found["b"]) == (600, "Z")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("model='a/b', port=1)", {"model": "a/b", "port": 1}), ('"a/b", seed=-1, xy=0.5)', {"model": "a/b", "seed": -1, "xy": 0.5}),
        ("'a/b', model='c/d'", {"model": "c/d"}), ("seed=SEED, on=True, off=False)", {"on": True, "off": False}), ("xy=1_000)", {"xy": 1000}),
        ("aa='x', aa='y'", {"aa": "x"}), ("'a'", {}), ("xx = 3, yy=4x", {"xx": 3}), ("xx=5", {"xx": 5}), ("x=5", {}),
    ],
)  # fmt: skip
def test_printed_calls(text: str, found: dict[str, object]) -> None:
    """Plain values alone; the first argument is the model."""
    assert arguments.call(text) == found


def test_printed_pairs() -> None:
    """As the banner and a Namespace print them."""
    assert arguments.pairs("a='x, y', b=[1, 2], c={'d': 1}, e=None, f=\"g\"") == [
        ("a", "x, y"), ("b", "[1, 2]"), ("c", "{'d': 1}"), ("e", "None"), ("f", "g"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "model", "dtype", "quantization", "max_model_len", "gpu_memory_utilization", "kv_cache_dtype", "max_num_seqs", "enforce_eager",
        "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "port", "host", "served_model_name", "tokenizer",
        "trust_remote_code", "max_num_batched_tokens", "speculative_config", "enable_lora", "attention_backend", "load_format",
        "cpu_offload_gb", "swap_space",
    ],
)  # fmt: skip
def test_arguments_that_are_facts(name: str) -> None:
    """What was given counts where nothing better is told; another start without a beginning of its own has them too."""
    assert name in ARGUMENT_FACTS
    book = FactBook()
    book.argument(name, 1)
    assert book.facts()[name] in (1, 1.0, True)
    assert book.facts()["arguments"] == {name: 1}
    heir = FactBook()
    book.set(name, 1, GIVEN)
    heir.inherit(book)
    assert heir.value(name) in (1, 1.0, True)


@pytest.mark.parametrize(
    "name",
    [
        "vllm_version", "engine", "platform", "architecture", "torch_version", "cuda_version", "driver_version", "gpu_name", "gpu_count",
    ],
)  # fmt: skip
def test_what_a_restart_has_of_the_start_before(name: str) -> None:
    """Machine and release; measured memory is each start's own."""
    book = FactBook()
    book.set(name, "1")
    book.set("weights_gib", 3)
    book.argument("port", 1)
    book.started_by("vllm serve x")
    book.started_by("vllm serve y")
    heir = FactBook()
    heir.inherit(book)
    assert str(heir.value(name)) == "1"
    assert heir.value("weights_gib") is None
    assert (heir.facts()["command"], heir.facts()["arguments"]) == ("vllm serve x", {"port": 1})


def test_what_is_given_twice() -> None:
    """The first source counts, or one that lists what was given; secrets are noted, not kept."""
    book = FactBook()
    book.argument("port", 1)
    book.argument("port", 2)
    book.argument("seed", None)
    for name in ("api_key", "hf_token", "api_keys", "token", "password"):
        book.argument(name, "x")
    book.argument("served_model_name", ["a", "b"])
    book.argument("speculative_config", {"method": "x"})
    found: dict[str, Any] = dict(book.facts())
    assert (found["port"], found["served_model_name"], "speculative_config" in found, "seed" in found) == (
        1,
        "a",
        False,
        False,
    )
    assert [found["arguments"][name] for name in ("api_key", "hf_token", "api_keys", "token", "password")] == [
        "<secret>"
    ] * 5
    book.argument("port", 3, better=True)
    assert book.facts()["arguments"] == found["arguments"] | {"port": 3}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1, b='x', c=None)", {"a": 1, "b": "x", "c": None}), ("a=1, b=[1, 2", {"a": 1}), ("a=<Enum.X: 'y'>, b=2)", {"a": "y", "b": 2}),
        ("a=X(b=1), c={'d': 1})", {"a": "X(b=1)", "c": {"d": 1}}), ("A=1, b=2)", {"b": 2}), (" a= 1 )", {"a": 1}),
    ],
)  # fmt: skip
def test_a_printed_namespace(text: str, found: dict[str, object]) -> None:
    """Enums by their value; what is cut short is left out."""
    assert namespace(text) == found


@pytest.mark.parametrize(
    ("told", "version", "found"),
    [
        ({"model_tag": "a/b", "model": "facebook/opt-125m"}, "0.8.5", {"model": "a/b"}), ({"model": "a/b"}, "", {"model": "a/b"}),
        ({"port": 8000, "max_num_seqs": 64}, "0.7.3", {"max_num_seqs": 64}), ({"port": 8001}, "0.7.3", {"port": 8001}),
        *[({name: "x"}, "0.8.5", {}) for name in ("subparser", "dispatch_function", "config", "command")],
        ({"dtype": None, "port": ""}, "0.8.5", {}), ({"no_such_argument": 1}, "0.8.5", {}),
        ({"ssl_cert_reqs": 0}, "0.7.3", {}), ({"ssl_cert_reqs": 1}, "0.7.3", {"ssl_cert_reqs": 1}),
        ({"uvicorn_log_level": "info"}, "0.8.5", {}), ({"uvicorn_log_level": "debug"}, "0.8.5", {"uvicorn_log_level": "debug"}),
        ({"worker_cls": "auto"}, "0.8.5", {}), ({"scheduler_cls": "vllm.core.scheduler.Scheduler"}, "0.8.5", {}),
        ({"distributed_executor_backend": "mp"}, "0.8.5", {}), ({"distributed_executor_backend": "ray"}, "0.8.5", {"distributed_executor_backend": "ray"}),
        ({"enforce_eager": False}, "0.8.5", {}), ({"enforce_eager": True}, "0.8.5", {"enforce_eager": True}),
        ({"max_num_seqs": 256}, "", {}), ({"max_num_seqs": 64}, "", {"max_num_seqs": 64}), ({"max_num_seqs": 64}, "banana", {"max_num_seqs": 64}),
        ({"gpu_memory_utilization": 0.9}, "0.8.5", {}), ({"gpu_memory_utilization": "0.9"}, "0.8.5", {}),
    ],
)  # fmt: skip
def test_which_of_all_arguments_were_given(told: dict[str, object], version: str, found: dict[str, object]) -> None:
    """Those that differ from the release's defaults, or from those of all releases that print them."""
    assert given(told, version) == found  # type: ignore[arg-type]
