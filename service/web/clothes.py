"""The page's colours and letters, for pages of one file that load nothing."""

from pathlib import Path

_BASE = (Path(__file__).parent / "static" / "base.css").read_text(encoding="utf-8")
CLOTHES = _BASE[_BASE.index(":root") : _BASE.index("\n}") + 2]
"""The rule that names them: --paper, --sheet, --ink, --accent, --sans …"""
