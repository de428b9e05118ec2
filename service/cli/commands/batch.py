"""``vllm-triage batch SOURCE… --out REPORTS``: many logs to one row a server start, in several processes or on a cluster."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ....classifier.extras import install
from ...render.words import plural
from ..answered import answered
from ..arguments import add_rules, jobs_of
from ..messages import complain, warn
from ..parser import Parser

if TYPE_CHECKING:
    from ...batch.engines.interface import Engine
    from ...batch.run import Tally

EXIT_DONE, EXIT_UNREAD = 0, 1
NAMED = 5
"""Logs that could not be read which are named at the end."""
BUCKETS = 8
"""Buckets that are told at the end."""
REQUESTS = 8
"""Files that are written to an object store at a time: each waits for its answer."""
EPILOG = """\
examples:
  vllm-triage batch /var/log/vllm --out reports
  vllm-triage batch 's3://fleet/logs/2026-11-*/**.log.gz' --out s3://fleet/reports --engine ray
  vllm-triage batch starts.tar.zst --out reports --from-path '(?P<node>gpu-[0-9]+)/'

A second run reads only what is new. docs/scale.md has the columns, and what to ask them.
exit codes: 0 done, 1 some logs could not be read (they are in the reports), 2 usage error
"""


def run(words: Sequence[str]) -> int:
    """Read all logs; return the exit code."""
    return answered(_parser(), words, _written)


def _written(options: argparse.Namespace) -> int:
    try:
        return _batch(options)
    except OSError as error:
        return complain(f"{options.out}: the rows cannot be written ({error.strerror or error})")
    except KeyboardInterrupt:
        warn("stopped: what was finished is kept, and the same command goes on from there")
        raise


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="vllm-triage batch",
        description="Answer every server start of many logs; write one row for each, in Parquet or JSON lines.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="files, folders, patterns, archives, URLs (s3://…, gs://…, abfs://…)",
    )
    add("--out", required=True, metavar="REPORTS", help="folder or URL for the rows; those of earlier runs stay")
    form = "form of the rows (default: parquet where pyarrow is installed, else jsonl)"
    add("--format", choices=("parquet", "jsonl"), default="", help=form)
    engine = "who works: processes of this machine (default), or a Ray cluster (extra `ray`)"
    add("--engine", choices=("local", "ray"), default="local", help=engine)
    add(
        "--address",
        default="",
        metavar="HOST:PORT",
        help="the Ray cluster (default: RAY_ADDRESS, else one of its own here)",
    )
    add("-j", "--jobs", type=jobs_of, default=0, metavar="N", help="processes (default: one for each processor)")
    told = (
        "a regular expression that is searched in each log's name: its groups node, release, model, gpu, day are used"
    )
    add("--from-path", default="", metavar="REGEX", help=told)
    told = "folder or URL for the evidence of what failed: a file for each failure that differs (docs/pack.md)"
    add("--packs", default="", metavar="FOLDER", help=told)
    again = "read again what is done: logs that could not be read (failed), or all (after new rules)"
    add("--again", choices=("failed", "all"), default="", help=again)
    add_rules(parser)
    add("--model", default="", metavar="FOLDER", help="a text model of your own (vllm-triage train)")
    without = "leave out a bucket, cause or rule as if nobody had written it (repeatable)"
    add("--without", action="append", default=[], metavar="ID", help=without)
    return parser


def _batch(options: argparse.Namespace) -> int:
    from ...batch.asking import Asking, triage_of
    from ...batch.run import run as run_batch
    from ...batch.sources import count
    from ...batch.work import Write
    from ..progress import bar

    if problem := _wrong_pattern(options.from_path):
        return complain(problem)
    asking = Asking(rules=tuple(options.rules), model=options.model, without=tuple(options.without))
    # What is wrong with rules or model is told here rather than by each worker.
    triage = triage_of(asking)
    if strange := triage.strange(options.without):
        return complain(f"--without {strange[0]}: no bucket, cause or rule (vllm-triage rules lists them)")
    for problem in triage.corpus.problems:
        warn(f"rule file left out: {problem}")
    # The same log is known again from wherever the command is run.
    sources = [source if "://" in source else os.path.abspath(source) for source in options.sources]  # noqa: PTH100
    place = options.out if "://" in options.out else os.path.abspath(options.out)  # noqa: PTH100
    packs = options.packs if "://" in options.packs or not options.packs else os.path.abspath(options.packs)  # noqa: PTH100
    form = options.format or ("parquet" if find_spec("pyarrow") else "jsonl")
    if not options.format and form == "jsonl":
        warn(f"rows as JSON lines; for Parquet: {install('batch')}")
    work = Write(asking, place, form, options.from_path, packs)
    with bar("reading logs", count(sources)) as show:
        tally = run_batch(
            sources,
            work,
            _engine(options),
            options.again,
            lambda so_far: show(so_far.done, _told(so_far)),
            max(_jobs(options), REQUESTS) if "://" in place else _jobs(options),
        )
    if not tally.done:
        return complain(
            f"{', '.join(options.sources)}: no logs there (what is hidden, or no log by its name, is left out)"
        )
    return _end(tally, options.out)


def _engine(options: argparse.Namespace) -> Engine:
    from ...batch.engines.local import Here, Processes

    jobs = _jobs(options)
    if options.engine == "ray":
        from ...batch.engines.on_ray import Ray

        return Ray(options.jobs, options.address)
    return Processes(jobs) if jobs > 1 else Here()


def _jobs(options: argparse.Namespace) -> int:
    return options.jobs or os.cpu_count() or 1


def _wrong_pattern(text: str) -> str:
    """Return what is wrong with ``--from-path``; "" where nothing is."""
    from ...batch.row import PLACES

    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        return f"--from-path {text!r}: {error}"
    if text and not groups:
        return f"--from-path {text!r}: name what it finds, as in '(?P<node>gpu-[0-9]+)/': {', '.join(PLACES)}"
    if strange := sorted(set(groups) - set(PLACES)):
        return f"--from-path: {strange[0]!r} is none of {', '.join(PLACES)}"
    return ""


def _told(tally: Tally) -> str:
    failed = tally.starts - tally.buckets["no_failure"]
    return f"{tally.starts:,} starts, {failed:,} failed" + (f", {tally.unread:,} not read" if tally.unread else "")


def _end(tally: Tally, out: str) -> int:
    skipped = f"; {tally.skipped:,} were done before" if tally.skipped else ""
    if tally.skipped_unread:
        skipped += f" ({tally.skipped_unread:,} of them not read: --again failed)"
    print(f"{tally.logs:,} logs read, {_told(tally)}{skipped}")
    for bucket, number in tally.buckets.most_common(BUCKETS):
        print(f"  {number:8,}  {bucket}")
    for name, problem in tally.problems[:NAMED]:
        warn(f"not read: {name}: {problem}")
    if tally.unread > NAMED:
        warn(f"not read: {tally.unread - NAMED:,} more (bucket not_read of the reports)")
    for rule, number in tally.slow.most_common(NAMED):
        warn(f"took too long, and may have missed something in {plural(number, 'start')}: rule {rule}")
    print(f"vllm-triage report {out} shows what fails")
    return EXIT_UNREAD if tally.unread or tally.skipped_unread else EXIT_DONE
