"""The name of a cluster: the kind of relation that joins its books, and the id of one book.

It has two written forms. The id is readable for people. The key consists of letters and digits only, which
need no quoting in a Solr field, a MARC subfield or a query.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self, cast
from uuid import UUID

from bookprint_core.clusters.clustering import KINDS, By

_LETTERS: Mapping[By, str] = MappingProxyType({"same_text": "s", "related": "r"})
_JOINED_BY: Mapping[str, By] = MappingProxyType({letter: by for by, letter in _LETTERS.items()})
_ID = re.compile(rf"({'|'.join(KINDS)})-([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")
_KEY = re.compile(rf"([{''.join(_JOINED_BY)}])([0-9a-f]{{32}})")


@dataclass(frozen=True, slots=True)
class ClusterName:
    """The relation that joins the books of a cluster, and the id of a book, which may have been deleted."""

    by: By
    book_id: UUID  # of the oldest book, if the name is the present one

    def __str__(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        """Id of the cluster, in words.

        >>> ClusterName("same_text", UUID("0193508e-7a3c-7c19-9b54-2f1d6a0e4c11")).id
        'same_text-0193508e-7a3c-7c19-9b54-2f1d6a0e4c11'
        """
        return f"{self.by}-{self.book_id}"

    @property
    def key(self) -> str:
        """Id in 33 letters and digits: s (same_text) or r (related), then the digits of the book's id.

        >>> ClusterName("same_text", UUID("0193508e-7a3c-7c19-9b54-2f1d6a0e4c11")).key
        's0193508e7a3c7c199b542f1d6a0e4c11'
        """
        return _LETTERS[self.by] + self.book_id.hex

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse an id or a key; return None if the text is neither."""
        if match := _KEY.fullmatch(text):
            return cls(_JOINED_BY[match[1]], UUID(match[2]))
        if match := _ID.fullmatch(text):
            return cls(cast(By, match[1]), UUID(match[2]))
        return None
