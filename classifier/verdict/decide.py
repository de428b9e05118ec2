"""Makes one answer of the weighed candidates: a bucket, or an honest «unknown» or «no failure»."""

from __future__ import annotations

from ..incidents.servers import answer_among_servers
from ..incidents.types import Incident
from ..lines.types import Line, Trace
from ..matching.types import Hit
from ..patterns.lazy import LazyPattern
from ..report.types import Diagnosis, Evidence
from .answer import Known, answer_for, answer_of_guess, chain_of, evidence_for, evidence_of, line_evidence
from .types import Candidate
from .weigh import ORDER, READY, STRENGTH, silent_end, stop_line, untold, weigh, wrappers

ACCEPT = 0.5
"""Score below which a candidate is no answer, only an alternative."""

# Confidence by strength of the deciding rule, before what competes with it is taken off (calibrated on logs, see docs/accuracy.md).
WAITS = frozenset({"nccl_hang", "mqllmengine_stall", "client_connection", "performance_degradation"})
"""Buckets whose symptoms say that something waits: over as soon as requests are answered again."""
_PROGRESS = LazyPattern(r'" 200|generation throughput: (?!0\.0 )\d[\d.]* tokens/s|Running: 0 reqs')
"""An answer, tokens, or nothing left to do."""
CONFIDENCE = {"certain": 0.985, "strong": 0.955, "weak": 0.88, "guess": 0.6}


def decide(incidents: list[Incident], tail: list[Line], known: Known) -> Diagnosis:
    """Return the diagnosis of a log from its incidents: where servers share it, that of the one which failed."""
    return answer_among_servers(incidents, tail, lambda own, end: _decide_server(own, end, known))


def _decide_server(incidents: list[Incident], tail: list[Line], known: Known) -> Diagnosis:
    """Return the diagnosis of one server from its incidents; the last one counts.

    The one before counts where the last is but a restart that has got nowhere yet.
    """
    incident = incidents[-1]
    answer = _decide_one(incident, tail, known)
    if (
        len(incidents) > 1
        and (not answer.failed or answer.decided_by == "stage")
        and ORDER.get(incident.reached, -1) < READY
    ):
        earlier = incidents[-2]
        before = _decide_one(earlier, [], known)
        if before.failed:
            before.notes.append(
                f"A restart follows on line {incident.first}; it had reached «{incident.reached or 'launch'}» when the log ends."
            )
            answer = before
    answer.incidents = [
        {"first": item.first, "last": item.last, "reached": item.reached or "launch"} for item in incidents
    ]
    return answer


def _decide_one(incident: Incident, tail: list[Line], known: Known) -> Diagnosis:
    candidates = weigh(incident)
    symptoms = wrappers(incident)
    traces = untold(incident)
    best = candidates[0] if candidates and candidates[0].score >= ACCEPT else None
    if incident.foreign and not (best is not None and best.hit.rule.source.startswith("vllm")):
        answer = _of_other_software(incident, tail, known, candidates, traces)
    elif known.alone:
        answer = _by_model_alone(incident, tail, known)
    elif best is not None:
        answer = _from_candidate(best, candidates, known, incident)
    else:
        answer = _without_cause(incident, tail, known, candidates, symptoms, traces)
    answer.symptoms = [
        evidence_of(hit, "symptom")
        for hit in symptoms
        if hit.line.number not in {item.line for item in answer.evidence}
    ][:40]
    if answer.evidence:
        answer.context = [
            Evidence(number, text, process, "context")
            for number, text, process in incident.contexts.lines(answer.evidence[0].line)
        ]
    answer.reached = incident.reached or "launch"
    answer.stages = incident.stages
    answer.facts = {
        name: value for name, value in incident.facts.items() if name not in ("v1", "unit", "world_size_seen")
    }
    answer.explanation = [
        f"{item.bucket}/{item.cause} {item.score:.2f}: " + "; ".join(item.reasons) for item in candidates[:12]
    ] + answer.explanation
    return answer


def _from_candidate(best: Candidate, candidates: list[Candidate], known: Known, incident: Incident) -> Diagnosis:
    rivals = [other for other in candidates[1:] if other.bucket != best.bucket and other.score > ACCEPT - 0.3]
    confidence = CONFIDENCE[best.hit.rule.strength]
    if best.hit.quoted:
        confidence -= 0.25
    if best.score < 1.0:
        confidence -= 0.1
    if rivals:
        gap = best.score - rivals[0].score
        confidence -= max(0.0, 0.12 * (1 - gap / 0.8)) if gap < 0.8 else 0.0
    answer = answer_for(best.bucket, best.cause, confidence, "rule", known, incident, best.hit)
    answer.evidence = evidence_for(best, incident)
    answer.chain = chain_of(best.hit)
    total = confidence
    for other in rivals[:6]:
        if other.bucket in {name for name, _ in answer.alternatives}:
            continue
        share = max(0.01, min(confidence - 0.01, (1 - total) * 0.6 + 0.02))
        answer.alternatives.append((other.bucket, round(share, 3)))
        total = min(0.99, total + share)
    answer.also = [name for name, _ in answer.alternatives]
    return answer


def _without_cause(
    incident: Incident,
    tail: list[Line],
    known: Known,
    candidates: list[Candidate],
    symptoms: list[Hit],
    traces: list[Trace],
) -> Diagnosis:
    named = [hit for hit in symptoms if hit.rule.cause and not _recovered(hit, incident, tail)]
    ready = ORDER.get(incident.reached, -1) >= READY
    stop = stop_line(incident)
    stopped = bool(stop)
    early = [trace for trace in traces if not (stop and trace.number >= stop)]
    if stopped:
        named = [hit for hit in named if hit.line.number < stop]
    fatal = [trace for trace in early if trace.level in ("", "ERROR", "CRITICAL") and trace.frames]
    if named:
        # The wrapper that says most: a death before «the engine is dead», and that before other software's words.
        hit = max(
            named,
            key=lambda item: (
                item.rule.bucket != "unknown",
                item.rule.bucket != "engine_dead",
                STRENGTH[item.rule.strength],
                -item.line.number,
            ),
        )
        if not fatal or hit.rule.bucket != "engine_dead":
            answer = answer_for(hit.rule.bucket, hit.rule.cause, 0.87, "rule", known, incident, hit)
            answer.evidence = [evidence_of(hit, "cause")]
            answer.explanation.append(f"no cause in the log: the wrapper {hit.rule.id} is all there is")
            return _with_alternatives(answer, candidates)
    if fatal and not ready:
        return _with_alternatives(_unknown(known, incident, fatal, tail, 0.5), candidates, "engine_bug")
    if silent_end(incident, tail) and not fatal:
        answer = answer_for("nccl_hang", "silent_distributed_init", 0.66, "stage", known, incident, None)
        answer.evidence = [line_evidence(tail[-1])] if tail else []
        seen = [span for span in incident.stages if span.stage == "distributed_init"]
        answer.explanation.append(
            f"the log stops in distributed start-up (last mark on line {seen[-1].line if seen else '?'}), nothing follows"
        )
        return _with_alternatives(answer, candidates)
    # An excerpt may be the last line of a traceback and no more.
    raised = fatal or [trace for trace in early if trace.level in ("", "ERROR", "CRITICAL") and trace.kind]
    if raised and not incident.stages and not stopped:
        return _with_alternatives(_unknown(known, incident, raised, tail, 0.45), candidates, "engine_bug")
    return _healthy(incident, tail, known, candidates, fatal, stopped, ready)


def _of_other_software(
    incident: Incident, tail: list[Line], known: Known, candidates: list[Candidate], traces: list[Trace]
) -> Diagnosis:
    """Return that no cause is known, or no failure; what rules found in another program's words is no more than a hint."""
    if not (candidates or traces or incident.errors):
        return _healthy(incident, tail, known, candidates, [], stopped=False, ready=False)
    answer = answer_for("unknown", "unrecognised_failure", 0.6, "none", known, incident, None)
    answer.evidence = [evidence_of(item.hit, "telling") for item in candidates[:3]] or [
        line_evidence(line) for line in incident.errors[:3]
    ]
    answer.tail = answer.evidence or [line_evidence(line) for line in tail[-5:]]
    answer.notes.append(
        "Nothing in this log is vLLM's. If it is, give more of it: the lines before these tell what was started."
    )
    return _with_alternatives(answer, candidates)


def _by_model_alone(incident: Incident, tail: list[Line], known: Known) -> Diagnosis:
    """Return what the text model says; where it has nothing to judge, what the stage says."""
    ready, stopped = ORDER.get(incident.reached, -1) >= READY, bool(stop_line(incident))
    guesser = known.guesser
    guess = guesser.ask(incident, incident.errors, tail) if guesser is not None else None
    if guess is not None and known.answers(guess):
        return answer_of_guess(guess, known, incident)
    if guess is None and silent_end(incident, tail):
        return answer_for("nccl_hang", "silent_distributed_init", 0.66, "stage", known, incident, None)
    if guess is None or (guess.bucket == "no_failure" and (ready or stopped or guess.probability >= guess.threshold)):
        answer = _healthy(incident, tail, known, [], [], stopped, ready)
    else:
        answer = answer_for("unknown", "unrecognised_failure", 1 - guess.probability, "none", known, incident, None)
        answer.evidence = answer.tail = guess.evidence
    if guess is not None:
        if guess.bucket == answer.bucket == "no_failure":
            answer.confidence, answer.decided_by = round(guess.probability, 3), "model"
        answer.alternatives = [(name, round(share, 3)) for name, share in guess.ranked[:4] if name != answer.bucket]
        answer.explanation.append(guess.told())
    return answer


def _recovered(hit: Hit, incident: Incident, tail: list[Line]) -> bool:
    """Tell whether a wrapper or a wait was overtaken: the server came up, or answered requests, after it."""
    ready = next((span.line for span in incident.stages if span.stage == "api_ready"), 0)
    last = max(hit.last, hit.line.number)
    if ready and last < ready:
        return True
    if ready and hit.rule.bucket == "client_connection" and ("facts/answered" in incident.fired or hit.count < 3):
        return True  # probes and strangers' requests at a server that works
    answered = max((line.number for line in tail if _PROGRESS.search(line.text)), default=0)
    return hit.rule.bucket in WAITS and last < answered


def _healthy(  # noqa: PLR0913 - what is known when no cause was found
    incident: Incident,
    tail: list[Line],
    known: Known,
    candidates: list[Candidate],
    fatal: list[Trace],
    stopped: bool,
    ready: bool,
) -> Diagnosis:
    errors = [line for line in incident.errors if not _spoken_for(incident, line)]
    if not ready and not stopped and errors and not incident.stages:
        return _with_alternatives(_unknown(known, incident, fatal, tail, 0.4, errors), candidates)
    if stopped:
        cause, confidence = "stopped_from_outside", 0.93
    elif ready:
        cause, confidence = "healthy", 0.95
    elif incident.stages:
        cause, confidence = "still_starting", 0.85
    else:
        cause, confidence = "nothing_found", 0.7
    if fatal:
        confidence -= 0.15
    if errors:
        confidence -= 0.04
    answer = answer_for("no_failure", cause, confidence, "stage" if incident.stages else "none", known, incident, None)
    marks = [span for span in incident.stages if span.stage in ("shutdown", "serving", "api_ready")] or incident.stages[
        -1:
    ]
    answer.evidence = [Evidence(span.line, f"reached {span.stage}", "", "mark") for span in marks[-1:]]
    if errors:
        answer.notes.append(
            f"{len(errors)} error lines are worth a look, the first on line {errors[0].number}: {errors[0].text[:120]}"
        )
    return _with_alternatives(answer, candidates)


def _spoken_for(incident: Incident, line: Line) -> bool:
    return any(hit.line.number == line.number for hit in incident.hits)


def _unknown(
    known: Known,
    incident: Incident,
    traces: list[Trace],
    tail: list[Line],
    confidence: float,
    errors: list[Line] | None = None,
) -> Diagnosis:
    guesser = known.guesser
    guess = guesser.ask(incident, incident.errors, tail) if guesser is not None else None
    if guess is not None and known.answers(guess):
        return answer_of_guess(guess, known, incident)
    answer = answer_for("unknown", "unrecognised_failure", confidence, "none", known, incident, None)
    telling = [
        Evidence(trace.number, trace.raw or trace.text or trace.stack()[-160:], trace.process, "telling", trace.count)
        for trace in traces[:5]
    ]
    telling += [line_evidence(line) for line in (errors or [])[:5]]
    answer.evidence = telling[:3]
    answer.tail = telling or [line_evidence(line) for line in tail[-5:]]
    return answer


def _with_alternatives(answer: Diagnosis, candidates: list[Candidate], *more: str) -> Diagnosis:
    names: list[str] = []
    for candidate in candidates:
        if candidate.bucket not in names and candidate.bucket != answer.bucket:
            names.append(candidate.bucket)
    for name in more:
        if name not in names and name != answer.bucket:
            names.append(name)
    left = 1 - answer.confidence
    for index, name in enumerate(names[:5]):
        answer.alternatives.append((name, round(max(0.01, left * 0.5 / (index + 1)), 3)))
    return answer
