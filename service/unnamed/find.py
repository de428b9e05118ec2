"""From the incidents of a history to groups of those that no rule names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...classifier.errors import InputError
from ...classifier.lines.prefix import split_line
from ...classifier.report.shown import cut
from ...corpus.store import Corpus, load, plugin_folders
from ...training.harvest.clusters import Cluster, clusters
from ...training.harvest.propose import propose
from ...training.harvest.unnamed import SURE, Answer, unnamed
from ..wire import Unnamed, UnnamedGroup, UnnamedLine

if TYPE_CHECKING:
    from ...classifier.report.model import Report
    from ...corpus.types import Rule
    from ...training.harvest.propose import Proposal
    from ...training.harvest.unnamed import Unnamed as Start
    from ..history import History
    from ..history.unsure import Recorded

MOST = 4000
"""Incidents that are looked at, the latest ones."""
NAMED = 1000
"""Incidents that a rule names whose lines no proposed rule may match, the latest ones."""
COMPARED = 1500
"""Shapes that are compared with each other; the memory for it grows with their square."""
GROUPS = 100
"""Groups that are told."""
CONFIRMED = 5
"""Confirmed proposals of a group that are told."""
LINE = 400
"""Characters of an example."""
ALIKE = "Only lines that differ in their values are grouped: grouping others needs scikit-learn (the extra 'model')."
Span = tuple[datetime, datetime]
"""When an incident was first and last seen."""


def find(history: History, tenant: str | None = "", rules: Sequence[str] = ()) -> Unnamed:
    """Return what no rule names, in groups. scikit-learn is loaded where it is installed; else only shapes are told apart.

    Args:
        history: Where answers are kept.
        tenant: Whose (`Filter.tenant`).
        rules: Folders with your own rules.

    Raises:
        HistoryError: The history cannot be read.
    """
    corpus = load([*rules, *plugin_folders()])
    own = _own_rules(corpus)
    # Of each report some lines are kept, not the report.
    seen: dict[str, Span] = {}
    confirmed: dict[str, list[str]] = {}
    answers = []
    for one in history.recorded(tenant=tenant, sure=SURE, named=False, most=MOST):
        seen[one.id] = one.first_seen, one.last_seen
        answers.append(_answer(one))
        if one.feedback == "right" and one.report.proposals:
            confirmed[one.id] = list(_confirmed(one.report))
    found = [item for item in unnamed(answers) if not _named_since(item.line, own)]
    groups, problem = _grouped(found)
    known = tuple(_lines(history.recorded(tenant=tenant, sure=SURE, named=True, most=NAMED)))
    grouped = {member.log for group in groups for member in group.members}
    return Unnamed(
        groups=tuple(_told(group, propose(group, groups, corpus, known), seen, confirmed) for group in groups[:GROUPS]),
        incidents=len(found),
        alone=len(found) - len(grouped),
        made=datetime.now(UTC),
        problem=problem,
    )


def _answer(one: Recorded) -> Answer:
    """Return what is known of an incident: it stands for all its logs, of which one report is kept."""
    report = one.report
    return Answer(
        id=one.id, log=one.id, source=one.service, day=_day(one.first_seen), until=_day(one.last_seen),
        times=one.occurrences, release=str(report.facts.get("vllm_version", "")), bucket=report.bucket, cause=report.cause,
        confidence=report.confidence, decided_by=report.decided_by, failed=report.failed, came_up=False, followed=False,
        evidence=tuple(line.text for line in report.evidence), context=tuple(line.text for line in report.context),
        ending=(), alternatives=tuple(other.bucket for other in report.alternatives),
    )  # fmt: skip


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def _own_rules(corpus: Corpus) -> list[Rule]:
    """Return the line rules for causes that are not shipped."""
    shipped = {rule.id for rule in load().rules}
    return [rule for rule in corpus.rules if rule.role == "cause" and rule.pattern and rule.id not in shipped]


def _named_since(line: str, own: Iterable[Rule]) -> bool:
    """Return whether one of your own rules names a line: it was answered before the rule was written."""
    return any(rule.expression("pattern").search(line) for rule in own)


def _grouped(found: Sequence[Start]) -> tuple[list[Cluster], str]:
    """Return the groups, and why they are not as good as they could be."""
    try:
        return clusters(found, most=COMPARED), ""
    except InputError:
        return clusters(found, most=0), ALIKE


def _lines(named: Iterable[Recorded]) -> Iterator[str]:
    """Yield the lines that decided incidents, and those around them, without what others put in front."""
    for one in named:
        report = one.report
        for text in [*(line.text for line in report.evidence), *(line.text for line in report.context)]:
            yield split_line(1, text).text


def _confirmed(report: Report) -> Iterator[str]:
    """Yield what models proposed that stands in a report, a line for each fix."""
    for one in report.proposals:
        changes = [fix.change for fix in report.fixes if fix.proposed_by == one.source]
        yield from (f"{one.cause} › {change}" for change in changes)


def _told(
    group: Cluster, proposal: Proposal, seen: Mapping[str, Span], confirmed: Mapping[str, list[str]]
) -> UnnamedGroup:
    said = [text for member in group.members for text in confirmed.get(member.log, ())]
    spans = [seen[log] for log in {member.log for member in group.members}]
    return UnnamedGroup(
        id=group.id,
        logs=group.logs,
        incidents=len(spans),
        first_seen=min(first for first, _ in spans),
        last_seen=max(last for _, last in spans),
        releases=group.releases,
        nearest=group.nearest,
        examples=tuple(
            UnnamedLine(line=cut(item.line, LINE), incident=item.id, service=item.source) for item in group.examples()
        ),
        rule="" if proposal.problem else proposal.text,
        covers=proposal.covers,
        problem=proposal.problem,
        confirmed=tuple(dict.fromkeys(said))[:CONFIRMED],
    )
