"""A small service behind the page: the real library, an in-memory history, faults on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from vllm_triage.classifier.api import shared
from vllm_triage.classifier.errors import InputError
from vllm_triage.classifier.report.model import Report
from vllm_triage.classifier.report.schema import report_of
from vllm_triage.corpus.page import page_of
from vllm_triage.service.render.interface import Options, Result, render
from vllm_triage.service.web import page_router

SUMMARY = ("bucket", "cause", "title", "confidence", "decided_by")


class Memory:
    """Incidents of one server, in a dictionary; ``faults`` maps a path to the problem it answers with."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.feedback: list[dict[str, Any]] = []
        self.lanes: list[dict[str, Any]] = []
        self.unnamed: dict[str, Any] = {
            "groups": [],
            "incidents": 0,
            "alone": 0,
            "made": None,
            "pending": False,
            "problem": "",
        }
        self.faults: dict[str, tuple[int, dict[str, Any]]] = {}
        self.key = ""
        self.me: dict[str, Any] = {"name": "", "scopes": [], "signed_in": False, "sign_in": None}
        self.delay = 0.0

    def record(self, report: dict[str, Any], service: str, name: str, at: datetime | None = None) -> dict[str, Any]:
        """Keep a report, and return what the API calls its incident."""
        key = f"inc_{abs(hash((report['cause'], report['title'], service))):016x}"
        now = (at or datetime.now(UTC)).isoformat()
        entry = self.stored.setdefault(
            key, {"incident": {"id": key, "first_seen": now, "service": service, "times": []}}
        )
        entry["report"] = report
        incident = entry["incident"]
        incident["times"].append(now)
        facts = report["facts"]
        incident |= {name: report[name] for name in SUMMARY}
        incident |= {
            "fingerprint": key[-16:], "occurrences": len(incident["times"]), "last_seen": now, "name": name,
            "new": len(incident["times"]) == 1, "url": f"/incidents/{key}", "feedback": None,
            "model": facts.get("model", ""), "vllm_version": facts.get("vllm_version", ""),
        }  # fmt: skip
        entry["incident"] = incident
        return {key: value for key, value in incident.items() if key != "times"}


def make_app(memory: Memory) -> FastAPI:  # noqa: C901, PLR0915 - one function for each route
    """Return the application: the page, and what it calls."""
    app = FastAPI()
    app.include_router(page_router())

    @app.middleware("http")
    async def guard(request: Request, call_next: Any) -> Response:
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if path.startswith("/v1/"):
            if memory.key and request.headers.get("authorization") != f"Bearer {memory.key}":
                return _problem(401, "An API key is needed", "Send it as Authorization: Bearer KEY.")
            if path in memory.faults:
                status, problem = memory.faults[path]
                return JSONResponse(problem, status, media_type="application/problem+json")
            await asyncio.sleep(memory.delay)
        answer: Response = await call_next(request)
        return answer

    @app.post("/v1/triage/stream")
    async def stream(request: Request) -> Response:
        body = await request.body()

        def answer() -> Iterator[str]:
            yield (
                json.dumps({"event": "progress", "lines": body.count(b"\n"), "bytes": len(body), "reached": ""}) + "\n"
            )
            try:
                report = shared().report(body).to_dict()
            except InputError as error:
                problem = {"title": "This is no log", "detail": str(error), "status": 422}
                yield json.dumps({"event": "problem", "problem": problem}) + "\n"
                return
            query = request.query_params
            keep = query.get("store") != "false"
            incident = memory.record(report, query.get("service", ""), query.get("name", "")) if keep else None
            yield json.dumps({"event": "report", "report": report | {"incident": incident}}) + "\n"

        return StreamingResponse(answer(), media_type="application/x-ndjson")

    @app.post("/v1/render")
    async def rendered(request: Request) -> Response:
        report = Report.from_json(await request.body())
        text = render("markdown", [Result("-", report)], Options(verbose=True, color="never"))
        return Response(text, media_type=request.headers["accept"])

    @app.get("/v1/incidents/{key}/pack")
    def pack(key: str, request: Request) -> Response:
        prompt = report_of(memory.stored[key]["report"]).pack().prompt()
        return Response(prompt, media_type=request.headers["accept"])

    @app.get("/auth/me")
    def me() -> Any:
        return memory.me

    @app.post("/auth/logout", status_code=204)
    def logout() -> None:
        memory.me = {"name": "", "scopes": [], "signed_in": False, "sign_in": memory.me["sign_in"]}

    @app.post("/v1/triage")
    async def triage(request: Request) -> Any:
        assert "false" == request.query_params["store"]
        return shared().report((await request.json())["log"].encode()).to_dict()

    @app.patch("/v1/incidents/{key}")
    async def handle(key: str, request: Request) -> Any:
        incident = memory.stored[key]["incident"]
        incident |= {"state": "open", "muted_until": None, "assignee": "", "handled_by": memory.me["name"]} | {
            name: incident[name] for name in ("state", "muted_until", "assignee") if name in incident
        }
        incident |= await request.json()
        return incident

    @app.get("/v1/incidents")
    def incidents(
        q: str = "",
        service: str = "",
        bucket: str = "",
        feedback: str = "",
        state: str = "",
        limit: int = 50,
        cursor: int = 0,
    ) -> Any:
        rows = [entry["incident"] for entry in memory.stored.values()]
        rows = [row for row in rows if q.lower() in json.dumps(row).lower() and service in ("", row["service"])]
        rows = sorted((row for row in rows if bucket in ("", row["bucket"])), key=lambda row: row["last_seen"])[::-1]
        rows = [row for row in rows if feedback in ("", row["feedback"] or "none")]
        rows = [row for row in rows if state in ("", row.get("state", "open"))]
        more = cursor + limit < len(rows)
        return {"items": rows[cursor : cursor + limit], "next": str(cursor + limit) if more else None}

    @app.get("/v1/unnamed")
    def unnamed() -> Any:
        return memory.unnamed

    @app.get("/v1/messages")
    def messages() -> Any:
        return {"lanes": memory.lanes}

    @app.get("/v1/incidents/stats")
    def stats(step: str = "day", service: str = "") -> Any:
        counts: dict[str, dict[str, int]] = {}
        for entry in memory.stored.values():
            incident = entry["incident"]
            for time in incident["times"] if service in ("", incident["service"]) else ():
                at = time[:13] + ":00:00+00:00" if step == "hour" else time[:10] + "T00:00:00+00:00"
                bucket = counts.setdefault(incident["bucket"], {})
                bucket[at] = bucket.get(at, 0) + 1
        told = [
            {"bucket": bucket, "counts": [{"at": at, "count": count} for at, count in sorted(times.items())]}
            for bucket, times in counts.items()
        ]
        return {"buckets": told, "total": sum(sum(times.values()) for times in counts.values())}

    @app.get("/v1/incidents/{key}")
    def incident(key: str) -> Any:
        if key not in memory.stored:
            return _problem(404, "No such incident", key)
        entry = memory.stored[key]
        times = [
            {"id": str(number), "at": at, "name": "", "service": ""}
            for number, at in enumerate(entry["incident"]["times"])
        ]
        return {**entry, "occurrences": times, "feedback": [row for row in memory.feedback if row["incident"] == key]}

    @app.post("/v1/feedback", status_code=201)
    async def feedback(request: Request) -> Any:
        row = await request.json()
        memory.feedback.append(row)
        memory.stored[row["incident"]]["incident"]["feedback"] = row["verdict"]
        return row

    @app.get("/v1/buckets")
    def buckets() -> Any:
        corpus = shared().corpus
        return [{"id": name, "title": corpus.bucket(name).title} for name in corpus.buckets()]

    @app.get("/v1/buckets/{name}")
    def bucket(name: str) -> Any:
        return page_of(shared().corpus.bucket(name))

    return app


def fill(memory: Memory, reports: list[dict[str, Any]]) -> None:
    """Spread reports over the last weeks and two services."""
    now = datetime.now(UTC)
    for number, report in enumerate(reports):
        for turn in range(1 + number * 7 % 5):
            at = now - timedelta(days=(number * 5 + turn * 3) % 28, hours=number % 20)
            memory.record(report, ("chat", "search")[number % 2], f"server-{number}.log", at)


def _problem(status: int, title: str, detail: str) -> Response:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "request_id": "req_1"}
    return JSONResponse(body, status, media_type="application/problem+json")
