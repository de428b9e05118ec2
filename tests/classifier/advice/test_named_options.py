"""Steps name no option that the log's release lacks."""

from __future__ import annotations

import pytest

from tests.corpus.test_options import covered, fixes
from tests.fixes import context as situation
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.options import adapt as as_named
from vllm_triage.corpus import options

LIST = "Lower what is set: --cpu-offload-gb; --swap-space; --kv-offloading-size"


@pytest.mark.parametrize(
    ("change", "release", "named"),
    [
        (LIST, "0.10.2", "Lower what is set: --cpu-offload-gb; --swap-space"),
        (LIST, "0.33.0", "Lower what is set: --cpu-offload-gb; --kv-offloading-size"),
        ("Correct config.json; --hf-overrides does the same", "0.6.0", "Correct config.json"),
        (
            "Correct config.json; --hf-overrides does the same",
            "0.9.0",
            "Correct config.json; --hf-overrides does the same",
        ),
        ("leave --kv-transfer-config away", "0.5.5", ""),
        ("docker run --device=/dev/kfd", "0.33.0", "docker run --device=/dev/kfd"),
        ("Give --some-option-of-a-plug-in", "0.33.0", "Give --some-option-of-a-plug-in"),
    ],
)
def test_what_the_release_lacks_is_not_named(change: str, release: str, named: str) -> None:
    """Of a list the rest stays, without the releases that the file tells for it; of a sentence its other clauses."""
    made, reason = as_named(fix(change, "step"), situation(release=release))
    assert (made.change if made is not None else "") == named
    assert bool(reason) is (not named)


def test_where_the_release_is_not_told_all_is_named() -> None:
    """The ranges in the text say what is whose."""
    unknown = situation(release="0.33.0", vllm_version="")
    made, _ = as_named(fix(LIST, "step"), unknown)
    assert made is not None
    assert made.change == LIST


def test_no_step_of_the_corpus_names_an_option_that_the_release_lacks() -> None:
    """All steps × all releases of their range, as they are shown there."""
    wrong = []
    for _, written in fixes():
        for release in covered(written) if written["kind"] == "step" and "--" in written["change"] else ():
            kept, _ = as_named(fix(written["change"], "step"), situation(release=release))
            words = kept.change.split() if kept is not None and "docker" not in kept.change else []
            names = [word.strip(".,;:()") for word in words if word.startswith("--")]
            wrong += [(name, release) for name in names if options.flag_of(name) and not options.exists(name, release)]
    assert wrong == []
