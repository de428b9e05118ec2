"""The queries of docs/scale.md, on rows as batch writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.service.batch.logs import fleet
from vllm_triage.service.cli.commands.batch import run

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
PAGE = Path(__file__).parents[3] / "docs" / "scale.md"


@pytest.fixture
def answers(tmp_path: Path) -> list[list[tuple[object, ...]]]:
    """Give what the queries of the page answer on six logs."""
    words = [fleet(tmp_path / "logs"), "--out", tmp_path / "reports", "-j", 1, "--from-path", r"/(?P<node>node-\d)/"]
    assert run([str(word) for word in words]) == 0
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [duckdb.sql(query.replace("'reports/", f"'{tmp_path}/reports/")).fetchall() for query in queries]


def test_the_queries_of_the_page(answers: list[list[tuple[object, ...]]]) -> None:
    """Each answers what stands above it."""
    what, releases, new, nodes, wordings = answers
    assert [row[:4] for row in what] == [
        ("kv_cache_oom", "kv_cache_oom/no_cache_blocks", 6, 6),
        ("port_in_use", "port_in_use/http_port_taken", 2, 2),
    ]
    assert releases == [("0.19.1", 6, 6, 100.0)]
    assert {row[0] for row in new} <= {row[1] for row in what}
    assert nodes == [("node-0", 4, 4, 1.0, 1.0), ("node-1", 4, 4, 1.0, 1.0)]
    ((template, starts, example, fix),) = wordings
    assert (template, starts) == ("ValueError no available memory for the cache blocks", 6)
    assert str(example).endswith("ValueError: No available memory for the cache blocks.")
    assert fix
