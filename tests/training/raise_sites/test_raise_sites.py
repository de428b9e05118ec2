"""From a file of a release to the sentence that explains why it raised an error."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from vllm_triage.classifier.lines.types import Frame, Trace
from vllm_triage.classifier.raise_sites.explain import Explained, explain
from vllm_triage.classifier.situation.releases import ReleaseBound
from vllm_triage.corpus import raise_sites
from vllm_triage.training.options.index import Files
from vllm_triage.training.raise_sites import drawn
from vllm_triage.training.raise_sites.guards import cards
from vllm_triage.training.raise_sites.sites import Sites

PATH = "vllm/config/parallel.py"
MESSAGE = "The pool cannot be split over so many ranks"
ANY = ReleaseBound("", ("0.1.0", "0.2.0"), (), True)


def function(*lines: str, head: str = "def check(self, block_size):") -> str:
    """Return a class with one method of some lines, behind which the error is raised."""
    return "class Pool:\n    " + head + "\n" + "".join(f"        {line}\n" for line in lines)


def is_option(name: str) -> bool:
    """Return whether a name is an option of the release that the tests are about."""
    return name in ("--tensor-parallel-size", "--block-size", "--enable-lora")


RAISE = f"    raise ValueError('{MESSAGE}')"


@pytest.mark.parametrize(
    ("lines", "guard", "sources"),
    [
        (("if self.pages % self.tensor_parallel_size != 0:", RAISE), "pages is not a multiple of tensor_parallel_size", ("--tensor-parallel-size",)),
        (("if not config.enable_lora:", RAISE), "enable_lora is false", ("--enable-lora",)),
        (("if config.enable_lora is None:", RAISE), "enable_lora is not set", ("--enable-lora",)),
        (("size = config.block_size", "if size > 64:", RAISE), "size is greater than 64", ("--block-size",)),
        (("if block_size not in (8, 16):", RAISE), "block_size is none of 8, 16", ("--block-size",)),
        (("if 'factor' not in scaling:", RAISE), "'factor' is not in scaling", ()),
        (("if envs.VLLM_LIMIT < 2:", RAISE), "VLLM_LIMIT is less than 2", ("VLLM_LIMIT",)),
        (("if request.n > 4:", RAISE), "request.n is greater than 4", ("request n",)),
        (("if hf_config.num_heads == 0:", RAISE), "num_heads is 0", ("config.json num_heads",)),
        (("if not current_platform.is_cuda():", RAISE), "is_cuda() does not hold", ("machine",)),
        (("if ready:", "    return", RAISE[4:]), "ready is not set, or empty", ()),
        (("try:", "    open(name)", "except OSError:", RAISE), "open failed with OSError", ()),
        ((f"assert self.pages > 2, '{MESSAGE}'",), "pages is at most 2", ()),
    ],
)  # fmt: skip
def test_a_guard_is_put_into_words(lines: tuple[str, ...], guard: str, sources: tuple[str, ...]) -> None:
    """With the options, keys, variables and fields that flow into it."""
    (card,) = cards(PATH, function(*lines), is_option)
    assert (card.message, card.guard) == (MESSAGE, guard)
    assert card.sources == sources


def test_a_file_that_does_not_parse_has_no_cards() -> None:
    """It is passed over."""
    assert not list(cards(PATH, "def (:", is_option))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the index of two releases the one that is asked: the second has another guard."""
    sites = Sites()
    for version, limit in (("0.1.0", 64), ("0.2.0", 128)):
        archive = tmp_path / f"{version}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            text = function(f"if config.block_size > {limit}:", RAISE, "assert self.pages")
            opened.writestr(PATH, text)
        sites.add(version, archive)
    path = tmp_path / "cards.bin"
    path.write_bytes(sites.packed())
    read = raise_sites.Index(str(path))
    monkeypatch.setattr(raise_sites, "index", lambda: read)


def explained(
    message: str, bound: ReleaseBound = ANY, path: str = PATH, code: str = RAISE.strip(), **arguments: str
) -> Explained | None:
    """Return the explanation of an exception raised in the method."""
    trace = Trace(3, 1, "", "ValueError", message, [Frame(path, "check", code, 3)])
    return explain(f"ValueError: {message}", trace, {"arguments": arguments}, bound)


@pytest.mark.usefixtures("index")
def test_an_error_is_explained_by_the_release_that_raised_it() -> None:
    """Guards differ between releases: what the log's own has is said, with the option's value."""
    old, new = ReleaseBound("0.1.0", ("0.1.0",), (), True), ReleaseBound("0.2.0", ("0.2.0",), (), True)
    found = explained(MESSAGE, old, block_size="96")
    assert found is not None
    assert "where block_size is greater than 64; into that flows --block-size (96 as given)." in found.sentence
    found = explained(MESSAGE, new)
    assert found is not None
    assert "is greater than 128" in found.sentence


@pytest.mark.usefixtures("index")
def test_where_guards_differ_and_nothing_tells_the_release_nothing_is_said() -> None:
    """Either could be the one."""
    assert explained(MESSAGE) is None


@pytest.mark.usefixtures("index")
def test_an_assertion_without_words_is_found_by_its_line() -> None:
    """Its line is the same in both releases."""
    found = explained("", code="assert self.pages")
    assert found is not None
    assert "where pages is not set, or empty" in found.sentence


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(("path", "code"), [("torch/nn/module.py", RAISE.strip()), (PATH, "size = self.pages[0]")])
def test_what_nobody_raised_on_purpose_is_not_explained(path: str, code: str) -> None:
    """Frames of other packages, and lines that merely failed, have no guard."""
    assert explained(MESSAGE, ReleaseBound("0.2.0", ("0.2.0",), (), True), path, code) is None


@pytest.mark.usefixtures("index")
def test_errors_that_are_drawn_become_logs_whose_answers_name_the_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is raised in its place, below its caller, once with the catalogue's words and once without."""
    text = (
        function("if config.block_size > 128:", RAISE, "assert self.pages") + "def start(pool):\n    pool.check(16)\n"
    )
    with zipfile.ZipFile(tmp_path / "vllm-0.2.0.zip", "w") as opened:
        opened.writestr(PATH, text)
    monkeypatch.setattr(drawn, "releases", lambda since: [Files("0.2.0", "", [])])
    assert drawn.main(["--out", str(tmp_path / "logs"), "--cache", str(tmp_path), "--count", "2"]) == 0
    assert capsys.readouterr().out.count("n 1  guard named 1.000") == 2
    logs = [path.read_text() for path in sorted((tmp_path / "logs").iterdir())]
    assert all("in start\n    pool.check(16)\n" in log for log in logs)
    assert sorted(log.splitlines()[-1] for log in logs) == ["AssertionError", f"ValueError: {MESSAGE}"]
