"""Records: dataclasses whose methods stand in their base."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import ClassVar

import pytest

from vllm_triage.corpus.records import Mutable, Record, field, record, replace


@record(frozen=True, slots=True)
class Point(Record):
    """A frozen one."""

    COUNT: ClassVar[int] = 3
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list)
    seen: int = field(default=0, compare=False)


@record(frozen=True, slots=True, kw_only=True)
class Named(Point):
    """One with a field more, which comes after those of its base."""

    name: str


@record(slots=True)
class Sketch(Mutable):
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


def test_records_compare_by_their_fields_and_mutable_ones_by_identity():
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


@record(slots=True)
class Mark(Mutable):
    """One that is made by the thousand."""

    number: int
    seen: list[int] = field(default_factory=list)
    text: str = ""
    place: str = field(init=False)
    line: int = field(default=7, init=False)


def test_a_mutable_record_has_the_init_that_dataclass_writes():
    """By place and name, with a list of its own for each, and what is not to be given is not."""
    first, second = Mark(1), Mark(2, [3], text="b")

    assert (1, [], "", 7) == (first.number, first.seen, first.text, first.line)
    assert (2, [3], "b") == (second.number, second.seen, second.text)
    assert first.seen is not Mark(1).seen
    assert not hasattr(first, "place")
    assert first != Mark(1)
    with pytest.raises(TypeError, match="number"):
        Mark()  # type: ignore[call-arg]


@record(slots=True)
class Signed(Mark):
    """One with a field of its own."""

    name: str = "nobody"


def test_an_init_is_not_handed_down():
    """A class whose base has been used takes its own fields."""
    Mark(1)

    assert ("Ada", 2) == (Signed(2, name="Ada").name, Signed(2).number)


def test_a_copy_with_other_values():
    assert Point(5, names=["a"]) == replace(Point(1, names=["a"]), x=5)
    with pytest.raises(TypeError, match="no z"):
        replace(Point(1), z=5)  # type: ignore[call-arg]


@pytest.mark.parametrize(("base", "frozen"), [(Record, False), (Mutable, True)])
def test_a_class_that_does_not_hold_what_it_says_is_refused(base, frozen):
    with pytest.raises(TypeError, match="a Record is frozen, a Mutable is not"):
        record(frozen=frozen, slots=True)(type("Wrong", (base,), {"__annotations__": {"x": "int"}}))


def test_a_field_of_the_standard_library_is_refused():
    """It would be taken for the default."""
    with pytest.raises(TypeError, match="take field from this module"):

        @record(frozen=True, slots=True)
        class Wrong(Record):
            x: int = dataclasses.field(default=1)


def test_the_start_of_the_command_needs_no_dataclasses():
    """Neither the module nor what it imports, nor ``typing``."""
    names = ("dataclasses", "inspect", "ast", "typing", "contextlib", "copy", "threading")
    code = (
        "import sys; before = set(sys.modules); import vllm_triage.classifier.api; "
        f"print(sorted(set({names}) & set(sys.modules) - before))"
    )
    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )
