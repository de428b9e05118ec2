"""For all tests."""

from __future__ import annotations

import os

from tests.everyday import pytest_addoption, pytest_collection_modifyitems, pytest_configure
from tests.not_checked import pytest_terminal_summary

__all__ = ("pytest_addoption", "pytest_collection_modifyitems", "pytest_configure", "pytest_terminal_summary")

# Hundreds of processes are started: compiling all modules anew would be most of their time, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
