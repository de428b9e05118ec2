"""The modules that an ordinary answer needs, in one file: made when the wheel is built, served by a finder of its own.

Python looks for each module in several places, opens a file and compares times: more than running most modules takes. With
the bundle there is one file for a group of modules, and one look at each source. Whatever is not as it was when the wheel was
built is imported as usual: another Python, a source that was changed or is not there, an editable installation, which has no
bundle. Modules know their source, so tracebacks, debuggers, ``inspect`` and ``importlib.resources`` see no difference.
"""

from __future__ import annotations

import _imp
import gc
import marshal
import os
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import CodeType, ModuleType
    from typing import TypeAlias

    Table: TypeAlias = "dict[str, tuple[int, str, bool, int]]"

FILE = "modules.marshal"
"""Its name in the package's folder."""
HEAD = 8
"""Bytes before its table: the length of that."""
INSTALLING = 2
"""Seconds that installing may take: a source that is younger than the bundle by more is taken for a changed one."""
USUAL_HOOKS = 2
"""Path hooks of Python itself. Whoever added one wants to see what is imported."""


class Bundle:
    """A finder for ``sys.meta_path`` that knows the modules of one package.

    Args:
        folder: The package.
        table: Its modules: the group of each, its file, whether it is a package, and the bytes of its source.
        groups: Where each group begins in the bundle, and its bytes.
        made: When the bundle was installed, in seconds.
    """

    def __init__(self, folder: str, table: Table, groups: list[tuple[int, int]], made: float) -> None:
        self._folder = folder
        self.table = table
        self._groups = groups
        self._made = made
        self._codes: dict[str, CodeType] = {}

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the table says where
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return where a module is, as Python asks; None where it is not in the bundle, or not as it was."""
        told = self.table.get(name)
        # A module that is there already is being loaded anew: for that, somebody changed it.
        if told is None or name in sys.modules:
            return None
        group, relative, is_package, size = told
        place = self._folder + relative
        try:
            source = os.stat(place)
        except OSError:
            return None
        if source.st_size != size or source.st_mtime > self._made + INSTALLING:
            return None
        if name not in self._codes:
            self._unpack(group)
        spec = ModuleSpec(name, Loader(name, place, self._codes), origin=place, is_package=is_package)
        spec.has_location = True
        home, _, module = place.rpartition(os.sep)
        if sys.pycache_prefix is None:
            # Where Python would keep it: told here, or worked out for each.
            spec.cached = f"{home}{os.sep}__pycache__{os.sep}{module[:-3]}.{sys.implementation.cache_tag}.pyc"
        if is_package:
            spec.submodule_search_locations = [home]
        return spec

    def _unpack(self, group: int) -> None:
        (start, size), self._groups[group] = self._groups[group], (0, 0)
        if not size:
            return
        collects = gc.isenabled()
        # There is no garbage in here, and looking for it takes longer than reading.
        gc.disable()
        try:
            with open(self._folder + FILE, "rb") as file:
                file.seek(start)
                self._codes.update(marshal.loads(file.read(size)))  # noqa: S302 - our own file
        except (OSError, ValueError, TypeError, EOFError):
            # The loader reads each module as usual then.
            return
        finally:
            if collects:
                gc.enable()


class Loader(SourceFileLoader):
    """Loads a module whose code was read already."""

    def __init__(self, name: str, path: str, codes: dict[str, CodeType]) -> None:
        super().__init__(name, path)
        self._codes = codes

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of a module, once from the bundle, and as usual from then on."""
        code = self._codes.pop(fullname, None)
        if code is None:
            return super().get_code(fullname)
        # As importlib does: the code, and all code within it, is told where its source is now.
        _imp._fix_co_filename(code, self.path)  # type: ignore[attr-defined] # noqa: SLF001
        return code


def serve(folder: str) -> Bundle | None:
    """Serve the modules of the package in ``folder`` from its bundle; do nothing where it has none for this Python."""
    if sys.flags.optimize or len(sys.path_hooks) > USUAL_HOOKS or PathFinder not in sys.meta_path:
        return None
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            told = os.fstat(file.fileno())
            size = min(int.from_bytes(file.read(HEAD), "big"), told.st_size)
            build, table, groups = marshal.loads(file.read(size))  # noqa: S302 - our own file
    except (OSError, ValueError, TypeError, EOFError):
        return None
    if build != build_of():
        return None
    bundle = Bundle(
        os.path.join(folder, ""), table, [(HEAD + size + at, length) for at, length in groups], told.st_mtime
    )
    # Hooks that others put at the front are asked first; Python's own finders are not, which takes as long as ours.
    own = (BuiltinImporter, FrozenImporter, PathFinder)
    sys.meta_path.insert(next(at for at, finder in enumerate(sys.meta_path) if finder in own), bundle)
    return bundle


def build_of() -> str:
    """Return what code depends on: Python's release, and its number for compiled code."""
    from importlib import _bootstrap_external

    return f"{sys.implementation.cache_tag};{getattr(_bootstrap_external, 'MAGIC_NUMBER', b'').hex()}"


def write(folder: str, groups: Iterable[Sequence[str]]) -> None:
    """Write the bundle of the package in ``folder``.

    Args:
        folder: The package as it will be installed.
        groups: Names of modules; those of one group are read when the first of them is needed.
    """
    if sys.implementation.name != "cpython":  # others have no such code
        return
    package = os.path.basename(folder)
    table: Table = {}
    packed = []
    for number, names in enumerate(groups):
        codes = {}
        for name in names:
            relative = os.path.join(*name.split(".")[1:])
            is_package = os.path.isdir(os.path.join(folder, relative))
            relative = os.path.join(relative, "__init__.py") if is_package else f"{relative}.py"
            with open(os.path.join(folder, relative), "rb") as file:
                source = file.read()
            codes[name] = compile(source, os.path.join(package, relative), "exec", dont_inherit=True, optimize=0)
            table[name] = (number, relative, is_package, len(source))
        packed.append(marshal.dumps(codes))
    sizes = [len(group) for group in packed]
    places = [(sum(sizes[:number]), size) for number, size in enumerate(sizes)]
    head = marshal.dumps((build_of(), table, places))
    with open(os.path.join(folder, FILE), "wb") as file:
        file.write(len(head).to_bytes(HEAD, "big") + head + b"".join(packed))
