"""Records: dataclasses whose methods stand in their base."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import ClassVar

import pytest

from vllm_triage.classifier.records import Draft, Record, record


@record(frozen=True, slots=True)
class Point(Record):
    """A frozen one."""

    COUNT: ClassVar[int] = 3
    x: int
    y: int = 2
    names: list[str] = dataclasses.field(default_factory=list)
    seen: int = dataclasses.field(default=0, compare=False)


@record(frozen=True, slots=True, kw_only=True)
class Named(Point):
    """One with a field more, which comes after those of its base."""

    name: str


@record(slots=True)
class Sketch(Draft):
    """One that may be changed."""

    x: int = 1


def test_fields_are_given_by_place_or_name_and_have_defaults():
    assert (1, 2, [], 0) == (Point(1).x, Point(1).y, Point(1).names, Point(1).seen)
    assert Point(1, 5) == Point(x=1, y=5)
    assert Point(1).names is not Point(1).names
    assert ["x", "y", "names", "seen", "name"] == [field.name for field in dataclasses.fields(Named)]
    assert (7, "a") == (Named(7, name="a").x, Named(7, name="a").name)


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1,), {"z": 2}), ((1,), {"x": 1}), (range(9), {})])
def test_what_does_not_fit_is_a_type_error(given, named):
    with pytest.raises(TypeError, match="Point"):
        Point(*given, **named)


def test_a_record_is_frozen_and_a_draft_is_not():
    point, sketch = Point(1), Sketch()
    for change in (lambda: setattr(point, "x", 2), lambda: delattr(point, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            change()
    sketch.x = 9

    assert (1, 9) == (point.x, sketch.x)


def test_records_compare_by_their_fields_and_drafts_by_identity():
    assert Point(1, seen=1) == Point(1, seen=2)
    assert Point(1) != Point(2)
    assert Point(1) != Named(1, name="")
    assert (False, 1) == (Sketch() == Sketch(), len({Point(1, names=()), Point(1, names=())}))  # type: ignore[arg-type]


def test_the_tools_for_dataclasses_take_them():
    point = Point(1, names=["a"])

    assert Point(5, names=["a"]) == dataclasses.replace(point, x=5)
    assert {"x": 1, "y": 2, "names": ["a"], "seen": 0} == dataclasses.asdict(point)
    assert point == pickle.loads(pickle.dumps(point)) == copy.deepcopy(point)
    assert "Point(x=1, y=2, names=['a'])" == repr(point)
    assert not hasattr(point, "__dict__")
