"""From archives to what releases changed about code that stands word for word."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from vllm_triage.corpus.code_slices import CAUGHT, GIVEN, GONE, GUARDED, SET_OTHERWISE, Change, Index
from vllm_triage.training.fingerprint import changes as command
from vllm_triage.training.fingerprint import rewrite
from vllm_triage.training.fingerprint.changes import pack
from vllm_triage.training.fingerprint.slices import Slices
from vllm_triage.training.options.index import Files, PackageIndexError

PATH = "vllm/v1/core/pool.py"
LINE = "limit = self.sizes[name]"
ERROR = "ValueError: Only pools of one size are supported, not 7"
CHECK = 'if {}:\n    raise ValueError(f"Only pools of one size are supported, not {{size}}")'


def indexed(tmp_path: Path, *releases: dict[str, str]) -> Index:
    """Return the index of releases 0.1.0, 0.2.0 …, of files by path."""
    slices = Slices()
    for number, files in enumerate(releases, 1):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            for path, content in files.items():
                opened.writestr(path, content)
        slices.add(f"0.{number}.0", archive)
    return Index(pack(slices))


def method(code: str, other: str = "") -> str:
    """Return a file with a method, and perhaps with another one of its class."""
    body = "\n".join(f"        {line}" for line in code.splitlines())
    return f"class Pool:\n{other}    def take(self, name, size):\n{body}\n        return 1\n"


def after(tmp_path: Path, old: str, new: str) -> tuple[Change, ...]:
    """Return what the second release changed about ``LINE``."""
    return indexed(tmp_path, {PATH: method(old)}, {PATH: method(new)}).changes(PATH, "take", LINE)


@pytest.mark.parametrize(
    "new",
    [
        f"if name in self.sizes:\n    {LINE}",
        f"if name not in self.sizes:\n    return 0\n{LINE}",
        f"for name in self.names:\n    if name is None:\n        continue\n    {LINE}",
        f"known = name in self.sizes\nif known:\n    {LINE}",
        f"if self.ready:\n    {LINE}",
    ],
)
def test_a_test_of_its_names_guards_a_line(tmp_path: Path, new: str) -> None:
    """Around it, or before it where the function is left; also where the test was worked out first."""
    old = f"for name in self.names:\n    {LINE}" if new.startswith("for") else LINE
    assert after(tmp_path, old, new) == (Change("0.2.0", GUARDED),)


@pytest.mark.parametrize(
    "new",
    [
        f"if size > 3:\n    size = 3\n    self.shrink()\n    {LINE}",  # a test of something else
        f"if not self.sizes:\n    raise ValueError('empty')\n{LINE}",  # another error in its place
        f"if logger.isEnabledFor(name):\n    print(name)\n    {LINE}",
        f"# as always\nlogger.info(name)\n{LINE}",
        f"{LINE}\nif name is None:\n    return 0",
    ],
)
def test_other_changes_around_a_line_say_nothing(tmp_path: Path, new: str) -> None:
    """Nor does what comes behind it."""
    assert after(tmp_path, LINE, new) == ()


def test_a_test_that_is_put_otherwise_later_came_with_the_first_release(tmp_path: Path) -> None:
    """Left before, then around the line."""
    codes = LINE, f"if name not in self.sizes:\n    return 0\n{LINE}", f"if not name not in self.sizes:\n    {LINE}"
    found = indexed(tmp_path, *({PATH: method(code)} for code in codes))
    assert found.changes(PATH, "take", LINE) == (Change("0.2.0", GUARDED),)


def test_a_renamed_test_is_the_same(tmp_path: Path) -> None:
    """Other names in the same shape."""
    old = f"if self.use_sizes and name:\n    {LINE}"
    assert after(tmp_path, old, f"if self.uses_sizes and name:\n    {LINE}") == ()


def test_an_exception_that_is_caught_is_told_by_its_class(tmp_path: Path) -> None:
    """One that is handed on is not caught."""
    (change,) = after(tmp_path, LINE, f"try:\n    {LINE}\nexcept (KeyError, TypeError):\n    return 0")
    assert (change.how, change.catches("KeyError"), change.catches("IndexError")) == (CAUGHT, True, False)
    (change,) = after(tmp_path, LINE, f"try:\n    {LINE}\nexcept Exception:\n    return 0")
    assert change.catches("AnythingError")
    assert after(tmp_path, LINE, f"try:\n    {LINE}\nexcept KeyError:\n    raise") == ()


def test_a_name_that_is_set_otherwise_feeds_a_line(tmp_path: Path) -> None:
    """Only one that was set before."""
    old = f"name = name.lower()\n{LINE}"
    assert after(tmp_path, old, f"name = self.names.get(size, name)\n{LINE}") == (Change("0.2.0", SET_OTHERWISE),)


def test_a_call_is_given_further_arguments(tmp_path: Path) -> None:
    """Not one that is given fewer, or others."""
    for new, how in (("make(self, name, size)", [GIVEN]), ("make(size)", []), ("make(other, size)", [])):
        found = indexed(tmp_path, {PATH: method("pool = make(name, size)")}, {PATH: method(f"pool = {new}")})
        assert [change.how for change in found.changes(PATH, "take", "pool = make(name, size)")] == how


def test_a_line_of_several_functions_changed_only_where_all_did(tmp_path: Path) -> None:
    """A traceback does not tell the class."""
    plain, guarded = method(LINE), method(f"if name:\n    {LINE}")
    found = indexed(
        tmp_path, {PATH: plain + plain.replace("Pool", "Other")}, {PATH: guarded + plain.replace("Pool", "Other")}
    )
    assert found.changes(PATH, "take", LINE) == ()


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("size != 1", "size != 1 and not self.many", GUARDED),
        ("size != 1", "size not in (1, 2)", GUARDED),
        ("not self.one(size)", "not self.one(size)", SET_OTHERWISE),
        ("not one", "not one", SET_OTHERWISE),
    ],
)
def test_a_check_that_lets_more_through_changed(tmp_path: Path, old: str, new: str, how: int) -> None:
    """Also by what its test calls, and by what its names are set to: that is told apart."""
    helper = "    def one(self, size):\n        return self.sizes.get(size) == {}\n"
    sets = "one = {}\n" if old == "not one" else ""
    before = method(sets.format("size == 1") + CHECK.format(old), helper.format(1))
    least = "self.least" if "self.one" in old else 1
    wider = method(sets.format("size == 1 or self.many") + CHECK.format(new), helper.format(least))
    (refusal,) = indexed(tmp_path, {PATH: before}, {PATH: wider}).refusals(ERROR, PATH)
    assert (refusal.until, refusal.changes) == ("", (Change("0.2.0", how),))


def test_a_check_that_refuses_more_did_not_change_for_the_better(tmp_path: Path) -> None:
    """``or`` lets less through."""
    (refusal,) = indexed(
        tmp_path, {PATH: method(CHECK.format("size != 1"))}, {PATH: method(CHECK.format("size != 1 or name"))}
    ).refusals(ERROR)
    assert refusal.changes == ()


def test_a_check_that_is_gone(tmp_path: Path) -> None:
    """Not one that was put otherwise, or that another file has."""
    before = {PATH: method(CHECK.format("size != 1"))}
    (refusal,) = indexed(tmp_path, before, {PATH: method("pass")}).refusals(ERROR)
    assert (refusal.until, refusal.changes) == ("0.2.0", (Change("0.2.0", GONE),))
    other = method(CHECK.format("size != 1").replace("Only pools of one size", "Just pools of a single size"))
    (refusal,) = indexed(tmp_path, before, {PATH: other}).refusals(ERROR)
    assert (refusal.until, refusal.changes) == ("0.2.0", ())
    moved = {PATH: method("pass"), "vllm/config.py": method(CHECK.format("size != 1"))}
    assert not any(found.changes for found in indexed(tmp_path, before, moved).refusals(ERROR))


def test_messages_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """The longest literal piece counts; words of nobody are nobody's."""
    found = indexed(
        tmp_path,
        {PATH: method(CHECK.format("size != 1")), "vllm/config.py": method(CHECK.format("size != 1"))},
        {PATH: method(CHECK.format("size != 1 and not name")), "vllm/config.py": method(CHECK.format("size != 1"))},
    )
    assert [len(each.changes) for each in found.refusals(ERROR, "vllm/config.py")] == [0]
    assert sorted(len(each.changes) for each in found.refusals(ERROR)) == [0, 1]
    assert found.refusals("ValueError: pools of several sizes") == []


def test_files_that_do_not_parse_say_nothing(tmp_path: Path) -> None:
    """Releases have had some."""
    assert indexed(tmp_path, {PATH: method(LINE)}, {PATH: "def"}).changes(PATH, "take", LINE) == ()


def test_the_command_writes_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the releases that the package index offers."""
    with zipfile.ZipFile(tmp_path / "vllm-0.6.0.zip", "w") as opened:
        opened.writestr(PATH, method(LINE))
    monkeypatch.setattr(rewrite, "releases", lambda since: [Files("0.6.0")])
    target = tmp_path / "slices.bin"
    assert command.main(["--cache", str(tmp_path), "--index", str(target)]) == 0
    assert Index(target.read_bytes()).releases == ("0.6.0",)


def test_the_command_says_when_there_is_no_package_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence and no traceback."""

    def none(since: str) -> list[Files]:
        raise PackageIndexError(f"nothing since {since}")

    monkeypatch.setattr(rewrite, "releases", none)
    assert command.main(["--index", str(tmp_path / "slices.bin")]) == 2


def test_another_file_is_refused() -> None:
    """By its first bytes."""
    with pytest.raises(ValueError, match="not an index of this kind"):
        Index(b"VTL1" + bytes(8))
