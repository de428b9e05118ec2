"""From archives to the index that the classifier reads."""

from __future__ import annotations

import pytest

from tests.training.fingerprint.releases import RELEASES, archive
from vllm_triage.classifier.facts.fingerprint_index import Index, Spot
from vllm_triage.training.fingerprint.mine import Miner
from vllm_triage.training.fingerprint.pack import pack

CORE = "vllm/v1/engine/core.py"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Return the index of the three releases."""
    folder = tmp_path_factory.mktemp("releases")
    miner = Miner()
    for version in RELEASES:
        miner.add(version, archive(folder, version))
    return Index(miner.packed())


def line_of(version: str, words: str) -> int:
    """Return the line of ``core.py`` that holds ``words`` in a release."""
    lines = RELEASES[version][CORE].split("\n")
    return next(number for number, line in enumerate(lines, 1) if words in line)


def fitting(known: Index, releases: int | None) -> list[str] | None:
    """Return the names of a set of releases."""
    return None if releases is None else [name for at, name in enumerate(known.releases) if releases >> at & 1]


def test_a_logging_call_tells_the_releases_that_have_it_there(known: Index) -> None:
    """The second release moved it, the third gave it other words."""
    first, second = line_of("0.2.0", "Stepping"), line_of("0.3.0", "Stepping")

    assert ["0.2.0"] == fitting(known, known.site("core.py", first, "Stepping 7"))
    assert ["0.3.0"] == fitting(known, known.site("core.py", second, "Stepping 7"))
    assert ["0.3.1"] == fitting(known, known.site("core.py", second, "Running step 7"))
    assert ["0.3.0", "0.3.1"] == fitting(known, known.site("core.py", second, ""))


def test_a_file_that_is_gone_tells_the_releases_that_had_it(known: Index) -> None:
    """A name that no release has tells nothing."""
    assert ["0.2.0"] == fitting(known, known.site("old.py", 1, "Only in the first"))
    assert fitting(known, known.site("other.py", 1, "Only in the first")) is None
    assert [] == fitting(known, known.site("core.py", 9999, "Stepping 7"))


def test_a_frame_is_told_by_its_code(known: Index) -> None:
    """The line must be the one that the frame shows."""
    code = "outputs = self.executor.execute_model(self.batch)"
    first, second = line_of("0.2.0", code), line_of("0.3.0", code)

    assert ["0.2.0"] == fitting(known, known.frames(CORE, [Spot("step", first, code)])[0])
    assert ["0.3.0", "0.3.1"] == fitting(known, known.frames(CORE, [Spot("step", second, code)])[0])


def test_a_frame_without_code_is_told_by_its_function(known: Index) -> None:
    """Also behind a function that is defined within it."""
    line = line_of("0.3.1", "return self.find_nearest")

    assert ["0.2.0", "0.3.0", "0.3.1"] == fitting(known, known.frames(CORE, [Spot("check", line, "")])[0])
    assert [] == fitting(known, known.frames(CORE, [Spot("step", 2, "")])[0])
    assert fitting(known, known.frames(CORE, [Spot("<module>", 2, "")])[0]) is None
    assert fitting(known, known.frames("vllm/v1/engine/none.py", [Spot("step", line, "")])[0]) is None


def test_another_file_is_refused() -> None:
    """An index of another layout must not be read as this one."""
    with pytest.raises(ValueError, match="not an index"):
        Index(b"VTF0" + bytes(20))


def test_more_releases_than_a_byte_holds_are_refused() -> None:
    """Rather than a wrong index."""
    with pytest.raises(ValueError, match="300 releases"):
        pack([f"0.{number}.0" for number in range(300)], {}, {})
