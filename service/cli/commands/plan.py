"""``vllm-triage plan``: does a model fit these GPUs, with what context, for how many requests? Offline, no log."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

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
    from ....corpus.gpus import KEPT, UnknownGpuError, find_gpu, gpus
    from ...plan import plan_data, setup_of
    from ...plan_source import read_config

    if options.gpu == "list":
        print("\n".join(f"{gpu.name:<22} {gpu.gb:>4} GB  {gpu.kernels}".rstrip() for gpu in gpus().values()))
        return 0
    if not options.gpu and not options.gpu_memory:
        return complain("which GPU? --gpu H100 (--gpu list shows them), or --gpu-memory 80GiB")
    try:
        gpu = find_gpu(options.gpu) if options.gpu else None
        memory = options.gpu_memory or (gpu.bytes if gpu else 0)
        config, name = read_config(options.model_config or options.source)
        wanted = cast("Wanted", options)
        plan = make_plan(config, setup_of(wanted, memory, options.weights or 0, options.overhead or 0))
    except UnknownDtypeError as error:
        return complain(f"how {error} lays out the KV cache is not known here; auto, bfloat16, fp8 and nvfp4 are")
    except (ConfigError, UnknownGpuError) as error:
        return complain(str(error))
    name = options.model or name
    if gpu is not None:
        if gpu.kernels:
            plan.notes.insert(0, f"{gpu.name} has {gpu.kernels} (compute capability {gpu.capability}).")
        if options.gpu_memory is None:
            plan.notes.append(
                f"Memory of {gpu.name} by its maker's data sheet, less {1 - KEPT:.0%}: --gpu-memory takes what nvidia-smi shows."
            )
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
    where = "config.json, its folder, or ORG/NAME in the hub's cache on this machine; - reads standard input"
    add("source", nargs="?", default="", metavar="MODEL", help=where)
    add("--gpu", default="", metavar="NAME", help="H100, A100-40GB, 'RTX 4090' …; list shows those that are known")
    add("--gpu-memory", type=_size, metavar="SIZE", help="memory of one GPU, as nvidia-smi shows it")
    add("--model-config", default="", metavar="FILE", help="the same as MODEL")
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
    from ....classifier.values.computed import parse_bytes

    found = parse_bytes(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size (24GiB, 80GB)")
    return found


def _count(text: str) -> int:
    try:
        found = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        found = 0
    if not 1 <= found <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return found


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1")
    return found


def _as_text(plan: Plan, name: str) -> str:
    from ....classifier.sizing.planning import token_formula
    from ....classifier.values.computed import gib
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
            f"  weights     {fit.weighed.formula}",
            f"  allowance   {gib(fit.overhead)} for activations, CUDA graphs and contexts",
            f"  KV cache    {gib(budget)} - {gib(fit.weights)} - {gib(fit.overhead)} = {gib(fit.kv_memory)}",
            f"  per token   {token_formula(model, fit.layout, fit.tensor, setup.kv_dtype)}",
            "",
        ]
    lines += _verdict(plan).splitlines()
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
