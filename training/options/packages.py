"""The packages that vLLM's releases ask for, or tell to install: the names that a fix may tell people to install.

``python -m vllm_triage.training.options.packages 0.8.5 0.32.0 …`` adds those of these releases to
``corpus/vllm/packages.json``: those of their metadata, and those that the sources in ``--cache DIR`` (what
``training.tables`` keeps there) name behind ``pip install``. ``--catalogue`` adds those that the messages in ``corpus/messages``
tell people to install: vLLM's neighbours ask for more than vLLM does. Nothing is installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "corpus" / "vllm" / "packages.json"
CATALOGUE = FILE.parents[1] / "messages"
_TOLD = re.compile(r"pip3? install (?:(?:-U|--upgrade|-q|--no-deps) )*[\"'`\\]*([A-Za-z][\w.-]*)")
_NO_PACKAGES = frozenset({"git", "vllm", "nvidia-nccl-cu"})
"""What stands behind the words and is none: an address, vLLM itself, half a name."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def required(release: str) -> list[str]:
    """Return the packages that a release asks for, extras included.

    Raises:
        subprocess.CalledProcessError: pip finds no such release.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet"]
        command += ["--ignore-requires-python", "--report", str(report), f"vllm=={release}"]
        subprocess.run(command, check=True)  # noqa: S603 - our own words and a release number
        return names(json.loads(report.read_text("utf-8")))


def names(report: dict[str, object]) -> list[str]:
    """Return the normalised names in ``requires_dist`` of pip's installation report, sorted."""
    found: set[str] = set()
    installs = report.get("install")
    for item in installs if isinstance(installs, list) else ():
        for line in item.get("metadata", {}).get("requires_dist", ()):
            if told := _NAME.match(line):
                found.add(re.sub(r"[-_.]+", "-", told[0].lower()))
    return sorted(found)


def mentioned(archive: Path) -> list[str]:
    """Return the packages that the Python files of a zip file tell people to install, sorted."""
    found: set[str] = set()
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            if name.endswith(".py"):
                found |= _told(files.read(name).decode("utf-8", "replace"))
    return sorted(found)


def catalogued(folder: Path = CATALOGUE) -> list[str]:
    """Return the packages that the messages of the catalogue tell people to install, sorted."""
    return sorted({name for file in folder.glob("*.tsv") for name in _told(file.read_text("utf-8"))})


def _told(text: str) -> set[str]:
    return {re.sub(r"[-_.]+", "-", name.lower()).strip("-") for name in _TOLD.findall(text)} - _NO_PACKAGES


def main(words: Sequence[str]) -> int:
    """Add the packages of these releases to the file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("releases", nargs="*")
    options.add_argument("--cache", type=Path)
    options.add_argument("--catalogue", action="store_true")
    asked = options.parse_args(words)
    known = set(json.loads(FILE.read_text("utf-8")) if FILE.exists() else [])
    if asked.catalogue:
        known.update(catalogued())
    for release in asked.releases:
        known.update(required(release))
        if asked.cache is not None:
            known.update(mentioned(asked.cache / f"vllm-{release}.zip"))
    FILE.write_text(json.dumps(sorted(known), indent=0) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
