"""From archives to the fates of lines of code."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from vllm_triage.corpus.code_lines import FILE, FUNCTION, STATEMENT, Fate, Index
from vllm_triage.training.fingerprint.lines import pack
from vllm_triage.training.fingerprint.lives import Lives

PATH = "vllm/v1/core/pool.py"
LAST = "return 1\n"
BEFORE = "limit = self.sizes[name]"
CALL = 'self.runner = make_runner(config, device="cuda",\n            rank=rank)'


def fates(tmp_path: Path, *releases: dict[str, str]) -> Index:
    """Return the index of releases 0.1.0, 0.2.0 …, of files by path."""
    lives = Lives()
    for number, files in enumerate(releases, 1):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            for path, content in files.items():
                opened.writestr(path, content)
        lives.add(f"0.{number}.0", archive)
    return Index(pack(lives.releases, lives.entries()))


def function(code: str, name: str = "take") -> str:
    """Return a file with one method."""
    return f"class Pool:\n    def {name}(self, name):\n        {code}\n        {LAST}"


def after(tmp_path: Path, old: str, new: str, shown: str = "", names: tuple[str, ...] = ()) -> Fate | None:
    """Return what became of a statement that a second release has otherwise."""
    index = fates(tmp_path, {PATH: function(old)}, {PATH: function(new)})
    return index.fate(PATH, "take", shown or old.partition("\n")[0], "0.1.0", names)


def test_a_line_that_was_rewritten_is_gone_from_that_release_on(tmp_path: Path) -> None:
    """The other branch, a guard, another call."""
    for new in ("limit = self.sizes.get(name)", "limit = self.sizes[name] if name in self.sizes else 0", "pass"):
        assert after(tmp_path, BEFORE, new) == Fate("0.2.0", STATEMENT)


def test_a_line_that_the_newest_release_has_stays(tmp_path: Path) -> None:
    """Also where all around it is new."""
    assert after(tmp_path, BEFORE, f"if name:\n            self.look(name)\n            {BEFORE}") == Fate("")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CALL, "self.runner = make_runner(\n            config,\n            device='cuda',\n            rank=rank,  # of all\n        )"),
        ("kind: Optional[str] = call.get('name')", "kind: str | None = call.get('name')"),
        ("self.table_np[row, start:stop] = ids", "self.table.np[row, start:stop] = ids"),
        (CALL, 'self.runner = make_runner(config, device="cuda",\n            rank=rank, seed=seed)'),
        ("assert state.shape[-1] == wanted.shape[-1]", "torch._assert(state.shape[-1] == wanted.shape[-1], 'one and the other')"),
        ("assert seen == frames, 'too few'", "assert seen == frames_to_sample, f'only {seen}'"),
    ],
)  # fmt: skip
def test_a_line_that_was_put_otherwise_stays(tmp_path: Path, old: str, new: str) -> None:
    """Formatters, annotations, renamed variables, further arguments, other words of an assertion."""
    assert after(tmp_path, old, new) == Fate("")


def test_a_line_that_lost_the_name_of_which_the_error_tells_was_rewritten(tmp_path: Path) -> None:
    """An argument that the called function does not have."""
    new = 'self.runner = make_runner(config, device="cuda")'
    assert after(tmp_path, CALL, new, names=("rank",)) == Fate("0.2.0", STATEMENT)
    assert after(tmp_path, CALL, new, names=()) == Fate("")


def test_a_line_that_stands_in_another_statement_stays(tmp_path: Path) -> None:
    """Unless that one guards it."""
    old, shown = "text = dumps(\n            self.calls[index].get('x'), 1)", "self.calls[index].get('x'), 1)"
    assert after(tmp_path, old, "found = self.calls[index].get('x')", shown) == Fate("0.2.0", STATEMENT)
    assert after(tmp_path, old, "found = (self.calls[index].get('x'), 1)", shown) == Fate("")
    assert after(tmp_path, old, "found = (self.calls[index].get('x'), 1) if self.calls else 0", shown) == Fate(
        "0.2.0", STATEMENT
    )


def test_any_line_of_a_statement_tells_it(tmp_path: Path) -> None:
    """A frame shows the line of the argument that was worked out."""
    old = "self.runner = make_runner(\n            config.rank, config.sizes[name])"
    assert after(tmp_path, old, "pass", shown="config.rank, config.sizes[name])") == Fate("0.2.0", STATEMENT)


def test_what_was_moved_is_not_gone(tmp_path: Path) -> None:
    """With its function into another file, or into another function of its file."""
    other = "vllm/v1/core/block_pool.py"
    moved = fates(tmp_path, {PATH: function(BEFORE)}, {other: function(BEFORE)})
    assert moved.fate(PATH, "take", BEFORE, "0.1.0") == Fate("")
    split = fates(tmp_path, {PATH: function(BEFORE)}, {PATH: function("pass") + function(BEFORE, "look")})
    assert split.fate(PATH, "take", BEFORE, "0.1.0") == Fate("")
    copied = fates(tmp_path, {PATH: function(BEFORE)}, {PATH: function("pass"), other: function(BEFORE)})
    assert copied.fate(PATH, "take", BEFORE, "0.1.0") == Fate("0.2.0", STATEMENT)
    later = fates(tmp_path, {PATH: function(BEFORE)}, {other: function(BEFORE)}, {other: function("pass")})
    assert later.fate(PATH, "take", BEFORE, "0.1.0") == Fate("0.3.0", STATEMENT)


def test_function_and_file_that_are_gone_are_told_apart(tmp_path: Path) -> None:
    """A line that goes with its file went with what the file was for."""
    gone = fates(tmp_path, {PATH: function(BEFORE)}, {PATH: function("pass", "look")})
    assert gone.fate(PATH, "take", BEFORE, "0.1.0") == Fate("0.2.0", FUNCTION)
    gone = fates(tmp_path, {PATH: function(BEFORE)}, {"vllm/other.py": "def f():\n    return g(1)\n"})
    assert gone.fate(PATH, "take", BEFORE, "0.1.0") == Fate("0.2.0", FILE)


def test_what_came_back_was_not_mended(tmp_path: Path) -> None:
    """The change was taken back."""
    index = fates(tmp_path, {PATH: function(BEFORE)}, {PATH: function("pass")}, {PATH: function(BEFORE)})
    assert index.fate(PATH, "take", BEFORE, "0.1.0") == Fate("")


def test_the_statement_of_the_release_counts(tmp_path: Path) -> None:
    """One line, first of one statement, later of another."""
    first, second = (
        "value = self.ask(\n            name.lower())",
        "value = self.ask(\n            [name for name in self.names])",
    )
    index = fates(tmp_path, *({PATH: function(code)} for code in (first, second, second, "pass")))
    assert index.fate(PATH, "take", "value = self.ask(", "0.1.0") == Fate("0.2.0", STATEMENT)
    assert index.fate(PATH, "take", "value = self.ask(", "0.3.0") == Fate("0.4.0", STATEMENT)
    assert index.fate(PATH, "take", "value = self.ask(", "0.4.0") is None


def test_what_the_index_does_not_hold_is_not_known(tmp_path: Path) -> None:
    """Another file, another function, a line on purpose, a test, a file of another layout."""
    index = fates(tmp_path, {PATH: function("raise ValueError(name)"), "vllm/benchmarks/x.py": function(BEFORE)})
    assert index.fate(PATH, "take", "raise ValueError(name)") is None
    assert index.fate(PATH, "look", BEFORE) is None
    assert index.fate("vllm/benchmarks/x.py", "take", BEFORE) is None
    with pytest.raises(ValueError, match="not an index"):
        Index(b"VTF1" + bytes(8))
