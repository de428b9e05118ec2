# ruff: noqa: INP001 - a hook, not a module of ours
"""Part of mkdocs.yml: a link that leaves docs/ leads to the repository, where it is a link between files."""

from __future__ import annotations

import posixpath
import re


def on_page_markdown(markdown: str, *, page, config, **_rest: object) -> str:
    """Rewrite links to files outside of the site."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def lead(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[1]))
        return found[0] if path.startswith("docs/") else f"]({config.repo_url.rstrip('/')}/blob/HEAD/{path}"

    return re.sub(r"\]\((\.\./[^)#\s]+)", lead, markdown)
