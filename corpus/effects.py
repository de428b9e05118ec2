"""What settings change, need and cost, whichever fix has them: the rows of ``effects.toml``, as classes.

What an action is tells the rest: an installation changes its package, another request changes the request.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from .actions import (
    ChangeRequest,
    DropOption,
    DropVariable,
    Install,
    Look,
    SetOption,
    SetVariable,
    Uninstall,
    UseImage,
    Wait,
)
from .guards import Names, negated
from .records import Record, cast, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .actions import Action

QUANTITIES = (
    "memory.share", "memory.weights", "memory.kv_cache", "memory.kv_cache_needed", "memory.activations", "memory.host", "compilation",
    "kernel.attention", "kernel.linear", "kernel.experts", "kernel.sampling", "kernel.all_reduce", "transport.gpus", "transport.nodes",
    "transport.hub", "transport.kv_cache", "transport.api", "parallelism", "workers", "engine", "model", "adapters", "media",
    "speculation", "parsing", "logging",
)  # fmt: skip
"""What a row may change. Beside these: ``package.NAME``, ``image``, ``request``, ``option``, ``variable``, ``system``, ``nothing``."""
COSTS = ("speed", "quality", "security", "capacity")
KINDS = ("option", "variable")
_LISTS = ("predicts", "needs", "costs")


@record(slots=True, frozen=True)
class Effect(Record):
    """One row."""

    id: str
    about: Mapping[str, Names]
    changes: str
    predicts: tuple[str, ...] = ()
    """Conditions that the log shows if what it changes is at fault."""
    needs: tuple[str, ...] = ()
    """Conditions that must hold; ``{value}`` stands for what is set."""
    costs: tuple[str, ...] = ()


class Effects:
    """The rows, and which of them is about an action."""

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self._rows = rows
        self._about = lru_cache(maxsize=1024)(self._first)

    @cached_property
    def rows(self) -> tuple[Effect, ...]:
        """In the order of the file."""
        return tuple(
            Effect(
                str(row["id"]),
                {kind: Names(tuple(names)) for kind, names in cast("dict[str, list[str]]", row["about"]).items()},
                str(row["changes"]),
                *(tuple(cast("list[str]", row.get(name, ()))) for name in _LISTS),
            )
            for row in self._rows
        )

    def of(self, action: Action) -> Effect | None:
        """Return the row about an action; None where there is none."""
        if isinstance(action, (SetOption, DropOption)):
            return self._about("option", action.name)
        return self._about("variable", action.name) if isinstance(action, (SetVariable, DropVariable)) else None

    def _first(self, kind: str, name: str) -> Effect | None:
        return next((row for row in self.rows if kind in row.about and row.about[kind].hold(name)), None)

    def changed_by(self, action: Action) -> str:
        """Return what an action changes."""
        if isinstance(action, (Install, Uninstall)):
            return f"package.{action.package.partition('[')[0]}"
        row = self.of(action)
        if row is not None:
            return row.changes
        plain = {
            SetOption: "option", DropOption: "option", SetVariable: "variable", DropVariable: "variable", UseImage: "image",
            ChangeRequest: "request", Wait: "nothing", Look: "nothing",
        }  # fmt: skip
        return plain.get(type(action), "system")


def guards_of(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return what rows need as guards: a fix is withheld where one of the conditions is known not to hold."""
    return [
        {
            "id": f"needs-{row['id']}",
            "about": row["about"],
            "when": [negated(need)],
            "why": row["why"],
            **({"part": True} if row.get("part") else {}),
        }
        for row in rows
        for need in cast("list[str]", row.get("needs", []))
    ]


def read_effects(path: Path) -> list[dict[str, object]]:
    """Return the tables of a file of effects.

    Raises:
        CorpusError: One of them breaks the format; the message names the line.
    """
    import tomllib

    from .places import CorpusError, Place, lines_of

    text = path.read_text(encoding="utf-8")
    rows: list[dict[str, object]] = tomllib.loads(text).get("effect", [])
    place = Place(path.name, lines_of(text))
    for number, row in enumerate(rows):
        for wrong in _wrong(row):
            raise CorpusError(place.inside("effect", number, f"effect {row.get('id', '?')}").says(wrong))
    if len({row["id"] for row in rows}) < len(rows):
        raise CorpusError(f"{path.name}: an effect's id stands twice")
    return rows


def _wrong(row: Mapping[str, object]) -> list[str]:
    from .options import lifetime
    from .schema import CONDITION

    known = ("id", "about", "changes", "why", "part", *_LISTS)
    found = [f"unknown key {name!r}" for name in row if name not in known]
    found += [f"missing {name}" for name in ("id", "about", "changes") if not row.get(name)]
    about = cast("Mapping[str, list[str]]", row.get("about") or {})
    found += [f"about knows no {kind!r}" for kind in about if kind not in KINDS]
    found += [
        f"no release of vLLM has {name}"
        for name in about.get("option", ())
        if "*" not in name and name.startswith("--") and not lifetime(name)
    ]
    found += (
        []
        if row.get("changes") in QUANTITIES
        else [f"changes {row.get('changes')!r} is not one of {', '.join(QUANTITIES)}"]
    )
    found += [f"costs knows no {each!r}" for each in cast("list[str]", row.get("costs", [])) if each not in COSTS]
    conditions = [*cast("list[str]", row.get("predicts", [])), *cast("list[str]", row.get("needs", []))]
    found += [
        f"{each!r} is no condition such as 'one_gpu == False'" for each in conditions if not CONDITION.match(each)
    ]
    return found + (["needs without why"] if row.get("needs") and not row.get("why") else [])
