"""What pyproject.toml cannot say: how four top-level folders become one import package, and the compiled corpus."""

from __future__ import annotations

import shutil
import sys
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


def packages() -> list[str]:
    """Every package below the four folders, found rather than listed, so that a new one cannot be forgotten."""
    found = [name for folder in FOLDERS for name in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))]
    homes = {initial.parent for name in found for initial in (ROOT / name.replace(".", "/")).glob("__init__.py")}
    for module in sorted(module for folder in FOLDERS for module in (ROOT / folder).rglob("*.py")):
        if module.parent not in homes:
            # setuptools would leave the module out of the wheel without a word.
            sys.exit(f"{module.relative_to(ROOT)}: its folder needs an __init__.py")
    return [FRONT, *(f"{FRONT}.{name}" for name in found)]


class BuildWithCorpus(build_py):
    """Adds the compiled corpus to a wheel.

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
            compile_into(built / "corpus" / "compiled")


def compile_into(target: Path) -> None:
    """Compile the corpus into ``target``, with the compiler as it stands in the folder: nothing is installed yet."""
    # A bare parent: relative imports between the four folders work as in the installed package.
    parent = ModuleType("vllm_triage_in_build")
    parent.__path__ = [str(ROOT)]
    sys.modules[parent.__name__] = parent
    import_module(f"{parent.__name__}.corpus.compiler").compile_corpus(ROOT / "corpus", target)
    import_module(f"{parent.__name__}.classifier.patterns.precompiled").write(
        target / "patterns.marshal", expressions(parent.__name__)
    )


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
    return list(found)


setup(
    packages=packages(),
    package_dir={FRONT: FRONT} | {f"{FRONT}.{folder}": folder for folder in FOLDERS},
    cmdclass={"build_py": BuildWithCorpus},
)
