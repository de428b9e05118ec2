"""An answer and what was proposed for it, as one answer."""

from __future__ import annotations

from ...corpus.records import replace
from .model import Report


def with_opinions(report: Report, joint: Report) -> Report:
    """Return a report with the proposals of another one, which was made of what is left of the same log.

    Where that has the same fixes of rules, their order and the command are its own; else proposed fixes stand behind.

    Args:
        report: Of the log.
        joint: Of what is left of it, with proposals.
    """
    own = tuple(fix for fix in report.fixes if not fix.proposed_by)
    same = [fix.change for fix in own] == [fix.change for fix in joint.fixes if not fix.proposed_by]
    ordered = joint.fixes if same else (*own, *(fix for fix in joint.fixes if fix.proposed_by))
    lines = tuple(item.line for item in report.evidence if not item.mark)
    proposals = tuple(
        replace(one, against=lines if one.against else (), first=one.first and same) for one in joint.proposals
    )
    told = {one.told for one in report.proposals}
    return replace(
        report,
        fixes=tuple(replace(fix, rank=rank) for rank, fix in enumerate(ordered, 1)),
        withheld=tuple(
            item
            for part, proposed in ((report.withheld, False), (joint.withheld, True))
            for item in part
            if bool(item.proposed_by) is proposed
        ),
        proposals=proposals,
        corrected_command=joint.corrected_command if same else report.corrected_command,
        corrected=joint.corrected if same else report.corrected,
        notes=(*(one.told for one in proposals), *(note for note in report.notes if note not in told)),
    )
