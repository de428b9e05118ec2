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
"""What `from vllm_triage import …` offers; the folders beside it are its sub-packages."""
FOLDERS = ("classifier", "corpus", "service", "training")
PRODUCT = ("evaluate", "examples", "harvest", "user_model")
"""Rooms of training that `vllm-triage train`, `evaluate` and `learn` need. The others are the workshop: they make what is shipped."""
LOGS = ("written/kv-cache-too-small.log",)
"""Logs of the corpus that the product shows: the page's example, and the API's."""


def is_installed(name: str) -> bool:
    """Whether a file or package (a path from the root) is installed: not the workshop, nor what the wheel holds compiled."""
    folder, _, rest = name.partition("/")
    if folder == "training":
        return "/" not in rest or rest.partition("/")[0] in PRODUCT
    if folder == "corpus":
        shown = rest.removeprefix("logs/") in LOGS
        return shown or not (rest.startswith(("compiled/", "logs/")) or rest.endswith(".tsv"))
    return True


def data(folder: str) -> list[str]:
    """Return the installed files of a folder that are no modules."""
    paths = sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".py")
    names = [path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts]
    return [name.removeprefix(f"{folder}/") for name in names if is_installed(name)]


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


# Every package is found rather than listed, so that a new one cannot be forgotten.
found = find_packages(str(ROOT), include=[f"{folder}*" for folder in FOLDERS])
setup(
    packages=[FRONT, *(f"{FRONT}.{name}" for name in found if is_installed(f"{name}.".replace(".", "/")))],
    package_data={FRONT: ["py.typed"]} | {f"{FRONT}.{folder}": data(folder) for folder in FOLDERS},
    package_dir={FRONT: FRONT} | {f"{FRONT}.{folder}": folder for folder in FOLDERS},
    cmdclass={"build_py": BuildWithCorpus},
)
