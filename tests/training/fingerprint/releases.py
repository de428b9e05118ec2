"""Three small releases of a package called vllm, as the index of packages would give them."""

from __future__ import annotations

import zipfile
from pathlib import Path

CORE = '''"""The engine."""
from vllm.logger import init_logger

logger = init_logger(__name__)


class EngineCore:

    def step(self):
        logger.info("Stepping %d", 1)
        outputs = self.executor.execute_model(self.batch)
        return outputs

    def check(self, wanted):
        def nearest(name):
            return self.find_nearest(name)
        raise ValueError(f"No such model: {nearest(wanted)}")
'''

FIRST = {"vllm/v1/engine/core.py": CORE, "vllm/old.py": 'logger.info("Only in the first")\n'}
SECOND = {"vllm/v1/engine/core.py": CORE.replace("\n\nclass", "\nLIMIT = 4\n\n\nclass")}
THIRD = {"vllm/v1/engine/core.py": SECOND["vllm/v1/engine/core.py"].replace("Stepping %d", "Running step %d")}
RELEASES = {"0.2.0": FIRST, "0.3.0": SECOND, "0.3.1": THIRD}


def archive(folder: Path, version: str) -> Path:
    """Write the archive of a release as the fetcher does; return its path."""
    target = folder / f"vllm-{version}.zip"
    with zipfile.ZipFile(target, "w") as opened:
        for name, content in RELEASES[version].items():
            opened.writestr(name, content)
    return target
