"""The table of modules: what the files of releases make, and what of it differs from the package around it."""

from __future__ import annotations

import json

from vllm_triage.training.options.modules import modules_in, pack, text


def test_files_make_modules_and_packages() -> None:
    """Other files, other packages and the root itself make none."""
    names = ["vllm/__init__.py", "vllm/a/__init__.py", "vllm/a/b.py", "vllm/c/d/e.py", "vllm/f.json", "tests/g.py"]
    assert modules_in(names) == {"a", "a.b", "c", "c.d", "c.d.e"}


def test_a_module_stands_in_the_table_where_its_package_tells_other_releases() -> None:
    """What goes with its package is left out; a gap between two times is none."""
    found = {"1": {"a", "a.b", "c"}, "2": {"c", "c.d"}, "3": {"a", "a.b", "a.new", "c", "c.d"}}
    table = pack(found)
    assert table == {"releases": ["1", "2", "3"], "modules": {"a": {"new": [2, 2]}, "c": {"d": [1, 2]}}}
    assert json.loads(text(table)) == table


def test_a_package_that_went_keeps_what_went_before_it() -> None:
    """Its own releases stand beside those of the module."""
    found = {"1": {"a", "a.b"}, "2": {"a"}, "3": set()}
    assert pack(found)["modules"] == {"a": {"": [0, 1], "b": [0, 0]}}
