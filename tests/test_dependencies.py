"""What the code imports is declared, and what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {
    "opentelemetry-api": "opentelemetry", "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter", "opentelemetry-proto": "opentelemetry.proto",
    "protobuf": "google.protobuf", "prometheus-client": "prometheus_client",
    "pydantic-settings": "pydantic_settings", "python-multipart": "python_multipart", "scikit-learn": "sklearn",
    "slack-bolt": "slack_bolt", "slack-sdk": "slack_sdk",
}  # fmt: skip
"""Modules of distributions that do not bear their name."""
NAMED = {"psycopg", "vllm-triage"}
"""Needed without an import: SQLAlchemy finds its driver by a URL; ``all`` names the other extras."""
NOT_OURS = {"compression", "pydantic_core", "pytest", "torch", "uvloop", "vllm", "vllm_triage"}
"""The standard library of Python 3.14, what pydantic and uvicorn[standard] bring where it exists, what runs inside a recorded vLLM, and pytest,
which alone imports our plugin of it."""


@cache
def imported() -> frozenset[str]:
    """Return the modules that the code imports from elsewhere, by their full names."""
    found = set[str]()
    for folder in ("vllm_triage", "classifier", "corpus", "service", "training"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names = [node.module]
                found.update(name for name in names if name.partition(".")[0] not in sys.stdlib_module_names)
    return frozenset(found)


def declared() -> dict[str, str]:
    """Return the module of each distribution that the package or an extra for users needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items() if extra != "dev" for line in lines]
    found = [re.match(r"[\w-]+", line) for line in [*project["dependencies"], *extras]]
    names = {name[0] for name in found if name} - NAMED
    return {name: MODULES.get(name, name.replace("-", "_")) for name in names}


def test_what_is_imported_is_declared():
    modules = {module.partition(".")[0] for module in declared().values()}

    assert sorted({name.partition(".")[0] for name in imported()} - modules - NOT_OURS) == []


def test_what_is_declared_is_imported():
    used = {f"{name}." for name in imported()}

    assert [] == sorted(
        name for name, module in declared().items() if not any(other.startswith(f"{module}.") for other in used)
    )
