"""The fleet's page in a browser: readable in both schemes, short, and its tables search, sort and fold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.fleet.rows import row
from tests.service.web.helpers import CONTRAST
from vllm_triage.service.fleet.counts import count
from vllm_triage.service.fleet.page import page
from vllm_triage.service.fleet.summary import summarise


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    """The page of thirty causes on some nodes, as a file."""
    fix = [{"rank": 1, "title": "Cap it", "change": "--max-model-len 4096"}]
    rows = [
        row(
            10 * cause + copy, f"kv_cache_oom/cause_{cause}", node=f"gpu-{copy}", release=f"0.{cause % 12}.1", fixes=fix
        )
        for cause in range(30)
        for copy in range(1 + cause % 3)
    ]
    target = tmp_path / "fleet.html"
    target.write_text(page(summarise(count(iter(rows))), service="http://triage.example"))
    return target.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_readable_and_short(fleet: str, open_page: Callable[..., Any], theme: str, width: int):
    tab = open_page(fleet, theme=theme, width=width)

    assert tab.evaluate(CONTRAST) == []
    assert tab.evaluate("document.documentElement.scrollHeight / 900") < 3
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_search_sort_and_fold(fleet: str, open_page: Callable[..., Any]):
    """Eight rows of thirty, until all are asked for; each cause with its fix, its share and a link."""
    tab = open_page(fleet)
    causes = tab.locator("table").nth(0)
    shown = causes.locator("tbody tr:visible")

    assert shown.count() == 8
    assert tab.locator("text=% of the failures go").count() == 1
    assert causes.locator("a").first.get_attribute("href") == "http://triage.example/history?bucket=kv_cache_oom"
    tab.locator("input[type=search]").first.fill("cause_17")
    assert shown.count() == 1
    tab.locator("input[type=search]").first.fill("")
    tab.locator("button", has_text="All 30").click()
    assert shown.count() == 30
    causes.locator("th button", has_text="starts").click()
    assert causes.locator("tbody tr").first.locator("td").nth(2).inner_text() == "3"


def test_releases_stand_in_their_order(fleet: str, open_page: Callable[..., Any]):
    """Not by how often they fail."""
    tab = open_page(fleet)
    tab.locator("summary", has_text="By release").click()
    names = tab.locator("details", has_text="By release").locator("tbody tr td:first-child").all_inner_texts()

    assert names == sorted(names, key=lambda name: [int(part) for part in name.split(".")])
