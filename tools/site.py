"""Hooks of mkdocs: navigation from docs/README.md, and plain names instead of links out of docs/."""

import posixpath
import re
from pathlib import Path
from typing import Any

INDEX = Path(__file__).parents[1] / "docs" / "README.md"
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)]+)\)")


def on_config(config: Any) -> Any:
    """Set the navigation: a section for each heading of the index, with its pages in order."""
    parts = INDEX.read_text(encoding="utf-8").split("\n## ")
    config["nav"] = [
        {"Documentation": "README.md"},
        *({_heading(part): [{title: page} for title, page in _LINK.findall(part)]} for part in parts[1:]),
    ]
    return config


def _heading(part: str) -> str:
    return part.partition("\n")[0]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links to files outside docs/ by their names, because the site contains only docs/."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        return f"{link[1]} (`{target.lstrip('./')}`)" if target.startswith("..") else link[0]

    return _OUTSIDE.sub(named, markdown)
