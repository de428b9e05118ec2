"""The file of a user's model: read whole, or refused with words that say why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vllm_triage.classifier.text_model.user import FILE, OwnModel, digest, read_own

ABOUT: dict[str, Any] = {
    "format": 1, "buckets": ["acme"], "titles": {"acme": "Acme"}, "threshold": 0.5, "temperature": 1.0, "unseen": 3.0,
    "intercept": [1.0, -1.0], "terms": {"3145526752": [2.0, -4.0, 4.0]},
}  # fmt: skip
# 3145526752 is the CRC-32 of "w:quota".


def write(folder: Path, **changed: Any) -> str:
    """Write a model with its digest."""
    about = {**ABOUT, **changed}
    about["sha256"] = digest(about)
    (folder / FILE).write_text(json.dumps(about))
    return str(folder)


def test_scores_are_worked_out_by_hand(tmp_path: Path) -> None:
    """One known term of rarity 2 beside an unknown one of 3: 2 / √13 of its weights, on the intercept."""
    import zlib

    assert zlib.crc32(b"w:quota") == int(next(iter(ABOUT["terms"])))
    model = read_own(write(tmp_path))
    share = 2 / 13**0.5
    assert model.logits(["w:quota", "w:other"]) == pytest.approx([1 - 4 * share, -1 + 4 * share])
    assert sum(model.probabilities([0.3, 2.0])) == pytest.approx(1.0)
    assert model.reasons({"w:quota": 7, "w:other": 8}, "acme") == [("w:quota", round(8 * share, 4), 7)]


def test_the_root_that_speaks_most_decides(tmp_path: Path) -> None:
    """Later ones count for less; nothing said is 'none of these'."""
    model = read_own(write(tmp_path))
    first, _, root = model.ask([{"w:quota": 1}, {"w:quota": 2}])
    assert root == 0
    second, rest, root = model.ask([{"w:other": 1}, {"w:quota": 2}])
    assert root == 1
    assert second["acme"] == pytest.approx(0.9 * first["acme"])
    assert rest == pytest.approx(1 - second["acme"])
    assert model.ask([]) == ({"acme": 0.0}, 1.0, 0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": 2}, "another layout"),
        ({"intercept": [1.0]}, "do not fit"),
        ({"terms": {"1": [1.0]}}, "do not fit"),
        ({"titles": []}, "not whole"),
        ({"threshold": None}, "not whole"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_own(write(tmp_path, **changed))


def test_a_changed_number_is_found(tmp_path: Path) -> None:
    """By the digest."""
    write(tmp_path)
    file = tmp_path / FILE
    file.write_text(file.read_text().replace("0.5", "0.1"))
    with pytest.raises(ValueError, match="SHA-256"):
        read_own(str(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format": 1}', "{"])
def test_what_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ValueError, match=r"."):
        read_own(str(tmp_path))


def test_titles_are_texts() -> None:
    """Whatever the file says."""
    about: Any = {**ABOUT, "titles": {"acme": 3}}

    assert OwnModel(about).titles == {"acme": "3"}
