"""From a clone and releases to the repair that a failing stack asks for."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from vllm_triage.classifier.lines.types import Frame
from vllm_triage.classifier.repairs.match import Match, matches
from vllm_triage.classifier.repairs.say import sentence
from vllm_triage.corpus import repairs
from vllm_triage.training.options.index import Files
from vllm_triage.training.repairs import __main__ as command
from vllm_triage.training.repairs import drawn
from vllm_triage.training.repairs.history import commits

PATH = "vllm/v1/core/pool.py"
HEAD = "class Pool:\n    def take(self, name):\n"
PLAIN = f"{HEAD}        size = self.sizes[name]\n        return self.owner.pages(size)\n"
"""The file before any repair."""


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, for an author of its own."""
    own = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *own, "-C", str(folder), *words], check=True, capture_output=True)


def clone(folder: Path, *steps: tuple[str, str]) -> Path:
    """Return a repository with a commit for each title and content of the file."""
    (folder / PATH).parent.mkdir(parents=True)
    git(folder, "init")
    for title, content in steps:
        (folder / PATH).write_text(content)
        git(folder, "add", ".")
        git(folder, "commit", "-m", title)
    return folder


def mined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str, content: str, before: str = PLAIN) -> None:
    """Make the index of a repair numbered 12, in 0.2.0 first, the one that is asked."""
    folder = clone(tmp_path / "clone", ("Pool (#11)", before), (f"{title} (#12)", content))
    cache = tmp_path / "cache"
    cache.mkdir()
    for version, text in (("0.1.0", before), ("0.2.0", content)):
        with zipfile.ZipFile(cache / f"vllm-{version}.zip", "w") as archive:
            archive.writestr(PATH, text)
    offered = [Files(version, "", []) for version in ("0.1.0", "0.2.0")]
    monkeypatch.setattr(command, "releases", lambda since: offered)
    index = tmp_path / "repairs.bin"
    assert command.main(["--repository", str(folder), "--cache", str(cache), "--index", str(index)]) == 0
    read = repairs.Index(str(index))
    monkeypatch.setattr(repairs, "index", lambda: read)


def asked(kind: str, message: str, code: str, function: str = "take", release: str = "") -> list[Match]:
    """Return the repairs of an exception that one frame raised."""
    return matches(kind, message, [Frame(PATH, function, code, 3)], release)


TAKE = "size = self.sizes[name]"
PAGES = "return self.owner.pages(size)"
NONE = "'NoneType' object has no attribute 'pages'"


@pytest.mark.parametrize(
    ("after", "kind", "message", "code", "said"),
    [
        ("size = self.sizes.get(name, 0)\n        return self.owner.pages(size)", "KeyError", "'a'", TAKE, "rewrites the failing line"),
        (
            "size = self.sizes[name]\n        if self.owner is None:\n            return 0\n        return self.owner.pages(size)",
            "AttributeError", NONE, PAGES, "puts a test before the failing line",
        ),
        (
            "size = self.sizes[name]\n        try:\n            return self.owner.pages(size)\n        except OverflowError:\n            return 0",
            "OverflowError", "too large", PAGES, "catches OverflowError",
        ),
        (
            'size = self.sizes[name]\n        return getattr(self.owner, "pages", int)(size)',
            "AttributeError", "'Owner' object has no attribute 'pages'", PAGES, "rewrites the failing line",
        ),
        ("size = self.sizes[name]\n        return self.owner.count(size)", "AttributeError", "'Owner' object has no attribute 'pages'", PAGES, "no longer uses pages"),
        ("size = self.sizes[name]\n        return self.owner.pages(size, unit=self.unit)", "TypeError", "pages() missing 1 required positional argument: 'unit'", PAGES, "gives unit"),
    ],
)  # fmt: skip
def test_a_repair_is_found_by_its_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str, kind: str, message: str, code: str, said: str
) -> None:
    """The line that failed, the exception and the change fit one another: number and release are told."""
    mined(tmp_path, monkeypatch, "[Bugfix] Fix the pool", f"{HEAD}        {after}\n")
    found = asked(kind, message, code)
    assert [(each.repair.number, each.repair.release) for each in found] == [(12, "0.2.0")]
    assert sentence(found[0], kind).startswith("vllm-project/vllm#12, in 0.2.0, ")
    assert said in sentence(found[0], kind)


@pytest.mark.parametrize(
    ("kind", "message", "code"),
    [
        ("AttributeError", "'Pool' object has no attribute 'sizes'", TAKE),
        ("AttributeError", "'NoneType' object has no attribute 'pages'", PAGES),
        ("RuntimeError", "CUDA error: an illegal memory access was encountered", TAKE),
        ("KeyError", "'a'", "size = self.limits[name]"),
    ],
)
def test_another_failure_of_the_same_function_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, message: str, code: str
) -> None:
    """A repair of a lookup is none of an attribute, of the device, or of another line."""
    mined(tmp_path, monkeypatch, "[Bugfix] Fix the pool", PLAIN.replace("[name]", ".get(name, 0)"))
    assert not asked(kind, message, code)


def test_a_server_that_has_the_repair_is_not_told_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only releases before the first that has it are told."""
    mined(tmp_path, monkeypatch, "[Bugfix] Fix the pool", PLAIN.replace("[name]", ".get(name, 0)"))
    assert asked("KeyError", "'a'", TAKE, release="0.1.0")
    assert not asked("KeyError", "'a'", TAKE, release="0.2.0")


def test_an_attribute_that_came_is_found_by_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a class lacked is looked for by name and class, whichever line asked for it."""
    mined(tmp_path, monkeypatch, "[Bugfix] Add free", f"{PLAIN}\n    def free(self):\n        return 0\n")
    assert [each.repair.number for each in asked("AttributeError", "'Pool' object has no attribute 'free'", "x")] == [
        12
    ]
    assert not asked("AttributeError", "'Other' object has no attribute 'free'", "x")


def test_a_repair_for_one_platform_is_not_told_on_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a title names as ROCm's is no repair of a CUDA server."""
    mined(tmp_path, monkeypatch, "[ROCm][Bugfix] Fix the pool", PLAIN.replace("[name]", ".get(name, 0)"))
    frames = [Frame(PATH, "take", TAKE, 3)]
    assert matches("KeyError", "'a'", frames, "", "rocm")
    assert not matches("KeyError", "'a'", frames, "", "cuda")


def test_only_numbered_commits_that_mend_are_read(tmp_path: Path) -> None:
    """Tests, documents, reverts, and commits without a pull request mend nothing that a user meets."""
    titles = ["[Bugfix] Pool (#1)", "[CI] Fix the pool (#2)", "Fix the pool", 'Revert "Fix" (#3)', "Fix a crash (#4)"]
    folder = clone(tmp_path, *((title, f"{PLAIN}# {at}\n") for at, title in enumerate(titles)))
    assert [commit.number for commit in commits(folder)] == [1, 4]


def test_a_folder_without_history_is_an_error(tmp_path: Path) -> None:
    """What is no clone is refused by git's own words."""
    with pytest.raises(subprocess.CalledProcessError):
        list(commits(tmp_path))


def test_a_repair_that_is_drawn_becomes_the_log_that_failed_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test that came in front of a line tells what failed there, in the release before."""
    guarded = f"{HEAD}        {TAKE}\n        if self.owner is not None:\n            {PAGES}\n"
    mined(tmp_path, monkeypatch, "[Bugfix] Fix the pool", guarded)
    monkeypatch.setattr(drawn, "index", repairs.index)
    assert drawn.main(["--repository", str(tmp_path / "clone"), "--out", str(tmp_path / "logs")]) == 0
    log = (tmp_path / "logs" / "12.log").read_text()
    assert "version 0.1.0\n" in log
    assert log.endswith(f"line 4, in take\n    {PAGES}\nAttributeError: {NONE}\n")
    assert capsys.readouterr().out.startswith("of 1 with a condition 1: ")
