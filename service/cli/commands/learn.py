"""``vllm-triage learn REPORTS``: what no rule names yet, in groups, with a proposed rule for each; the accepted ones are written."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answered import answered
from ..arguments import add_rules, share
from ..messages import EXIT_INTERRUPTED, complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ....training.harvest.clusters import Cluster
    from ....training.harvest.propose import Proposal
    from ....training.harvest.unnamed import Answer

Found = list[tuple["Cluster", "Proposal"]]
COLUMNS = (
    "id", "log", "source", "day", "release", "bucket", "cause", "confidence", "decided_by", "failed", "came_up", "followed",
    "evidence", "context", "ending", "alternatives", "strength", "unread",
)  # fmt: skip
LINES = ("evidence", "context", "ending", "unread")
HEALTHY = 20_000
"""Lines of healthy servers that a proposal must not match, at most."""
EPILOG = """\
examples:
  vllm-triage learn reports                              # on a terminal: one after the other, accepted ones are written
  vllm-triage learn reports --list                       # all of them, nothing is written
  vllm-triage learn reports --accept 3f2a91c0 --rules-out rules
  vllm-triage batch logs --out reports --again all --rules rules

exit codes: 0 done, 2 usage or input error
"""


def run(words: Sequence[str]) -> int:
    """Show what no rule names; write what is accepted; return the exit code."""
    return answered(_parser(), words, _shown)


def _shown(options: argparse.Namespace) -> int:
    try:
        return _learn(options)
    except EOFError:
        return EXIT_INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="vllm-triage learn",
        description="Put starts together that no rule names, by their words; propose a rule for each group (extra `model`).",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("reports", metavar="REPORTS", help="folder or URL that batch wrote")
    add(
        "--rules-out",
        type=Path,
        default=Path("rules"),
        metavar="FOLDER",
        help="where accepted rules go (default: rules)",
    )
    add(
        "--accept",
        action="append",
        default=[],
        metavar="ID",
        help="accept a group without asking; all for each that no rule answers (repeatable)",
    )
    add("--list", action="store_true", help="show all groups, ask nothing, write nothing")
    add("-f", "--format", choices=("text", "json"), default="text", help="form of the list (default: text)")
    sure = "a rule's answer below this confidence counts as not named (default: 0.75)"
    add("--below", type=share, default=0.75, metavar="P", help=sure)
    add("--least", type=int, default=3, metavar="N", help="logs that a group must stand in (default: 3)")
    add_rules(parser)
    return parser


def _learn(options: argparse.Namespace) -> int:
    found = _found(options)
    if options.format == "json":
        print(json.dumps([_data(cluster, proposal) for cluster, proposal in found], ensure_ascii=False, indent=2))
    if options.accept:
        return _accept(found, options.accept, options.rules_out)
    if options.format == "json":
        return 0
    if not found:
        print(f"nothing: no {options.least} logs fail with the same words that no rule names")
        return 0
    asks = not options.list and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    for number, (cluster, proposal) in enumerate(found, 1):
        print(_told(cluster, proposal, f"{number}/{len(found)}"))
        if asks and not _ask(proposal, options.rules_out):
            break
    if not asks and not options.list:
        print("vllm-triage learn … --accept ID writes a rule; on a terminal it asks for each")
    return 0


def _found(options: argparse.Namespace) -> Found:
    from ....corpus.store import load, plugin_folders
    from ....training.harvest.clusters import clusters
    from ....training.harvest.condense import condensed
    from ....training.harvest.propose import propose
    from ....training.harvest.unnamed import unnamed
    from ...batch.store.reader import read_rows

    corpus = load([*options.rules, *plugin_folders()])
    healthy: dict[str, None] = {}
    answers = _answers(read_rows(options.reports, COLUMNS), healthy)
    found = condensed(unnamed(answers, options.below))
    if found.given_up:
        warn(f"{found.given_up:,} starts are left out: their lines came least often, of too many kinds to compare")
    groups = clusters(found.starts, options.least)
    return [(cluster, propose(cluster, groups, corpus, tuple(healthy))) for cluster in groups]


def _answers(rows: Iterator[dict[str, Any]], healthy: dict[str, None]) -> Iterator[Answer]:
    """Yield the starts; note the last lines of healthy servers."""
    from ....classifier.lines.prefix import split_line
    from ....training.harvest.unnamed import Answer

    for row in rows:
        if row["bucket"] == "not_read":
            continue
        texts = {name: tuple(item["text"] for item in row[name] or ()) for name in LINES}
        if not row["failed"] and row["came_up"] and len(healthy) < HEALTHY:
            healthy |= dict.fromkeys(split_line(1, text).text for text in texts["ending"])
        known: dict[str, Any] = {name: row[name] for name in COLUMNS} | texts
        known["strength"] = known["strength"] or ""
        known["alternatives"] = tuple(item["bucket"] for item in row["alternatives"] or ())
        yield Answer(**known)


def _accept(found: Found, wanted: Sequence[str], folder: Path) -> int:
    known = {cluster.id: (cluster, proposal) for cluster, proposal in found}
    if strange := [name for name in wanted if name != "all" and name not in known]:
        return complain(f"{strange[0]}: no such group (vllm-triage learn … --list shows them)")
    for name, (cluster, proposal) in known.items():
        if name in wanted or "all" in wanted:
            cause, starts = cluster.answered
            if name not in wanted and 2 * starts > cluster.starts:
                # It may well be right: a rule for these very words would go before it.
                warn(
                    f"{name}: left out: rules answer it with {cause} ({starts} of {cluster.starts}); --accept {name} if that is wrong"
                )
            elif proposal.problem:
                warn(f"{name}: no rule: {proposal.problem}")
            else:
                _write(proposal, folder)
    return 0


def _ask(proposal: Proposal, folder: Path) -> bool:
    """Ask what is to be done with a proposal; return whether to go on."""
    if proposal.problem:
        return input("  enter to go on, q to end: ").strip().lower() != "q"
    answer = input("  a accept, t accept under another title, s skip, q end [s]: ").strip().lower()
    if answer == "t":
        title = input("  title: ").strip()
        if title:
            _write(proposal.entitled(title), folder)
    elif answer == "a":
        _write(proposal, folder)
    return answer != "q"


def _write(proposal: Proposal, folder: Path) -> None:
    from ....classifier.errors import InputError

    path = folder / f"{proposal.bucket}.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(proposal.text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    # Where the list is read by a program it is alone on standard output.
    print(f"{path} written", file=sys.stderr)


def _told(cluster: Cluster, proposal: Proposal, number: str) -> str:
    from ....classifier.report.shown import shown

    cause, named = cluster.answered
    days = f"{cluster.first} to {cluster.last}" if cluster.first else "days unknown"
    releases = ", ".join(cluster.releases[:6]) or "releases unknown"
    lines = [
        f"{number}  {cluster.id}  {cluster.logs:,} logs, {cluster.starts:,} starts · {days} · {releases}",
        f"  nearest: {cluster.nearest or 'none'}"
        + (f" · rules answer {cause} ({named} of {cluster.starts:,})" if cause else ""),
        *(f"  {shown(item.line)[:200]}\n    {item.source}" for item in cluster.examples()),
    ]
    if proposal.problem:
        lines.append(f"  no rule: {proposal.problem}")
    else:
        patterns = [line.strip() for line in proposal.text.splitlines() if line.startswith("  pattern = ")]
        lines += [f"  {text}" for text in patterns]
        lines.append(f"  fits {proposal.covers:,} of {cluster.starts:,} starts")
    return "\n".join(lines) + "\n"


def _data(cluster: Cluster, proposal: Proposal) -> dict[str, object]:
    return {
        "id": cluster.id, "logs": cluster.logs, "starts": cluster.starts, "first": cluster.first,
        "last": cluster.last, "releases": list(cluster.releases), "nearest": cluster.nearest, "answered": cluster.answered[0],
        "examples": [{"line": item.line, "source": item.source} for item in cluster.examples()],
        "rule": proposal.text, "covers": proposal.covers, "problem": proposal.problem,
    }  # fmt: skip
