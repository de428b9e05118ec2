"""Which messages are found in Python sources, and as which templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_triage.training.messages.collect import collect
from vllm_triage.training.messages.mine import mine, skipped
from vllm_triage.training.messages.text import LONGEST, tidy


def _found(source: str) -> list[tuple[str, str, str, str]]:
    return [
        (item.kind, item.exception or item.level, item.function, item.template) for item in mine("vllm/a.py", source)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise ValueError(f'size {a} of the cache')", ("raise", "ValueError", "<module>", "size {} of the cache")),
        ("raise ValueError('size %s of the cache' % a)", ("raise", "ValueError", "<module>", "size {} of the cache")),
        ("raise E('size {a!r} of the cache'.format(a=1))", ("raise", "E", "<module>", "size {} of the cache")),
        ("raise mod.E('No free ' + name + ' left here')", ("raise", "E", "<module>", "No free {} left here")),
        ("raise E(404, detail='No such model')", ("raise", "E", "<module>", "No such model")),
        ("assert a, 'The cache must be set'", ("assert", "AssertionError", "<module>", "The cache must be set")),
        ("logger.error('Worker %d died.', 3)", ("log", "ERROR", "<module>", "Worker {} died.")),
        ("self.logger.critical('Worker died')", ("log", "CRITICAL", "<module>", "Worker died")),
        ("logger.warning_once('Worker died')", ("log", "WARNING", "<module>", "Worker died")),
        ("parser.error('Two models given')", ("argparse", "SystemExit", "<module>", "Two models given")),
        ("self.create_error_response('No such model')", ("answer", "", "<module>", "No such model")),
        ("torch._check(a, lambda: f'{a} must be odd, not even')", ("raise", "RuntimeError", "<module>", "{} must be odd, not even")),
    ],
)  # fmt: skip
def test_one_message_of_every_form(source: str, expected: tuple[str, str, str, str]) -> None:
    assert [expected] == _found(source)


def test_a_message_in_a_variable_is_followed_through_its_branches() -> None:
    source = (
        "def load(a):\n"
        "    if a:\n"
        "        msg = 'The first of the files is missing'\n"
        "    else:\n"
        "        msg = f'The file {a} is missing'\n"
        "    msg += ' here'\n"
        "    raise OSError(msg)\n"
    )

    assert [
        ("raise", "OSError", "load", "The first of the files is missing here"),
        ("raise", "OSError", "load", "The file {} is missing here"),
    ] == _found(source)


def test_an_error_class_that_makes_its_own_message() -> None:
    source = "class DeadError(Exception):\n    def __init__(self):\n        super().__init__('The engine is dead')\n"

    assert [("raise", "DeadError", "__init__", "The engine is dead")] == _found(source)


@pytest.mark.parametrize("source", ["logger.info('Worker started up')", "raise E(a)", "raise E('{}: {}')", "def", "x('Worker died')"])  # fmt: skip
def test_what_says_nothing_or_is_no_trouble_is_left_out(source: str) -> None:
    assert [] == _found(source)


def test_templates_have_single_spaces_single_slots_and_an_end() -> None:
    assert "a {} b" == tidy("  a\n {} {}  b ")
    assert len(tidy("word " * 200)) <= LONGEST + 3


def test_tests_and_vendored_code_are_skipped() -> None:
    assert [True, True, False] == [skipped(path) for path in ("a/tests/b.py", "vllm/vendor/c.py", "vllm/config.py")]


def test_releases_give_one_entry_with_its_first_and_last_release_and_its_newest_places(tmp_path: Path) -> None:
    for release, files in {
        "0.1.0": {"vllm/a.py": "logger.error('The worker died')\nraise E('An old message')"},
        "0.2.0": {"vllm/b.py": "def f():\n    raise E('The worker died')", "vllm/c.py": "raise E('The worker died')"},
    }.items():
        for name, source in files.items():
            path = tmp_path / release / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, encoding="utf-8")
    told: list[str] = []

    entries = collect([tmp_path / "0.1.0", tmp_path / "0.2.0"], lambda place: place.name, told.append)

    assert [
        ("An old message", "raise", "0.1.0", "0.1.0", [("vllm/a.py", "<module>")]),
        ("The worker died", "raise", "0.1.0", "0.2.0", [("vllm/b.py", "f"), ("vllm/c.py", "<module>")]),
    ] == [(entry.template, entry.kind, entry.first, entry.last, entry.sites) for entry in entries]
    assert ["0.1.0: 2 new templates, 2 together", "0.2.0: 0 new templates, 2 together"] == told
