"""The miner on small releases written for these tests: what is read from which way of writing options."""

from __future__ import annotations

import textwrap

import pytest

from vllm_triage.training.options.release import MiningError, Release, mine
from vllm_triage.training.options.source import Tree

ARGUMENTS = """
    import argparse
    import json
    from dataclasses import dataclass
    from typing import Optional
    import vllm.envs as envs
    from vllm.config import CacheConfig, ModelConfig, ParallelConfig

    def get_kwargs(cls):
        kwargs = {}
        kwargs["x"]["action"] = argparse.BooleanOptionalAction
        return kwargs

    @dataclass
    class EngineArgs:
        model: str = ModelConfig.model
        max_model_len: Optional[int] = None
        swap_space: float = CacheConfig.swap_space
        _private: int = 0

        @staticmethod
        def add_cli_args(parser):
            model_kwargs = get_kwargs(ModelConfig)
            group = parser.add_argument_group(title="ModelConfig")
            group.add_argument("--model", **model_kwargs["model"])
            group.add_argument("--dtype", **model_kwargs["dtype"])
            group.add_argument("--seed", "-s", **model_kwargs["seed"])
            group.add_argument("--hf-overrides", **model_kwargs["hf_overrides"])
            group.add_argument("--stop-ids", **model_kwargs["stop_ids"])
            model_kwargs["tokenizer_mode"]["choices"] = ["auto", "slow"]
            group.add_argument("--tokenizer-mode", **model_kwargs["tokenizer_mode"])
            cache_kwargs = get_kwargs(CacheConfig)
            swap = cache_kwargs["swap_space"]
            swap["default"] = 8
            parser.add_argument("--swap-space", **swap)
            parser.add_argument("--enable-prefix-caching", **{**cache_kwargs["enable_prefix_caching"], "default": None})
            parser.add_argument("--cache-config", **get_kwargs(ParallelConfig)["cache"])
            for name, kind in [("--old-one", str), ("--old-two", bool)]:
                parser.add_argument(name, type=kind, help=f"[DEPRECATED] {name} will be removed.")
            parser.add_argument("--quiet", action="store_true", help="Allow deprecated things.")
            parser.add_argument("--port-base", type=optional_type(int), default=None)
            parser.add_argument("--wait", type=human_readable_int, default=3 * 1024, deprecated=True)
            parser.add_argument("--extra", type=json.loads, default={"a": 1})
            return parser

    class AsyncEngineArgs(EngineArgs):
        enable_log_requests: bool = False

        @staticmethod
        def add_cli_args(parser, async_args_only=False):
            if not async_args_only:
                parser = EngineArgs.add_cli_args(parser)
            parser.add_argument("--enable-log-requests", action=argparse.BooleanOptionalAction,
                                default=AsyncEngineArgs.enable_log_requests)
            current_platform.pre_register_and_update(parser)
            return parser
"""
CONFIG = """
    from __future__ import annotations
    import enum
    from dataclasses import dataclass, field
    from pydantic import Field
    from typing import Any, ClassVar, Literal
    from .other import LIMIT, Mode

    raise SystemExit("sources are read, never run")

    DType = Literal["auto", "half"]

    @config
    class CacheConfig:
        swap_space: float = Field(default=4, ge=0)
        enable_prefix_caching: bool | None = None
        KINDS: ClassVar[int] = 3

    @config
    class ModelConfig:
        model: str = "acme/tiny"
        dtype: DType = "auto"
        seed: int | None = LIMIT
        tokenizer_mode: str = Mode.AUTO.value
        hf_overrides: dict[str, Any] = field(default_factory=dict)
        stop_ids: list[int] = field(default_factory=lambda: [1, 2])

    @config
    class ParallelConfig:
        cache: CacheConfig = field(default_factory=CacheConfig)
"""
OTHER = """
    import enum

    LIMIT = 2 * 21

    class Mode(str, enum.Enum):
        AUTO = "auto"
"""
FRONTEND = """
    from vllm.engine.arg_utils import AsyncEngineArgs, get_kwargs

    @config
    class BaseFrontendArgs:
        api_key: list[str] | None = None
        allow_credentials: bool = False

        @classmethod
        def _customize(cls, kwargs):
            del kwargs["api_key"]["nargs"]
            return kwargs

        @classmethod
        def add_cli_args(cls, parser):
            kwargs = cls._customize(get_kwargs(cls))
            group = parser.add_argument_group(title="Frontend")
            for key, value in kwargs.items():
                extra = value.pop("flags", [])
                group.add_argument(*extra, f"--{key.replace('_', '-')}", **value)
            return parser

    @config
    class FrontendArgs(BaseFrontendArgs):
        root_path: str | None = None

        @classmethod
        def _customize(cls, kwargs):
            kwargs = super()._customize(kwargs)
            kwargs["root_path"]["default"] = "/"
            return kwargs

    def make_arg_parser(parser):
        parser.add_argument("model_tag", type=str, nargs="?")
        parser.add_argument("--headless", action="store_true")
        parser = FrontendArgs.add_cli_args(parser)
        parser = AsyncEngineArgs.add_cli_args(parser)
        return parser
"""
COMMAND = """
    def main():
        chat_parser.add_argument("--url")
        serve_parser.add_argument("--config")
"""
VARIABLES = """
    import os
    def late():
        return os.environ.get("VLLM_LATE", "soon")
    environment_variables: dict = {
        "VLLM_LEVEL": lambda: os.getenv("VLLM_LEVEL", "INFO").upper(),
        "VLLM_ON": lambda: bool(int(os.environ.get("VLLM_ON", "0"))),
        "VLLM_CHOICE": env_with_choices("VLLM_CHOICE", "a", ["a", "b"]),
        "VLLM_LATE": late,
        "VLLM_SPACE": lambda: int(os.getenv("VLLM_SPACE", "0")) if "VLLM_SPACE" in os.environ else None,
        "CUDA_HOME": lambda: os.environ.get("CUDA_HOME", None),
    }
"""
METRICS = """
    class Stats:
        def __init__(self):
            self.running = self._gauge_cls(name="vllm:requests_running")
            self.tokens = prometheus_client.Counter(name="vllm:tokens", documentation="")
            self.size = Histogram("vllm:iteration_tokens_total")
            specs = [("vllm:drafts_made", "how many"), ("vllm:drafts_kept", "how many")]
            self.counters = [self._counter_cls(name=name) for name, text in specs]
"""
OWN = "import os\nif os.environ.get('VLLM_ASIDE') or os.getenv('OTHER_THING'):\n    pass\n"
BACKENDS = "class _Backend(enum.Enum):\n    FLASH_ATTN = enum.auto()\n    XFORMERS = enum.auto()\n"


def tree(**changes: str) -> Tree:
    """Return a small release, some of its files replaced (``arguments``, ``config`` …)."""
    files = {
        "vllm/engine/arg_utils.py": changes.get("arguments", ARGUMENTS),
        "vllm/config/__init__.py": changes.get("config", CONFIG),
        "vllm/config/other.py": OTHER,
        "vllm/entrypoints/openai/cli_args.py": changes.get("frontend", FRONTEND),
        "vllm/scripts.py": COMMAND,
        "vllm/envs.py": changes.get("variables", VARIABLES),
        "vllm/metrics.py": METRICS,
        "vllm/platform.py": OWN,
        "vllm/template.py": "{{ not python }}",
        "vllm/attention/selector.py": BACKENDS,
    }
    return Tree({path: textwrap.dedent(text).encode() for path, text in files.items()})


@pytest.fixture
def release() -> Release:
    return mine(tree())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("--model", {"default": "acme/tiny"}),
        ("--dtype", {"default": "auto", "choices": ["auto", "half"]}),
        ("--seed", {"default": 42, "kind": "int", "aliases": ["-s"]}),
        ("--tokenizer-mode", {"default": "auto", "choices": ["auto", "slow"]}),
        ("--hf-overrides", {"default": {}, "kind": "json"}),
        ("--stop-ids", {"default": [1, 2], "kind": "int", "many": True}),
        ("--swap-space", {"default": 8, "kind": "float"}),
        ("--enable-prefix-caching", {"default": None, "kind": "switch", "negated": True}),
        ("--cache-config", {"kind": "json", "keys": ["enable_prefix_caching", "swap_space"]}),
        ("--old-two", {"default": None, "deprecated": True}),
        ("--quiet", {"default": False, "kind": "switch"}),
        ("--port-base", {"default": None, "kind": "int"}),
        ("--wait", {"default": 3072, "kind": "int", "deprecated": True}),
        ("--extra", {"default": {"a": 1}, "kind": "json"}),
        ("--enable-log-requests", {"default": False, "kind": "switch", "negated": True}),
        ("--headless", {"default": False, "kind": "switch"}),
        ("--api-key", {"default": None}),
        ("--allow-credentials", {"default": False, "kind": "switch", "negated": True}),
        ("--root-path", {"default": "/"}),
        ("--config", {"default": None}),
        ("--help", {"aliases": ["-h"], "kind": "switch"}),
    ],
)
def test_an_option_is_read_as_the_release_would_register_it(
    release: Release, name: str, expected: dict[str, object]
) -> None:
    """Plain declarations, fields of configuration classes, changed keyword arguments, loops, subclasses."""
    assert release["flags"][name] == expected


def test_options_of_other_commands_are_left_out(release: Release) -> None:
    """``vllm chat --url`` is no option of ``vllm serve``; positional arguments are no options at all."""
    assert {"--url", "model_tag"} & set(release["flags"]) == set()
    assert len(release["flags"]) == 22


def test_engine_arguments_are_the_fields_of_the_engines_class(release: Release) -> None:
    """Those of the base class too; private ones are nobody's to give."""
    assert sorted(release["arguments"]) == ["enable_log_requests", "max_model_len", "model", "swap_space"]


def test_variables_have_the_text_that_stands_in_for_them(release: Release) -> None:
    """Getters as lambdas, functions and helpers; what is read elsewhere is undeclared; other people's is left out."""
    assert release["variables"] == {
        "CUDA_HOME": {"default": None},
        "VLLM_ASIDE": {"default": None, "undeclared": True},
        "VLLM_CHOICE": {"default": "a", "choices": ["a", "b"]},
        "VLLM_LATE": {"default": "soon"},
        "VLLM_LEVEL": {"default": "INFO"},
        "VLLM_ON": {"default": "0"},
        "VLLM_SPACE": {"default": None},
    }


def test_metrics_have_the_names_that_the_page_shows(release: Release) -> None:
    """The client library ends counters in _total; names out of a list take the kind that is made of them."""
    assert release["metrics"] == {
        "vllm:drafts_kept_total": {"kind": "counter"},
        "vllm:drafts_made_total": {"kind": "counter"},
        "vllm:iteration_tokens_total": {"kind": "histogram"},
        "vllm:requests_running": {"kind": "gauge"},
        "vllm:tokens_total": {"kind": "counter"},
    }


def test_the_attention_backends_are_choices_where_they_are_asked_for() -> None:
    """argparse is not told of them, the enumeration is."""
    arguments = ARGUMENTS.replace('"--quiet", action="store_true"', '"--attention-backend"')
    variables = VARIABLES.replace('"CUDA_HOME"', '"VLLM_ATTENTION_BACKEND"')
    release = mine(tree(arguments=arguments, variables=variables))
    assert release["flags"]["--attention-backend"]["choices"] == ["FLASH_ATTN", "XFORMERS"]
    assert release["variables"]["VLLM_ATTENTION_BACKEND"]["choices"] == ["FLASH_ATTN", "XFORMERS"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"arguments": ARGUMENTS.replace('"--quiet"', "name_of(self)")}, r"arg_utils.py:\d+: name_of\(self\)"),
        ({"frontend": "x = 1"}, "no one cli_args.py with make_arg_parser"),
        ({"variables": "x = 1"}, "no environment_variables"),
    ],
)
def test_a_release_that_is_not_understood_whole_is_refused(changes: dict[str, str], told: str) -> None:
    """A table with holes would call options absent that are there."""
    with pytest.raises(MiningError, match=told):
        mine(tree(**changes))
