"""``vllm-triage chat --preview PLATFORM LOG``: the message that a platform would be sent about a log. Nothing is sent."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from ..answered import answered
from ..messages import complain
from ..parser import Parser


def run(words: Sequence[str]) -> int:
    """Print the message; exit code 2 where the platform takes none, or an extra is not installed."""
    try:
        from ...chat.registry import platforms
    except ModuleNotFoundError as error:
        from ....classifier.extras import install

        return complain(f"messages need {error.name}: {install('service')}")
    known = [name for name, platform in platforms().items() if hasattr(platform, "preview")]
    parser = Parser(
        prog="vllm-triage chat",
        description="Show the message that a chat or webhook would get about a log, without an app, a token or a network.",
        epilog="vllm-triage serve sends them: docs/chat.md. Slack's is for its Block Kit Builder, Teams' for the Adaptive Cards "
        "Designer, Discord's is a webhook's body.",
    )
    parser.add_argument("--preview", required=True, choices=known, metavar="PLATFORM", help=", ".join(known))
    parser.add_argument("log", nargs="?", default="-", metavar="LOG", help="the log; - reads standard input (default)")
    parser.add_argument("--service", default="", metavar="NAME", help="the service that it is of")
    return answered(parser, words, _preview)


def _preview(options: Namespace) -> int:
    from ....classifier.api import shared
    from ....classifier.input.read import LogFile
    from ...chat.interface import Event
    from ...chat.registry import platforms

    report = shared().report(sys.stdin.buffer if options.log == "-" else LogFile(options.log))
    try:
        print(platforms()[options.preview].preview(Event(report, service=options.service)))
    except ModuleNotFoundError as error:
        from ....classifier.extras import install

        return complain(f"{options.preview} needs {error.name}: {install(options.preview)}")
    return 0
