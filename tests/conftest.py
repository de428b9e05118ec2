"""For all tests."""

from __future__ import annotations

import os

from hypothesis import settings

from tests.not_checked import pytest_terminal_summary

__all__ = ("pytest_terminal_summary",)

# Hundreds of processes are started: compiling all modules anew would be most of their time, whatever the environment says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No timing decides a test: on a busy machine any example may take long.
settings.register_profile("steady", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("steady")
