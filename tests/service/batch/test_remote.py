"""Logs and reports behind URLs: in memory, and on an S3 server of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.batch.logs import no_cache, port_taken
from vllm_triage.classifier.errors import InputError
from vllm_triage.service.batch.asking import Asking
from vllm_triage.service.batch.engines.local import Here
from vllm_triage.service.batch.run import run
from vllm_triage.service.batch.sources import find
from vllm_triage.service.batch.store.reader import read_rows
from vllm_triage.service.batch.work import Write

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def memory() -> Iterator[str]:
    """Give a URL in memory with two logs below it."""
    system = fsspec.filesystem("memory")
    system.pipe_file("/fleet/logs/a.log", no_cache().encode())
    system.pipe_file("/fleet/logs/deep/b.log", port_taken().encode())
    yield "memory://fleet"
    system.rm("/fleet", recursive=True)


def test_a_url_is_listed_and_read(memory: str) -> None:
    """A folder, a pattern and a file behind a URL are as good as here."""
    assert len(list(find([f"{memory}/logs"]))) == 2
    assert [log.name for log in find([f"{memory}/logs/*.log"])] == ["memory:///fleet/logs/a.log"]
    assert len(list(find([f"{memory}/logs/deep/b.log"]))) == 1


def test_reports_may_lie_behind_a_url(memory: str) -> None:
    """Rows are written, published and found again; the second run has nothing to do."""
    work = Write(Asking(), f"{memory}/reports", "parquet")
    assert run([f"{memory}/logs"], work, Here()).logs == 2
    assert run([f"{memory}/logs"], work, Here()).logs == 0
    assert {row["bucket"] for row in read_rows(f"{memory}/reports")} == {"kv_cache_oom", "port_in_use"}


def test_what_is_not_there_is_told(memory: str) -> None:
    """An empty place, and a protocol that nobody knows."""
    with pytest.raises(InputError, match="nothing there"):
        list(find([f"{memory}/gone"]))
    with pytest.raises(InputError, match="nowhere"):
        list(find(["nowhere://bucket/logs"]))


@pytest.mark.slow
def test_an_s3_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on a server that speaks S3."""
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = pytest.importorskip("moto.server", reason="moto is not installed").ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        system = fsspec.filesystem("s3", skip_instance_cache=True)
        system.mkdir("fleet")
        system.pipe_file("fleet/logs/a.log", no_cache().encode())
        system.pipe_file("fleet/logs/b.log", (no_cache() + port_taken(2)).encode())
        work = Write(Asking(), "s3://fleet/reports", "parquet")
        assert run(["s3://fleet/logs"], work, Here()).logs == 2
        assert run(["s3://fleet/logs/*.log"], work, Here()).skipped == 2
        rows = list(read_rows("s3://fleet/reports"))
        assert sorted(row["bucket"] for row in rows) == ["kv_cache_oom", "kv_cache_oom", "port_in_use"]
        assert all(row["day"] and row["source"].startswith("s3://fleet/logs/") for row in rows)
    finally:
        server.stop()
