"""Feedback: what people say about answers, and the training rows that come of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ...classifier.masking.mask import mask
from ...classifier.report.model import ContextLine, Evidence, Report
from ..wire import Feedback, timestamp
from .queries import voice
from .tables import feedback, incidents
from .tenants import of_tenant, shown
from .writes import clean, label, unpack

NOTE = 2000
"""Characters of a note."""
VERDICTS = ("right", "wrong")
AT_ONCE = 500
"""Rows read in one go."""
_ID = re.compile(r"[a-z0-9_]{1,64}")
_CAUSE = re.compile(r"[a-z0-9_]{1,64}/[a-z0-9_]{1,64}")


@dataclass(slots=True, frozen=True)
class Said:
    """What a person says."""

    verdict: str
    bucket: str = ""
    cause: str = ""
    note: str = ""
    source: str = ""


def add(connection: Connection, incident_id: str, said: Said, at: datetime, tenant: str | None) -> Feedback:
    """Keep what was said about an incident, with the training row of the report that it was said about.

    Raises:
        KeyError: There is no such incident.
        ValueError: What was said makes no sense.
    """
    mine = select(incidents).where(incidents.c.id == incident_id, *of_tenant(tenant))
    found = connection.execute(mine).one_or_none()
    if found is None:
        raise KeyError(incident_id)
    bucket, cause = _truth(said, found.bucket, found.cause)
    values = {
        "incident": found.number,
        "source": label(said.source),
        "verdict": said.verdict,
        "bucket": bucket,
        "cause": cause,
        "note": mask(clean(said.note).strip())[:NOTE],
        "at": at,
        "row": json.dumps(row(unpack(found.report), shown(found.fingerprint))),
    }
    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    new = insert(feedback).values(values)
    changed = {name: new.excluded[name] for name in values if name not in ("incident", "source")}
    kept = connection.execute(
        new.on_conflict_do_update(index_elements=["incident", "source"], set_=changed).returning(feedback)
    ).one()
    connection.execute(update(incidents).where(incidents.c.number == found.number).values(feedback=said.verdict))
    return voice(kept, incident_id)


def export(connection: Connection, after: int, tenant: str | None) -> list[tuple[int, dict[str, Any]]]:
    """Return the training rows that follow the feedback of number ``after``, some of them."""
    query = (
        select(
            feedback, incidents.c.id, incidents.c.bucket.label("answered"), incidents.c.cause.label("answered_cause")
        )
        .join_from(feedback, incidents)
        .where(feedback.c.number > after, *of_tenant(tenant))
        .order_by(feedback.c.number)
        .limit(AT_ONCE)
    )
    return [
        (
            found.number,
            {
                "id": found.id,
                **json.loads(found.row),
                "bucket": found.bucket,
                "cause": found.cause,
                "verdict": found.verdict,
                "answered": {"bucket": found.answered, "cause": found.answered_cause},
                "source": "feedback",
                "at": timestamp(found.at),
            },
        )
        for found in connection.execute(query)
    ]


def row(report: Report, fingerprint: str) -> dict[str, object]:
    """Return what training needs of a report: the lines that it shows, in the order of the log, masked as they are there.

    ``digest`` reads as a piece of log (``Row.text`` of training/examples), ``stage`` is how far the start got, ``group`` keeps
    occurrences of one failure on one side of a split, ``release`` is the vLLM release. ``proposals`` is what models proposed that the
    person saw: what was said holds for that, too.
    """
    lines: dict[int, str] = {}
    # Symptoms are left out: wrappers speak of every failure in the same words.
    shown: list[ContextLine | Evidence] = [*report.context, *report.evidence, *report.chain]
    for line in shown:
        lines.setdefault(line.line, line.text)
    return {
        "digest": "\n".join(lines[number] for number in sorted(lines)),
        "stage": report.startup.reached,
        "release": str(report.facts.get("vllm_version", "")),
        "group": f"feedback/{fingerprint}",
        **({"proposals": proposed(report)} if report.proposals else {}),
    }


def proposed(report: Report) -> list[dict[str, object]]:
    """Return what models proposed that stands in a report: who, the cause in their words, the changes."""
    return [
        {
            "source": one.source,
            "cause": one.cause,
            "first": one.first,
            "changes": [fix.change for fix in report.fixes if fix.proposed_by == one.source],
        }
        for one in report.proposals
    ]


def _truth(said: Said, bucket: str, cause: str) -> tuple[str, str]:
    """Return what it really was; empty where that was not told.

    Whether there is such a bucket is for the caller to check: your own rules may add some.
    """
    if said.verdict not in VERDICTS:
        raise ValueError(f"verdict {said.verdict!r}: it is right or wrong")
    if said.bucket and not _ID.fullmatch(said.bucket):
        raise ValueError(f"bucket {said.bucket[:80]!r} is not the id of a bucket")
    if said.cause and not _CAUSE.fullmatch(said.cause):
        raise ValueError(f"cause {said.cause[:80]!r}: it looks like kv_cache_oom/context_exceeds_cache")
    told = said.bucket or said.cause.partition("/")[0]
    if said.cause and said.cause.partition("/")[0] != told:
        raise ValueError(f"cause {said.cause} is none of {told}")
    if said.verdict == "right":
        if told and (told != bucket or said.cause not in ("", cause)):
            raise ValueError("an answer that was right needs no other bucket or cause")
        return bucket, cause
    if told == bucket and said.cause in ("", cause):
        raise ValueError("what it was, is what was answered: then the answer was right")
    return told, said.cause
