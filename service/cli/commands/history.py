"""``vllm-triage history``: look into the incidents that the service keeps, export feedback, keep the database in order."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..messages import complain
from ..parser import Parser

if TYPE_CHECKING:
    from ...history import History

TENANT = "of one tenant; '' for those of none (default: all)"
AGES = {"h": "hours", "d": "days", "w": "weeks"}


def run(words: Sequence[str]) -> int:
    """Run one of its actions; exit code 2 where the database or the incident is not there."""
    try:
        options = _parser().parse_args(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        from ...history import History, HistoryError
        from ...http.settings import Settings
    except ModuleNotFoundError as error:
        from ....classifier.extras import install

        return complain(f"the history needs {error.name}: {install('service')}")
    try:
        url, days = options.database, options.retention_days
        if not url or days is None:
            # As the service reads them: from variables, or the file that VLLM_TRIAGE_CONFIG names.
            settings = Settings()
            url, days = url or settings.database_url, settings.retention_days if days is None else days
        if not url:
            return complain("the setting `database` is none: there is no history")
        history = History(url, retention_days=days)
        try:
            return int(options.action(history, options))
        finally:
            history.close()
    except (HistoryError, ValueError) as error:
        return complain(str(error))


def _parser() -> argparse.ArgumentParser:
    about = "Look into the incidents that vllm-triage serve keeps; export feedback; keep the database in order."
    parser = Parser(prog="vllm-triage history", description=about)
    url = "sqlite:////path or postgresql://… (default: VLLM_TRIAGE_DATABASE, else the file of vllm-triage serve)"
    parser.add_argument("--database", default="", metavar="URL", help=url)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def action(name: str, run: Any, text: str) -> Any:
        made = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(action=run, retention_days=0)
        return made.add_argument

    add = action("list", _list, "list incidents, the latest first")
    for name in ("service", "bucket", "cause", "fingerprint"):
        add(f"--{name}", default="", metavar=name.upper())
    add("--since", type=_since, metavar="AGE", help="seen within 36h, 7d, 2w, or since a date")
    add("-q", default="", metavar="WORDS", help="words in title, cause, name, service or model")
    add("--state", choices=("open", "acknowledged", "muted"), default="")
    add("--assignee", default="", metavar="NAME")
    add("--tenant", metavar="TENANT", help=TENANT)
    add("-n", "--limit", type=int, default=20, help="how many (default: 20)")
    add("-f", "--format", choices=("text", "json"), default="text")
    add = action("show", _show, "show one incident with its latest report")
    add("id", metavar="ID")
    add("-f", "--format", choices=("text", "json"), default="text")
    add = action("stats", _stats, "count occurrences by bucket")
    add("--since", type=_since, metavar="AGE", help="within 36h, 7d, 2w, or since a date (default: all)")
    add("--service", default="", metavar="SERVICE")
    add("--tenant", metavar="TENANT", help=TENANT)
    add("--step", choices=("hour", "day"), default="day")
    add("-f", "--format", choices=("text", "json"), default="text")
    add = action("export-feedback", _export, "print feedback as training rows, one JSON object a line")
    add("--tenant", metavar="TENANT", help=TENANT)
    add = action("prune", _prune, "remove incidents that were not seen for long")
    days = "keep what was seen within (default: the setting retention_days)"
    add("--retention-days", type=int, default=None, metavar="DAYS", help=days)
    action("upgrade", _upgrade, "bring the database to the schema of this release")
    return parser


def _list(history: History, options: Any) -> int:
    from ...history import Filter

    names = ("service", "bucket", "cause", "fingerprint", "state", "assignee", "since", "q", "limit")
    page = history.incidents(Filter(tenant=options.tenant, **{name: getattr(options, name) for name in names}))
    if options.format == "json":
        _print_json([item.to_dict() for item in page.items])
        return 0
    for incident in page.items:
        said = {"right": " ✔", "wrong": " ✘"}.get(incident.feedback or "", "")
        said += f" [{incident.state}]" if incident.state != "open" else ""
        said += f" → {incident.assignee}" if incident.assignee else ""
        print(
            f"{incident.last_seen:%Y-%m-%d %H:%M}  {incident.occurrences:>5} ×  {incident.service or '-':<16}  "
            f"{incident.cause}{said}\n{'':18}{incident.id}  {incident.title}"
        )
    if page.next:
        print("… there are more (--limit)")
    return 0


def _show(history: History, options: Any) -> int:
    stored = history.incident(options.id, tenant=None)
    if stored is None:
        return complain(f"no incident {options.id!r}")
    if options.format == "json":
        _print_json(stored.to_dict())
        return 0
    from ...wire import timestamp

    for name, value in stored.incident.to_dict().items():
        told = timestamp(value) if isinstance(value, datetime) else value
        print(f"{name:<13} {'' if told is None else told}".rstrip())
    print(f"\n{stored.report.summary}".rstrip())
    for line in stored.report.evidence:
        print(f"  line {line.line}: {line.text}")
    for fix in stored.report.fixes:
        print(f"  {fix.rank}. {fix.title}: {fix.change}")
    for said in stored.feedback:
        print(f"\n{said.at:%Y-%m-%d %H:%M}  {said.verdict}  {said.cause or said.bucket}  {said.note}".rstrip())
    return 0


def _stats(history: History, options: Any) -> int:
    found = history.stats(options.since, None, options.step, options.service, tenant=options.tenant)
    if options.format == "json":
        _print_json([row.to_dict() for row in found])
        return 0
    width = max((len(row.bucket) for row in found), default=0)
    for row in found:
        last = row.counts[-1]
        total = sum(each.count for each in row.counts)
        print(f"{row.bucket:<{width}}  {total:>7}   last {options.step} {last.at:%Y-%m-%d %H:%M}: {last.count}")
    return 0


def _export(history: History, options: Any) -> int:
    for row in history.export(tenant=options.tenant):
        print(json.dumps(row, ensure_ascii=False))
    return 0


def _prune(history: History, _options: Any) -> int:
    print(f"{history.prune()} incidents removed")
    return 0


def _upgrade(history: History, _options: Any) -> int:
    history.upgrade()
    history.ping()
    print(f"{history.name} is up to date")
    return 0


def _print_json(value: object) -> None:
    from ...wire import plain

    print(json.dumps(value, ensure_ascii=False, indent=2, default=plain))


def _since(text: str) -> datetime:
    """Return the time that an age (``36h``) or a date (``2026-01-31``) means."""
    try:
        if text[-1:] in AGES:
            return datetime.now(UTC) - timedelta(**{AGES[text[-1]]: float(text[:-1])})
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is neither an age such as 7d nor a date") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
