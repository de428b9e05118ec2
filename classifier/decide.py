"""Makes one answer of the weighed candidates: a bucket, or an honest «unknown» or «no failure»."""

from __future__ import annotations

from typing import Any

from .advise import advise, sentences
from .command import corrected_command
from .diagnose import ORDER, READY, STRENGTH, silent_end, stop_line, untold, weigh, wrappers
from .model import Candidate, Diagnosis, Evidence, Hit, Incident, Line, Trace
from .release import gone_from, release_for

ACCEPT = 0.5
"""Score below which a candidate is no answer, only an alternative."""

# Confidence by strength of the deciding rule, before what competes with it is taken off (calibrated on logs, see docs/accuracy.md).
WAITS = frozenset({"nccl_hang", "mqllmengine_stall", "client_connection", "performance_degradation"})
"""Buckets whose symptoms say that something waits: over as soon as requests are answered again."""
CONFIDENCE = {"certain": 0.985, "strong": 0.955, "weak": 0.88, "guess": 0.6}


def decide(incidents: list[Incident], tail: list[Line], corpus: Any) -> Diagnosis:
    """Return the diagnosis of a log from its incidents; the last one counts.

    The one before counts where the last is but a restart that has got nowhere yet.
    """
    incident = incidents[-1]
    answer = _decide_one(incident, tail, corpus)
    if (
        len(incidents) > 1
        and (not answer.failed or answer.decided_by == "stage")
        and ORDER.get(incident.reached, -1) < READY
    ):
        earlier = incidents[-2]
        before = _decide_one(earlier, [], corpus)
        if before.failed:
            before.notes.append(
                f"A restart follows on line {incident.first}; it had reached «{incident.reached or 'launch'}» when the log ends."
            )
            answer = before
    answer.incidents = [
        {"first": item.first, "last": item.last, "reached": item.reached or "launch"} for item in incidents
    ]
    return answer


def _decide_one(incident: Incident, tail: list[Line], corpus: Any) -> Diagnosis:
    candidates = weigh(incident)
    symptoms = wrappers(incident)
    traces = untold(incident)
    best = candidates[0] if candidates and candidates[0].score >= ACCEPT else None
    if best is not None:
        answer = _from_candidate(best, candidates, corpus, incident)
    else:
        answer = _without_cause(incident, tail, corpus, candidates, symptoms, traces)
    answer.symptoms = [
        _evidence(hit, "symptom") for hit in symptoms if hit.line.number not in {item.line for item in answer.evidence}
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


def _from_candidate(best: Candidate, candidates: list[Candidate], corpus: Any, incident: Incident) -> Diagnosis:
    rivals = [other for other in candidates[1:] if other.bucket != best.bucket and other.score > ACCEPT - 0.3]
    confidence = CONFIDENCE[best.hit.rule.strength]
    if best.hit.quoted:
        confidence -= 0.25
    if best.score < 1.0:
        confidence -= 0.1
    if rivals:
        gap = best.score - rivals[0].score
        confidence -= max(0.0, 0.12 * (1 - gap / 0.8)) if gap < 0.8 else 0.0
    answer = _answer(best.bucket, best.cause, confidence, "rule", corpus, incident, best.hit)
    answer.evidence = _evidence_of(best, incident)
    answer.chain = _chain(best.hit)
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
    corpus: Any,
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
            answer = _answer(hit.rule.bucket, hit.rule.cause, 0.87, "rule", corpus, incident, hit)
            answer.evidence = [_evidence(hit, "cause")]
            answer.explanation.append(f"no cause in the log: the wrapper {hit.rule.id} is all there is")
            return _with_alternatives(answer, candidates)
    if fatal and not ready:
        return _with_alternatives(_unknown(corpus, incident, fatal, tail, 0.5), candidates, "engine_bug")
    if silent_end(incident, tail) and not fatal:
        answer = _answer("nccl_hang", "silent_distributed_init", 0.66, "stage", corpus, incident, None)
        answer.evidence = [_line_evidence(tail[-1])] if tail else []
        seen = [span for span in incident.stages if span.stage == "distributed_init"]
        answer.explanation.append(
            f"the log stops in distributed start-up (last mark on line {seen[-1].line if seen else '?'}), nothing follows"
        )
        return _with_alternatives(answer, candidates)
    if fatal and not incident.stages and not stopped:
        return _with_alternatives(_unknown(corpus, incident, fatal, tail, 0.45), candidates, "engine_bug")
    return _healthy(incident, tail, corpus, candidates, fatal, stopped, ready)


def _recovered(hit: Hit, incident: Incident, tail: list[Line]) -> bool:
    """Tell whether a wrapper or a wait was overtaken: the server came up, or answered requests, after it."""
    ready = next((span.line for span in incident.stages if span.stage == "api_ready"), 0)
    last = max(hit.last, hit.line.number)
    if ready and last < ready:
        return True
    if ready and hit.rule.bucket == "client_connection" and ("facts/answered" in incident.fired or hit.count < 3):
        return True  # probes and strangers' requests at a server that works
    answered = max((line.number for line in tail if '" 200' in line.text), default=0)
    return hit.rule.bucket in WAITS and last < answered


def _healthy(  # noqa: PLR0913 - what is known when no cause was found
    incident: Incident,
    tail: list[Line],
    corpus: Any,
    candidates: list[Candidate],
    fatal: list[Trace],
    stopped: bool,
    ready: bool,
) -> Diagnosis:
    errors = [line for line in incident.errors if not _spoken_for(incident, line)]
    if not ready and not stopped and errors and not incident.stages:
        return _with_alternatives(_unknown(corpus, incident, fatal, tail, 0.4, errors), candidates)
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
    answer = _answer("no_failure", cause, confidence, "stage" if incident.stages else "none", corpus, incident, None)
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
    corpus: Any,
    incident: Incident,
    traces: list[Trace],
    tail: list[Line],
    confidence: float,
    errors: list[Line] | None = None,
) -> Diagnosis:
    guessed = _by_model(corpus, incident, tail)
    if guessed is not None:
        return guessed
    answer = _answer("unknown", "unrecognised_failure", confidence, "none", corpus, incident, None)
    telling = [
        Evidence(trace.number, trace.raw or trace.text or trace.stack()[-160:], trace.process, "telling", trace.count)
        for trace in traces[:5]
    ]
    telling += [_line_evidence(line) for line in (errors or [])[:5]]
    answer.evidence = telling[:3]
    answer.tail = telling or [_line_evidence(line) for line in tail[-5:]]
    return answer


def _by_model(corpus: Any, incident: Incident, tail: list[Line]) -> Diagnosis | None:
    """Return what the text model reads out of messages that no rule knows, where it is sure enough; else None."""
    from . import text_model

    errors = incident.errors or ([] if incident.traces else text_model.notable(tail))
    guess = text_model.predict(incident.traces, errors, incident.reached)
    if not guess or guess[0][1] < text_model.THRESHOLD or guess[0][0] in ("unknown", "no_failure"):
        return None
    bucket, probability = guess[0]
    answer = _answer(bucket, "by_text_model", probability, "model", corpus, incident, None)
    answer.evidence = text_model.evidence(incident.traces, errors, incident.reached, bucket)
    answer.alternatives = [(name, round(share, 3)) for name, share in guess[1:4]]
    answer.notes.append(
        f"No rule knows these words; they are most like those of {bucket}. Its causes and fixes: vllm-triage explain {bucket}"
    )
    answer.explanation.append(
        "decided by the text model: " + text_model.problem() if text_model.problem() else "decided by the text model"
    )
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


def _answer(  # noqa: PLR0913 - the parts of an answer
    bucket: str, cause: str, confidence: float, decided_by: str, corpus: Any, incident: Incident, hit: Hit | None
) -> Diagnosis:
    try:
        texts = corpus.texts(bucket)
    except KeyError:
        texts = {"title": bucket.replace("_", " "), "causes": {}}
    entry = texts["causes"].get(cause, {})
    captures = dict(hit.captures) if hit is not None else {}
    values = {**incident.facts, **captures}
    facts = incident.facts
    said = [hit.rule.versions] if hit is not None else []
    said += [other.rule.versions for other in incident.hits if not other.quoted]
    release, assumed = release_for(facts, filter(None, said), corpus.releases)
    gone = gone_from(hit.rule.versions, release) if hit is not None and hit.rule.source == "vllm" else ""
    fixes = advise(entry, facts, captures, release, gone)
    return Diagnosis(
        bucket=bucket,
        cause=f"{bucket}/{cause}",
        confidence=round(min(0.99, max(0.05, confidence)), 3),
        decided_by=decided_by,
        title=sentences(entry.get("title", ""), values) or texts["title"],
        summary=sentences(entry.get("summary", ""), values),
        fixes=fixes,
        corrected_command=corrected_command(facts, fixes) if bucket != "no_failure" else "",
        confirm=sentences(entry.get("confirm", ""), values),
        refute=sentences(entry.get("refute", ""), values),
        notes=[assumed] if assumed and any(fix["versions"] for fix in entry.get("fix", ())) else [],
    )


def _evidence_of(best: Candidate, incident: Incident) -> list[Evidence]:
    evidence = [_evidence(best.hit, "cause")]
    taken = {best.hit.line.number}
    trace = best.hit.trace
    if trace is not None and trace.text and trace.number not in taken:
        evidence.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "cause", trace.count))
        taken.add(trace.number)
    for item in _place(best.hit):
        if item.line not in taken:
            evidence.append(item)
            taken.add(item.line)
    same = [
        hit for hit in incident.hits if hit.rule.role == "cause" and hit.rule.bucket == best.bucket and not hit.quoted
    ]
    for hit in sorted(same, key=lambda item: (item.rule.cause != best.cause, item.line.number)):
        if hit.line.number in taken:
            continue
        taken.add(hit.line.number)
        told = next((item for item in evidence if item.text.endswith(hit.line.text)), None)
        if told is not None:
            # The same words from another process, or printed bare once more.
            told.count += hit.count
        elif len(evidence) < 4:
            evidence.append(_evidence(hit, "cause"))
    return evidence


def _place(hit: Hit) -> list[Evidence]:
    """Return the frame that speaks for the cause: the one that the rule asks for, or where a wordless exception arose."""
    trace, rule = hit.trace, hit.rule
    if trace is None or not trace.frames:
        return []
    frames = trace.frames
    if rule.frames:
        expression = rule.expression("frames")
        frames = [
            frame for frame in frames if expression.search(f"{frame.path}:{frame.function}: {frame.code}")
        ] or frames
    elif trace.message.strip() and not rule.innermost:
        return []
    frame = frames[-1]
    lines = [(frame.line, frame.raw), (frame.code_line, frame.code_raw)]
    return [Evidence(number, text, trace.process, "place") for number, text in lines if number and text]


def _evidence(hit: Hit, role: str) -> Evidence:
    count = max(hit.count, hit.trace.count if hit.trace is not None and hit.trace.number == hit.line.number else 1)
    return Evidence(hit.line.number, hit.line.raw or hit.line.text, hit.line.process, role, count)


def _line_evidence(line: Line) -> Evidence:
    return Evidence(line.number, line.raw or line.text, line.process, "telling")


def _chain(hit: Hit) -> list[Evidence]:
    """Return the exceptions that were raised from the cause, in order."""
    links: list[Evidence] = []
    trace = hit.trace.cause_of if hit.trace is not None else None
    while trace is not None and len(links) < 6:
        if trace.text:
            links.append(Evidence(trace.number, trace.raw or trace.text, trace.process, "chain", trace.count))
        trace = trace.cause_of
    return links
