"""Call paths by name: what a traceback could show above the place that raises."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

from vllm_triage.training.text_model.rows.callpaths import CallGraph, Step, call_graph
from vllm_triage.training.text_model.rows.sources import Reader, in_order, release_of

FILES = {
    "engine/core.py": "from vllm.worker import Worker\n\ndef run_engine():\n    worker = Worker()\n    worker.load_model()\n",
    "worker.py": "from .loader import load\n\nclass Worker:\n    def __init__(self):\n        prepare()\n    def load_model(self):\n        load('x')\n\ndef prepare():\n    raise ValueError('not prepared')\n",
    "loader.py": "def load(name):\n    check(name)\n\ndef check(name):\n    raise ValueError(f'no model {name}')\n",
    "broken.py": "def (:\n",
    "other.py": "def load(name):\n    return check(name)\n\ndef check(name):\n    return name\n",
}


@pytest.fixture
def graph(tmp_path: Path) -> CallGraph:
    """The graph of a small package."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return call_graph(Reader().modules(tmp_path))


def _names(steps: list[Step]) -> list[str]:
    return [f"{step.path}:{step.function}" for step in steps]


def test_a_way_leads_from_the_caller_to_the_place(graph: CallGraph) -> None:
    """Outermost first; imports decide between functions of one name."""
    found = graph.way("vllm/loader.py", "check", random.Random(1))
    assert _names(found) == ["vllm/engine/core.py:run_engine", "vllm/worker.py:load_model", "vllm/loader.py:load"]
    assert found[1].code == "load('x')"
    assert 'File "/opt/venv/lib/python3.12/site-packages/vllm/worker.py", line 7, in load_model' in found[1].printed()


def test_a_class_is_called_by_its_name(graph: CallGraph) -> None:
    """Making an object calls ``__init__``."""
    found = graph.way("vllm/worker.py", "prepare", random.Random(1))
    assert _names(found) == ["vllm/engine/core.py:run_engine", "vllm/worker.py:__init__"]


def test_nobody_known_calls_it(graph: CallGraph) -> None:
    """An entry point has no way down to it."""
    assert graph.way("vllm/engine/core.py", "run_engine", random.Random(1)) == []


def test_a_circle_ends() -> None:
    """Functions that call each other give a way of each once."""
    steps = {("a.py", "f"): [Step("a.py", 1, "g")], ("a.py", "g"): [Step("a.py", 2, "f")]}
    assert _names(CallGraph(steps).way("a.py", "f", random.Random(1))) == ["a.py:g"]


def test_an_archive_reads_like_a_folder(tmp_path: Path) -> None:
    """Python files alone, those of the package; a module that did not change is the same object in the next release."""
    reader = Reader()
    folder = tmp_path / "0.9.1"
    for name, text in FILES.items():
        file = folder / "vllm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    with zipfile.ZipFile(tmp_path / "vllm-0.9.2.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"vllm/{name}", text)
        archive.writestr("vllm/notes.txt", "no module")
        archive.writestr("other/loader.py", "def load(): pass")
    earlier, later = reader.modules(folder), reader.modules(tmp_path / "vllm-0.9.2.zip")
    assert [module.path for module in later] == [
        "vllm/engine/core.py", "vllm/loader.py", "vllm/other.py", "vllm/worker.py"
    ]  # fmt: skip
    assert all(one is other for one, other in zip(earlier, later, strict=True))


def test_releases_stand_in_their_order() -> None:
    """By version, whatever they are kept in."""
    places = [Path("vllm-0.10.0.zip"), Path("sources/0.9.2"), Path("vllm-0.5.3.post1.zip"), Path("0.5.3")]
    assert [release_of(place) for place in in_order(places)] == ["0.5.3", "0.5.3.post1", "0.9.2", "0.10.0"]
