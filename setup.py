"""What pyproject.toml cannot say: how four top-level folders become one import package, and the compiled corpus."""

from __future__ import annotations

import marshal
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FRONT = "vllm_triage"
"""The package itself: what `from vllm_triage import …` offers."""
FOLDERS = ("classifier", "corpus", "service", "training")
"""Its sub-packages, which stand beside it."""


PRODUCT = ("evaluate", "examples", "harvest", "user_model")
"""Rooms of training that `vllm-triage train`, `evaluate` and `learn` need. The others are the workshop: they make what is shipped."""
LOGS = ("written/kv-cache-too-small.log",)
"""Logs of the corpus that the product shows: the page's example, and the API's."""


def packages() -> list[str]:
    """Return every package that is installed, found rather than listed, so that a new one cannot be forgotten."""
    found = [name for folder in FOLDERS for name in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))]
    homes = {initial.parent for name in found for initial in (ROOT / name.replace(".", "/")).glob("__init__.py")}
    for module in sorted(module for folder in FOLDERS for module in (ROOT / folder).rglob("*.py")):
        if module.parent not in homes and not workshop(module.relative_to(ROOT).parts):
            # setuptools would leave the module out of the wheel without a word. (What stays behind may hold plain files.)
            sys.exit(f"{module.relative_to(ROOT)}: its folder needs an __init__.py")
    return [FRONT, *(f"{FRONT}.{name}" for name in found if not workshop(name.split(".")))]


def workshop(parts: Sequence[str]) -> bool:
    """Tell whether a package or a path belongs to what makes the product: it stays in the repository and the sdist."""
    return parts[0] == "training" and len(parts) > 1 and parts[1] not in PRODUCT


def data() -> dict[str, list[str]]:
    """Return the files beside the modules that are installed, by package: all but what stays behind."""
    found: dict[str, list[str]] = {FRONT: ["py.typed"]}
    for folder in FOLDERS:
        paths = sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".py")
        names = [path.relative_to(ROOT / folder).as_posix() for path in paths if "__pycache__" not in path.parts]
        found[f"{FRONT}.{folder}"] = [name for name in names if not stays(folder, name)]
    return found


def stays(folder: str, name: str) -> bool:
    """Tell whether a file is not installed: of the workshop, a log that is not shown, or what is shipped compiled alone."""
    if folder == "corpus":
        compiled = name.startswith("compiled/") or name.endswith(".tsv")
        return compiled or (name.startswith("logs/") and name.removeprefix("logs/") not in LOGS)
    return workshop((folder, *name.split("/")))


class BuildWithCorpus(build_py):
    """Adds to a wheel what is made of the corpus: its compiled form, and the examples that `vllm-triage train` needs.

    An editable install reads the TOML files themselves, so that an edited rule counts at once.
    """

    def run(self) -> None:
        """Copy the modules, then compile the corpus next to them."""
        built = Path(self.build_lib, FRONT)
        if not self.editable_mode and built.exists():
            # setuptools keeps the last build; what was deleted since would come back in the wheel.
            shutil.rmtree(built)
        super().run()
        if not self.editable_mode:
            parent = importable()
            compile_into(built / "corpus" / "compiled", parent)
            write_rows(built, parent)


def importable() -> str:
    """Return the name under which the folders can be imported as they stand: nothing is installed yet."""
    # A bare parent: relative imports between the four folders work as in the installed package.
    parent = ModuleType("vllm_triage_in_build")
    parent.__path__ = [str(ROOT)]
    sys.modules[parent.__name__] = parent
    return parent.__name__


def compile_into(target: Path, package: str) -> None:
    """Compile the corpus into ``target``."""
    import_module(f"{package}.corpus.compiler").compile_corpus(ROOT / "corpus", target)
    import_module(f"{package}.classifier.patterns.precompiled").write(target / "patterns.marshal", expressions(package))
    (target / "values.marshal").write_bytes(marshal.dumps(import_module(f"{package}.classifier.values").marked()))
    store = import_module(f"{package}.corpus.store")
    store.HERE = str(target.parent)
    sample = b"".join(path.read_bytes() for path in sorted((ROOT / "corpus" / "logs" / "written").glob("*.log")))
    import_module(f"{package}.classifier.matching.plan").write(store.load().rules, sample)


def write_rows(built: Path, package: str) -> None:
    """Write the rows that a user's model is held against: the logs and the code that they are made of stay behind."""
    # The corpus that was compiled just now serves; reading the rule files again would take seconds.
    import_module(f"{package}.corpus.store").HERE = str(built / "corpus")
    rows = import_module(f"{package}.training.text_model.rows.dataset").rows_beside(())
    negatives = import_module(f"{package}.training.user_model.negatives")
    folder = built / "training" / "user_model"
    import_module(f"{package}.training.examples.row").write_rows(folder / negatives.SHIPPED.name, rows)


def expressions(package: str) -> list[tuple[str | bytes, int]]:
    """Return source and flags of every lazy expression of the classifier, by importing all of its modules."""
    found: dict[tuple[str | bytes, int], None] = {}
    lazy = import_module(f"{package}.classifier.patterns.lazy").LazyPattern
    make = lazy.__init__

    def note(self: object, source: str | bytes, flags: int = 0) -> None:
        found[source, int(flags)] = None
        make(self, source, flags)

    lazy.__init__ = note
    for module in sorted((ROOT / "classifier").rglob("*.py")):
        name = ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        try:
            import_module(f"{package}.{name}")
        except ImportError:  # a build without run-time dependencies: what is missing compiles at run time
            continue
    guards = import_module(f"{package}.corpus.guards")
    for row in guards.read_guards(ROOT / "corpus" / "guards.toml"):
        found.update({(row[name], guards.flags_of(name)): None for name in guards.EXPRESSIONS if name in row})
    return list(found)


setup(
    packages=packages(),
    package_data=data(),
    package_dir={FRONT: FRONT} | {f"{FRONT}.{folder}": folder for folder in FOLDERS},
    cmdclass={"build_py": BuildWithCorpus},
)
