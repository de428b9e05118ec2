"""``vllm-triage plan``: does a model fit these GPUs, with what context, for how many requests? Offline, no log."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...render.colors import painter
from ..messages import complain
from ..parser import Parser, columns, wrapped

if TYPE_CHECKING:
    from ....classifier.sizing.planning import Plan
    from ...plan import Wanted

_EXITS = {"fits": 0, "fits_shorter": 1, "does_not_fit": 1, "unknown": 2}


def run(words: Sequence[str]) -> int:
    """Print the plan; exit code 0 where the server would start as asked for, 1 where it would not, 2 on misuse."""
    parser = _parser()
    try:
        options = parser.parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    from ....classifier.sizing.architecture import ConfigError
    from ....classifier.sizing.kv_cache import UnknownDtypeError
    from ....classifier.sizing.planning import make_plan
    from ...plan import plan_data, setup_of

    try:
        config = _read(options.model_config)
        wanted = cast("Wanted", options)
        setup = setup_of(wanted, options.gpu_memory, options.weights or 0, options.overhead or 0)
        plan = make_plan(config, setup)
    except UnknownDtypeError as error:
        return complain(f"how {error} lays out the KV cache is not known here; auto, bfloat16, fp8 and nvfp4 are")
    except ConfigError as error:
        return complain(str(error))
    name = options.model or str(config.get("_name_or_path") or "") or "MODEL"
    told = json.dumps(plan_data(plan, name), ensure_ascii=False, indent=2)
    print(told if options.format == "json" else _as_text(plan, name))
    return _EXITS[plan.verdict]


def _parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="vllm-triage plan",
        description="Work out from a model's config.json whether it fits: memory, context, concurrency, options.",
        epilog="sizes: 24GiB, 24GB, 24 (GiB). Exit codes: 0 it starts as asked for, 1 it does not, 2 usage error.",
    )
    add = made.add_argument
    add("--gpu-memory", required=True, type=_size, metavar="SIZE", help="memory of one GPU, as nvidia-smi shows it")
    add("--model-config", required=True, metavar="FILE", help="the model's config.json; - reads standard input")
    add("--gpus", type=_count, default=1, metavar="N", help="GPUs there are (default: 1)")
    add("--model", default="", metavar="NAME", help="name to print in the command")
    add("--vllm-version", default="", metavar="V", help="release to plan for (default: the newest)")
    add("--weights", type=_size, metavar="SIZE", help="size of all weights, instead of an estimate from the config")
    add("--overhead", type=_size, metavar="SIZE", help="what activations, graphs and contexts take on each GPU")
    add("--tensor-parallel-size", type=_count, metavar="N", help="default: the smallest that fits")
    add("--pipeline-parallel-size", type=_count, default=1, metavar="N")
    add("--max-model-len", type=_count, metavar="N", help="context wanted (default: the model's own)")
    add("--max-num-seqs", type=_count, metavar="N")
    add("--max-num-batched-tokens", type=_count, metavar="N")
    add("--gpu-memory-utilization", type=_share, metavar="P")
    add("--kv-cache-dtype", default="auto", metavar="TYPE")
    add("--quantization", default="", metavar="METHOD", help="default: what the config says")
    add("--enforce-eager", action="store_true")
    add("-f", "--format", choices=("text", "json"), default="text")
    return made


def _size(text: str) -> int:
    from ....classifier.values.worked import parse_bytes

    found = parse_bytes(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size (24GiB, 80GB)")
    return found


def _count(text: str) -> int:
    try:
        found = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        found = 0
    if not 1 <= found <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive whole number")
    return found


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0 and up to 1")
    return found


def _read(name: str) -> dict[str, Any]:
    from ....classifier.sizing.architecture import ConfigError

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        config = json.loads(text)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None
    except ValueError as error:
        raise ConfigError(f"{name} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{name} holds no model config")
    return config


def _as_text(plan: Plan, name: str) -> str:
    from ....classifier.sizing.planning import token_formula
    from ....classifier.values.worked import gib
    from ...plan import start_command, unknown_options

    setup, fit, model = plan.setup, plan.fit, plan.model
    shown = name if name != "MODEL" else model.model_type or "model"
    heads = f"{model.heads} heads, {model.kv_heads} KV heads"
    lines = [
        f"{shown}: {model.layers} layers, {heads}, vocabulary {model.vocab}",
        f"vLLM {setup.version or '(newest release)'} · {setup.gpus} × {gib(setup.gpu_memory)}"
        + (f" · TP {fit.tensor}" if fit else ""),
        "",
    ]
    if fit and fit.weights:
        budget = setup.gpu_memory * setup.utilization
        lines += [
            f"  budget      {gib(setup.gpu_memory)} × {setup.utilization:g} = {gib(budget)}",
            f"  weights     {fit.worked.formula}",
            f"  allowance   {gib(fit.overhead)} for activations, CUDA graphs and contexts",
            f"  KV cache    {gib(budget)} - {gib(fit.weights)} - {gib(fit.overhead)} = {gib(fit.kv_memory)}",
            f"  per token   {token_formula(model, fit.layout, fit.tensor, setup.kv_dtype)}",
            "",
        ]
    lines.append(_verdict(plan))
    if plan.changes:
        lines += ["", "what helps:", *(f"  {change}: {gives}" for change, gives in plan.changes)]
    if made := start_command(plan, name):
        lines += ["", made]
    notes = plan.notes + unknown_options(plan)
    return "\n".join(_shown(line) for line in lines + (["", *notes] if notes else []))


def _shown(line: str) -> str:
    """Return a line as a terminal has room for it; what is to be copied stays on one."""
    paint = painter()
    if line.startswith("vllm serve"):
        return paint(line, "bold")
    text = wrapped(line, columns())
    return paint(text, {"✔": "green", "✖": "red"}[line[0]]) if line[:1] in ("✔", "✖") else text


def _verdict(plan: Plan) -> str:
    fit = plan.fit
    if fit is None or plan.verdict not in ("fits", "fits_shorter"):
        return f"✖ {plan.problem}"
    length = min(fit.wanted, fit.longest)
    held = f"{fit.concurrency(length):.2f} requests of {length} tokens at a time"
    if plan.verdict == "fits":
        return f"✔ It fits with the context of {fit.wanted} tokens: {held}."
    return f"✖ {plan.problem}\n  The longest context that fits is {fit.longest} tokens: {held}."
