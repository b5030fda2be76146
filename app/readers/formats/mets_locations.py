"""Where the files that a METS names stand in a package.

They are found by the last parts of their paths: a METS names files as they once stood on a server.
"""

import re
import unicodedata
from urllib.parse import unquote

from app.readers.package import Package
from app.readers.source import Source

_MOST_PARTS = 8
"""Parts of a path, from its end, that are compared."""


class Locations:
    """The files of a package by the last parts of their paths."""

    def __init__(self, package: Package) -> None:
        self._by_end: dict[str, Source | None] = {}
        for path, source in package.members.items():
            for end in _ends(path):
                # None: the end does not tell two files apart.
                self._by_end[end] = None if end in self._by_end else source

    def find(self, href: str, mets_path: str) -> Source | None:
        """The file that a METS at `mets_path` points to."""
        path = unquote(re.sub(r"^[a-z]+:/+|[?#].*", "", href, flags=re.IGNORECASE))
        folder = mets_path.rpartition("/")[0]
        return next((self._by_end[end] for end in _ends(f"{folder}/{path}") if end in self._by_end), None)


def _ends(path: str) -> list[str]:
    """The path's last parts, the longest first."""
    parts = [
        part for part in re.split(r"[/\\]", unicodedata.normalize("NFC", path).casefold()) if part.strip(".")
    ]
    return ["/".join(parts[start:]) for start in range(max(len(parts) - _MOST_PARTS, 0), len(parts))]
