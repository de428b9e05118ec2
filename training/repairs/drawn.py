"""``python -m vllm_triage.training.repairs.drawn --repository PATH --out DIR``: repairs drawn at random, and whether they are found.

Each becomes the log that failed before it, by the condition that its change shows: a test for None that came in front of a line, a key
that is asked for with ``get`` since, an exception that is caught, an argument that is handed over, a message that is raised no
more, the error that its text quotes. Printed are the shares found, and named first; the logs go into a folder, for readers.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ...classifier.api import Triage
from ...corpus.repairs import index
from ..advice.drawn import Drawn, answers, callers, stack
from .edits import Scopes
from .history import Commit, Edit, commits

_FIXES = re.compile(r"\b(?:bug|hot)?fix", re.IGNORECASE)
_QUOTED = re.compile(r"\b(?P<kind>[A-Z]\w+(?:Error|Exception)): ?(?P<said>[^\n`]{12,200})")
_NUMBER = re.compile(r"vllm-project/vllm#(\d+)")
_TESTED = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_][\w.]*) is (?:not )?None")
_ASKED = re.compile(r"(?P<name>[\w.]+)\.(?:get|pop|setdefault)\([\"'](?P<key>\w+)[\"']")
_LOOKED = re.compile(r"(?:get|has)attr\((?P<name>[\w.]+), [\"'](?P<key>\w+)[\"']")
_CAUGHT = re.compile(r"except \(?(?P<kind>KeyError|IndexError|ImportError)")
_RAISED = re.compile(r"raise (?P<kind>\w+)\([\"'](?P<said>[^\"'{]{20,})[\"']\)")
_SAID = {
    "KeyError": (r"\[[a-z]", "'layer'"), "IndexError": (r"\[[a-z\d-]", "list index out of range"),
    "ImportError": (r"^(?:from|import) ", "libfoo.so.1: cannot open shared object file: No such file or directory"),
}  # fmt: skip
"""What a line must hold to raise an exception, and what is said then."""
_OF_NONE = (
    (r"{}\.(\w+)", "AttributeError: 'NoneType' object has no attribute '{}'"), (r"{}\[", "TypeError: 'NoneType' object is not subscriptable"),
    (r"len\({}\)", "TypeError: object of type 'NoneType' has no len()"), (r"{}\b *[<>]", "TypeError: '>' not supported between instances of 'NoneType' and 'int'"),
)  # fmt: skip
"""How a name is used, and what is raised where it is None."""
_NEAR = 6
_CALLERS = 2


def main(arguments: list[str] | None = None) -> int:
    """Draw, ask and count; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.repairs.drawn", description=main.__doc__)
    parser.add_argument("--repository", type=Path, required=True, metavar="PATH", help="a clone of vLLM, bare or not")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the logs go")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="repairs that are drawn (%(default)s)")
    parser.add_argument("--seed", type=int, default=31)
    given = parser.parse_args(arguments)
    known = index()
    first = {repair.number: repair.release for repair in known.repairs() if repair.release in known.releases[1:]}
    fixing = (commit for commit in commits(given.repository) if _FIXES.search(commit.title) and commit.number in first)
    logs = [
        log
        for commit in fixing
        if (log := _log(commit, known.releases[known.releases.index(first[commit.number]) - 1]))
    ]
    seed = random.Random(given.seed)  # noqa: S311 - nothing is secret here
    picked = seed.sample(logs, min(given.count, len(logs)))
    told = [(log.first, _NUMBER.findall(text)) for log, text in answers(picked, given.out, Triage())]
    count = max(1, len(told))
    found, leading = (
        sum(wanted in named for wanted, named in told),
        sum(named[:1] == [wanted] for wanted, named in told),
    )
    other = sum(bool(named) and wanted not in named for wanted, named in told)
    print(
        f"of {len(logs)} with a condition {len(told)}: found {found / count:.3f}, first {leading / count:.3f}, another {other / count:.3f}"
    )
    return 0


def _log(commit: Commit, release: str) -> Drawn | None:
    """Return the log of what a commit mended, at the release before it; None where it shows no condition."""
    for edit in commit.edits:
        if not edit.old:
            continue
        old, new = Scopes(edit.old), Scopes(edit.new)
        quoted = _QUOTED.search(f"{commit.title}\n{commit.body}")
        for number, shown in _failing(edit, old, new):
            error = f"{quoted['kind']}: {quoted['said'].strip(' .`*')}" if quoted else shown
            owner, function, _ = old.around(number)
            frames = [(edit.before, number, function or "<module>", old.rows[number - 1])]
            for _ in range(_CALLERS):
                called = next(callers([(edit.before, old.rows)], frames[0][2], owner), None)
                if called is None or called in frames:
                    break
                frames.insert(0, called)
            return Drawn(str(commit.number), stack(release, frames, error), str(commit.number))
    return None


def _failing(edit: Edit, old: Scopes, new: Scopes) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that failed before an edit, and what they raised."""
    gone = {old.rows[at - 1].strip(): at for at in edit.gone if at <= len(old.rows)}
    places = {row.strip(): at for at, row in enumerate(old.rows, 1) if row.strip()}
    for at in edit.added:
        row = new.rows[at - 1] if at <= len(new.rows) else ""
        level = len(row) - len(row.lstrip())
        inner = [each.strip() for each in new.rows[at : at + _NEAR] if len(each) - len(each.lstrip()) > level]
        here = new.around(at)[:2]
        near = {
            each: number for each, number in gone.items() if each[:1] not in "#'\"" and old.around(number)[:2] == here
        }
        near |= {each: places[each] for each in inner if each in places and row.lstrip().startswith(("if ", "elif "))}
        if found := _CAUGHT.search(row):
            raises, said = _SAID[found["kind"]]
            body = [
                each for each in new.rows[max(0, at - 1 - _NEAR) : at - 1] if len(each) - len(each.lstrip()) > level
            ]
            within = [each.strip() for each in body if each.strip() in places and re.search(raises, each.strip())]
            yield from ((places[each], f"{found['kind']}: {said}") for each in within)
        for looks, form, words in (
            (_ASKED, r"{}\[[\"']{}[\"']\](?! *=)", "KeyError: '{}'"), (_LOOKED, r"{}\.{}\b(?! *=)", "AttributeError: '{1}' object has no attribute '{0}'")
        ):  # fmt: skip
            if found := looks.search(row):
                used = form.format(re.escape(found["name"]), found["key"])
                yield from (
                    (number, words.format(found["key"], _class_of(found["name"], old.around(number)[0])))
                    for each, number in near.items()
                    if re.search(used, each)
                )
        if (found := _TESTED.search(row)) and f"{found['name']} is n" not in edit.old:
            tested = re.compile(rf"{re.escape(found['name'])} (?:and|or|is)\b")
            for each, number in near.items():
                for use, words in _OF_NONE if not tested.search(each) else ():
                    if met := re.search(r"(?<![\w.])" + use.replace("{}", re.escape(found["name"])), each):
                        yield number, words.format(*met.groups())
    for row, number in gone.items():
        if (found := _RAISED.search(row)) and found["said"] not in edit.new:
            yield number, f"{found['kind']}: {found['said']}"


def _class_of(name: str, owner: str) -> str:
    """Return a class for what a line calls by a name: its own for ``self``."""
    return (
        owner if name == "self" and owner else "".join(map(str.title, re.split(r"[._]+", name.removeprefix("self."))))
    )


if __name__ == "__main__":
    sys.exit(main())
