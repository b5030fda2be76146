"""Reader of a book in any supported format: text, pages and metadata.

    book = read("emma.epub")

A module is loaded when one of its names is first used, because the readers of some formats take long to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookprint_readers.unread import read

__all__ = ["read"]

_HOMES = {"read": "bookprint_readers.unread"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
