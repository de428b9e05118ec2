"""The modules of a wheel in one file: what they know of themselves, and when they are imported as usual instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_triage import bundle

ROOM = {
    "__init__.py": "",
    "start.py": "from .rooms import inner\n\nword = 'start'\n",
    "rooms/__init__.py": "'''Rooms.'''\n",
    "rooms/inner.py": "import inspect\n\n\ndef broken():\n    raise ValueError('in here')\n",
    "rooms/words.txt": "three words here\n",
    "late.py": "word = 'late'\n",
}
GROUPS = (["house.start", "house.rooms", "house.rooms.inner"], ["house.late"])
SERVED = """
import sys, importlib.util
spec = importlib.util.spec_from_file_location("bundle", {bundle!r})
served = importlib.util.module_from_spec(spec)
spec.loader.exec_module(served)
sys.path.insert(0, {parent!r})
import house
{before}
made = served.serve(house.__path__[0])
{code}
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A package with a bundle."""
    folder = tmp_path / "house"
    for name, text in ROOM.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    bundle.write(str(folder), GROUPS)
    return folder


def run(house: Path, code: str, *options: str, before: str = "") -> str:
    """Run ``code`` where the bundle is served, and return what it prints."""
    told = SERVED.format(bundle=bundle.__file__, parent=str(house.parent), before=before, code=code)
    done = subprocess.run(
        [sys.executable, "-I", "-B", *options, "-c", told], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


def loader(house: Path, *options: str, before: str = "", module: str = "house.rooms.inner") -> str:
    """Return the class that loaded a module."""
    code = f"import {module}; print(type({module}.__spec__.loader).__name__)"
    return run(house, code, *options, before=before)


def test_what_is_in_the_bundle_comes_from_it(house: Path) -> None:
    assert loader(house) == "Loader"
    assert loader(house, module="house.late") == "Loader"


def test_a_group_is_read_when_one_of_its_modules_is_needed(house: Path) -> None:
    # A file that is cut short after the first group: what is left is imported as usual.
    whole = (house / bundle.FILE).read_bytes()
    (house / bundle.FILE).write_bytes(whole[:-20])
    assert run(house, "import house.start, house.late; print(house.start.word, house.late.word)") == "start late"


def test_modules_know_their_source(house: Path) -> None:
    code = """
import inspect, importlib.resources, linecache, traceback, pickle
from house.rooms import inner
from house import rooms
assert inspect.getsource(inner.broken).startswith('def broken')
assert inner.__file__ == inner.broken.__code__.co_filename and inner.__file__.endswith('inner.py')
assert inner.__cached__ == importlib.util.cache_from_source(inner.__file__)
assert rooms.__path__ == [rooms.__file__.removesuffix('/__init__.py')] and inner.__package__ == 'house.rooms'
assert importlib.resources.files('house.rooms').joinpath('words.txt').read_text() == 'three words here\\n'
assert inner.__spec__.loader.get_source('house.rooms.inner').startswith('import inspect')
assert pickle.loads(pickle.dumps(inner.broken)) is inner.broken
try:
    inner.broken()
except ValueError:
    print(traceback.format_exc())
"""
    shown = run(house, code)
    assert f'File "{house / "rooms" / "inner.py"}", line 5, in broken' in shown
    assert "raise ValueError('in here')" in shown


def test_a_module_can_be_run_and_loaded_anew(house: Path) -> None:
    code = """
import runpy, importlib, house.late
house.late.word = 'other'
print(importlib.reload(house.late).word, runpy.run_module('house.start')['word'])
"""
    assert run(house, code) == "late start"


def test_a_changed_source_is_read(house: Path) -> None:
    longer, later, gone = house / "late.py", house / "start.py", house / "rooms" / "inner.py"
    longer.write_text("word = 'changed'\n", encoding="utf-8")
    later.write_text(ROOM["start.py"].replace("'start'", "'other'"), encoding="utf-8")
    made = (house / bundle.FILE).stat().st_mtime
    os.utime(longer, (made, made))
    os.utime(later, (made + 60, made + 60))
    gone.unlink()
    assert run(house, "import house.late; print(house.late.word)") == "changed"
    code = "import sys; sys.modules['house.rooms.inner'] = 1; import house.start; print(house.start.word)"
    assert run(house, code) == "other"
    with pytest.raises(AssertionError, match=r"No module named 'house\.rooms\.inner'"):
        run(house, "import house.rooms.inner")


def test_another_python_finds_nothing(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "build_of", lambda: "cpython-27;0")
    bundle.write(str(house), GROUPS)
    assert loader(house) == "SourceFileLoader"


@pytest.mark.parametrize("damage", [b"", b"\0" * 8, b"\0\0\0\0\0\0\0\5", b"nothing of ours at all"])
def test_a_broken_bundle_is_no_bundle(house: Path, damage: bytes) -> None:
    (house / bundle.FILE).write_bytes(damage)
    assert loader(house) == "SourceFileLoader"


def test_without_a_bundle_all_is_as_usual(house: Path) -> None:
    (house / bundle.FILE).unlink()
    assert loader(house) == "SourceFileLoader"


def test_who_wants_to_see_imports_sees_them(house: Path) -> None:
    hook = "sys.path_hooks.insert(0, lambda path: (_ for _ in ()).throw(ImportError()))"
    assert loader(house, before=hook) == "SourceFileLoader"
    first = """
class Seen:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith('house'): print(name)
sys.meta_path.insert(0, Seen)
"""
    assert run(house, "import house.late", before=first) == "house.late"


def test_asserts_can_be_left_out(house: Path) -> None:
    assert loader(house, "-O") == "SourceFileLoader"


def test_the_front_serves_a_bundle_where_there_is_one(tmp_path: Path) -> None:
    front = Path(bundle.__file__).parent
    package = tmp_path / "vllm_triage"
    (package / "classifier").mkdir(parents=True)
    (package / "classifier" / "__init__.py").write_text("", encoding="utf-8")
    for name in ("__init__.py", "bundle.py"):
        (package / name).write_bytes((front / name).read_bytes())
    code = "import vllm_triage.classifier as room; print(type(room.__spec__.loader).__name__)"

    def loaded() -> str:
        told = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"
        return subprocess.run(
            [sys.executable, "-I", "-B", "-c", told], capture_output=True, text=True, check=True
        ).stdout

    assert loaded() == "SourceFileLoader\n"
    bundle.write(str(package), [["vllm_triage.classifier"]])
    assert loaded() == "Loader\n"
