"""What nobody should do to a service: requests that are broken, and kill -9."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from tests.service.http.conftest import LOG, PATIENCE, eventually
from tests.service.http.fuzzing import Case, cases, send
from tests.service.http.writers import Writers, lost
from vllm_triage.corpus.store import HERE

LOGS = [path.read_bytes()[:20_000] for path in sorted((Path(HERE) / "logs" / "written").glob("*.log"))]
BODIES = 200


@pytest.mark.slow
def test_no_body_makes_an_error_of_ours_or_hangs(serve, tmp_path):
    """Broken, lying, slow, cut off: an answer below 500 or the end of the connection; then the service is as before."""
    server = serve(
        database=f"sqlite:///{tmp_path}/h.sqlite", idle_seconds=1, stream_seconds=2, max_decompressed=16 << 20,
        queue=1000, shutdown_seconds=5,
    )  # fmt: skip
    one = cases(1, LOGS)
    todo = iter([one() for _ in range(BODIES)])
    sent: list[Case] = []

    def client() -> None:
        for case in todo:
            send(server.port, case, PATIENCE)
            sent.append(case)

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert BODIES == len(sent)
    assert [] == [(case.kind, case.pieces) for case in sent if any(status >= 500 for status in case.statuses)]
    assert {200, 400, 422} <= {status for case in sent for status in case.statuses}
    assert 200 == server.post("/v1/triage", content=LOG).status_code
    assert eventually(lambda: "vllm_triage_http_in_flight 1.0" in server.get("/metrics").text)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_was_acknowledged_outlives_kill_9(serve, tmp_path):
    """Each incident that a client was answered with is there afterwards, with as many occurrences."""
    database = f"sqlite:///{tmp_path}/h.sqlite"
    server = serve(database=database)
    writers = Writers(server.url, LOG, "kill")
    writers.start()
    assert writers.answered.wait(PATIENCE)
    server.stop(signal.SIGKILL)
    writers.join()
    after = serve(database=database)

    assert len(writers.acknowledged) >= 12
    assert [] == lost(after.url, writers.acknowledged)
    assert 200 == httpx2.get(f"{after.url}/readyz", timeout=PATIENCE).status_code
