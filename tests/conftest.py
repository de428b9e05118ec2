"""For all tests."""

from __future__ import annotations

from hypothesis import settings

from tests.not_checked import pytest_terminal_summary

__all__ = ("pytest_terminal_summary",)

# No timing decides a test: on a busy machine any example may take long.
settings.register_profile("steady", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("steady")
