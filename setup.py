"""What pyproject.toml cannot say: how four top-level folders become one import package, and the compiled corpus."""

from __future__ import annotations

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
"""What `from vllm_triage import …` offers; the folders beside it are its sub-packages."""
FOLDERS = ("classifier", "corpus", "service", "training")
PRODUCT = ("evaluate", "examples", "harvest", "user_model")
"""Rooms of training that `vllm-triage train`, `evaluate` and `learn` need. The others are the workshop: they make what is shipped."""
LOGS = ("written/kv-cache-too-small.log",)
"""Logs of the corpus that the product shows: the page's example, and the API's."""


def packages() -> list[str]:
    """Return every package that is installed, found rather than listed, so that a new one cannot be forgotten."""
    found = [name for folder in FOLDERS for name in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))]
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
            # A bare parent: relative imports between the four folders work as in the installed package.
            parent = ModuleType("vllm_triage_in_build")
            parent.__path__ = [str(ROOT)]
            sys.modules[parent.__name__] = parent
            import_module(f"{parent.__name__}.training.wheel").write(built)


setup(
    packages=packages(),
    package_data=data(),
    package_dir={FRONT: FRONT} | {f"{FRONT}.{folder}": folder for folder in FOLDERS},
    cmdclass={"build_py": BuildWithCorpus},
)
