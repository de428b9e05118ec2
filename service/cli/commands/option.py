"""``vllm-triage option OPTION``: does a release of vLLM know it, what does it take, what took its place? Offline."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence

from ..answered import answered
from ..parser import Parser


def run(words: Sequence[str]) -> int:
    """Print what is known; exit code 0 where the release has it, 1 where not, 2 on misuse."""
    # An option that is asked about must not be taken for one of ours.
    known = {"-h", "--help", "-f", "--format", "--vllm-version"}
    first = next(
        (at for at, word in enumerate(words) if word.startswith("-") and word.partition("=")[0] not in known), -1
    )
    words = list(words)
    asked = [words.pop(first)] if first >= 0 and "--" not in words else []
    parser = Parser(
        prog="vllm-triage option",
        usage="vllm-triage option OPTION[=VALUE] [options]",
        description="Say whether a release of vLLM has a flag, a key of a JSON option, an environment variable, an argument of "
        "LLM(...) or a metric: what it takes, its default, since when it is there, what took its place.",
        epilog="exit codes: 0 the release has it, 1 it has not, 2 usage error",
    )
    parser.add_argument("option", nargs="?" if asked else None, metavar="OPTION", help="--swap-space, VLLM_USE_V1 …")
    parser.add_argument("--vllm-version", default="", metavar="X.Y.Z", help="default: the newest release known")
    parser.add_argument("-f", "--format", choices=("text", "json"), default="text")
    return answered(parser, words, lambda options: _answer(options, *asked))


def _answer(options: Namespace, asked: str = "") -> int:
    from ...option import as_text, check_option
    from ...render.colors import painter
    from ..parser import columns, wrapped

    found = check_option(asked or options.option, _release(options.vllm_version))
    if options.format == "json":
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
    else:
        paint = painter()
        mark = paint("✔", "green") if found.exists and not found.problem else paint("✖", "red")
        print(f"{mark} {wrapped('  ' + as_text(found), columns()).lstrip()}")
    return 0 if found.exists and not found.problem else 1


def _release(asked: str) -> str:
    """Return a release in full where only its first two numbers were given: its newest patch."""
    from ....corpus import options

    asked = asked.removeprefix("v")
    return (
        next((known for known in reversed(options.releases()) if known.startswith(f"{asked}.")), asked) if asked else ""
    )
