"""``python -m vllm_triage.training.tables [NAME …]``: make what is mined from vLLM's releases anew, all of it or what is named.

The Python files of all releases come from the package index that pip is configured with; what ``--cache DIR`` has is not downloaded
again. They are parsed, never imported or run. Of ``options`` only releases are mined that its table lacks. ``training.repairs`` reads
vLLM's history.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from rich.console import Console

from ...corpus.options import version_key
from ..options.fetch import CACHE, FetchError, fetch
from ..options.index import FIRST, OLDEST, PackageIndexError, releases
from ..options.model_classes import RegistryError
from ..options.release import MiningError
from ..progress import track

TABLES = {
    "options": ("options.table", FIRST), "architectures": ("options.architectures", FIRST), "modules": ("options.modules", FIRST),
    "model_types": ("options.model_types", FIRST), "weight_names": ("options.weight_names", FIRST),
    "fingerprint": ("fingerprint.mine", OLDEST), "lines": ("fingerprint.lines", FIRST), "raise_sites": ("raise_sites.sites", OLDEST),
}  # fmt: skip
"""By name the modules that make them, each of which has ``FILE`` and ``made``, and the oldest release that is read."""

Archives = Mapping[str, Path]
"""Releases, oldest first, with the archives of their Python files."""


def main(arguments: list[str] | None = None) -> int:
    """Write the tables; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m vllm_triage.training.tables", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*TABLES, []], help=f"of {', '.join(TABLES)} (all)")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, metavar="DIR", help="where archives are kept (%(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write into this folder instead of the corpus")
    given = parser.parse_args(arguments)
    console = Console(stderr=True)
    try:
        offered = track(releases(since=OLDEST), "fetching releases")
        archives = {files.version: fetch(files, given.cache) for files in offered}
        for name in given.names or TABLES:
            place, since = TABLES[name]
            module, oldest = import_module(f"..{place}", __package__), version_key(since) or ()
            make: Callable[[Archives], bytes] = module.made
            data = make({version: path for version, path in archives.items() if (version_key(version) or ()) >= oldest})
            target = Path(module.FILE) if given.out is None else given.out / Path(module.FILE).name
            target.write_bytes(data)
            console.print(f"{name}: {len(data) / 1000:.0f} kB in {target}")
    except (PackageIndexError, FetchError, RegistryError, MiningError) as error:
        console.print(f"[red]{error}[/red]")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
