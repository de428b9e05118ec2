"""Changes one place of the code at a time and runs the tests beside it: what survives is held by no test.

``python benchmarks/mutants.py --count 40`` takes every so-manieth place of classifier/, so that all of it is looked at; the
same number gives the same places until the code changes. The tree is copied first: the checkout stays as it is. The tests of a
module are those of its room: tests/classifier/matching for classifier/matching/scan.py. Exit code 1 below ``--least``.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("vllm_triage", "classifier", "corpus", "service", "training", "tests", "pyproject.toml", "docs", "README.md")
PATIENCE = 8
"""Times the usual duration of a room's tests after which a mutant counts as killed: it hangs."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Add,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed place."""

    path: Path
    """Below the root of the tree."""
    line: int
    start: int
    end: int
    """Bytes of the file that are replaced."""
    text: str

    def applied(self, source: bytes) -> bytes:
        """Return the file with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a module, in the order of their places."""
    source = (ROOT / path).read_bytes()
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    skipped = set(_told_to_tools(tree))
    found = []
    for node in ast.walk(tree):
        if id(node) not in skipped:
            for changed in _changed(node):
                if isinstance(node, (ast.expr, ast.stmt)) and node.end_lineno and node.end_col_offset is not None:
                    start = starts[node.lineno - 1] + node.col_offset
                    end = starts[node.end_lineno - 1] + node.end_col_offset
                    text = ast.unparse(changed)
                    text = f"({text})" if isinstance(changed, ast.expr) else text
                    found.append(Mutant(path, node.lineno, start, end, text))
    return iter(sorted(found, key=lambda item: (item.start, item.text)))


def _told_to_tools(tree: ast.Module) -> Iterator[int]:
    """Yield what no test can hold: docstrings, annotations, what only type checkers read, names that are exported."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts = [node]
        elif isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
            parts = [node.annotation]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            parts = [node.returns]
        elif (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING") or (
            isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__slots__")
        ):
            parts = [node]
        elif isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
            # Their pieces have no place of their own before Python 3.12.
            parts = [item for item in ast.iter_child_nodes(node) if isinstance(item, (ast.Constant, ast.JoinedStr))]
        for part in parts:
            yield from (id(item) for item in ast.walk(part))


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, [operator], right) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.IfExp(test, body, other):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(str() as value) if value:
            yield ast.Constant(f"{value}XX")
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def sample(folder: str, count: int) -> list[Mutant]:
    """Return ``count`` mutants of a folder, evenly over its code."""
    paths = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
    found = [mutant for path in paths for mutant in mutants(path)]
    return [found[(2 * number + 1) * len(found) // (2 * count)] for number in range(min(count, len(found)))]


def tests_of(path: Path) -> list[str]:
    """Return the tests beside a module; of the nearest folder above it that has some."""
    folder = Path("tests") / path.parent
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    if folder.parent == Path("tests"):
        return sorted(str(item.relative_to(ROOT)) for item in (ROOT / folder).glob("test_*.py"))
    return [str(folder)]


def run(tree: Path, tests: list[str], limit: float | None = None) -> bool:
    """Return whether the tests pass in a copy of the tree; they do not where they take longer than ``limit`` seconds."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header"]
    # What tests start must find the copy as well.
    environment = {**os.environ, "PYTHONPATH": str(tree), "CI": "true"}
    try:
        done = subprocess.run(
            [*words, *tests], cwd=tree, env=environment, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (0, 1, 2):
        sys.exit(f"the tests do not run: {done.stdout.decode()[-2000:]}")
    return done.returncode == 0


def main() -> int:
    """Try the mutants one after the other and print what survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", default="classifier", help="what is changed (default: classifier)")
    parser.add_argument("--count", type=int, default=40, help="mutants, evenly over the folder (default: 40)")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="begin with the N-th")
    parser.add_argument("--to", type=int, default=0, dest="last", metavar="N", help="end with the N-th")
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed (default: 0.9)")
    parser.add_argument("--also", nargs="*", default=[], metavar="TESTS", help="tests to run besides those of the room")
    parser.add_argument("--list", action="store_true", help="show the changes and run nothing")
    options = parser.parse_args()
    chosen = sample(options.folder, options.count)[options.first - 1 : options.last or None]
    survived = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        tree = Path(name) / "tree"
        for item in () if options.list else NEEDED:
            copy = shutil.copytree if (ROOT / item).is_dir() else shutil.copy
            tree.mkdir(exist_ok=True)
            copy(ROOT / item, tree / item)
        usual: dict[str, float] = {}
        for number, mutant in enumerate(chosen, options.first):
            source = (ROOT / mutant.path).read_bytes()
            before = source[mutant.start : mutant.end].decode()
            change = f"{mutant.path}:{mutant.line}  {_short(before)}  →  {_short(mutant.text)}"
            if options.list:
                print(f"{number:3} {change}")
                continue
            tests = [*tests_of(mutant.path), *options.also]
            if (key := " ".join(tests)) not in usual:
                began = time.monotonic()
                if not run(tree, tests):
                    sys.exit(f"without any change, these fail: {key}")
                usual[key] = time.monotonic() - began
            (tree / mutant.path).write_bytes(mutant.applied(source))
            alive = run(tree, tests, PATIENCE * usual[key] + 30)
            (tree / mutant.path).write_bytes(source)
            survived += alive
            print(f"{number:3} {'SURVIVED' if alive else 'killed  '} {change}", flush=True)
    if options.list:
        return 0
    killed = len(chosen) - survived
    print(f"{killed} of {len(chosen)} killed by the tests beside them")
    return 0 if killed >= options.least * len(chosen) else 1


def _short(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


if __name__ == "__main__":
    sys.exit(main())
