"""Tables of a corpus, written without the stages that make them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from bookprint_core.model import Content, Metadata
from bookprint_core.relations.relation import ComparedBook
from bookprint_core.signatures.sketch import sketch
from bookprint_core.signatures.table_codec import cells_of
from bookprint_core.text.content import content_key
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.tables import schema

UNDESCRIBED = Metadata()

signed = cache(sketch)
"""The signatures of a content."""


@dataclass(frozen=True)
class MadeBook:
    """A book of a made corpus."""

    content: Content
    metadata: Metadata = UNDESCRIBED
    has_pages: bool = True

    def compared(self) -> ComparedBook:
        made = signed(self.content)
        metadata = Metadata(title=self.metadata.title, year=self.metadata.year, volume=self.metadata.volume)
        return ComparedBook(made.pages if self.has_pages else None, made.minhash, metadata)


def write_sketches(corpus: Corpus, books: Mapping[int, MadeBook]) -> None:
    rows = []
    for number, book in books.items():
        row = {
            "book": number,
            "place": f"book {number}",
            "content_key": content_key(book.content),
            **cells_of(book.metadata, signed(book.content), ()),
        }
        rows.append(row if book.has_pages else row | dict.fromkeys(("pages", "pages_unit", "pages_recipe")))
    storage.write(corpus.out, "sketches", pa.Table.from_pylist(rows, schema=schema("sketches")))


def write_candidates(corpus: Corpus, pairs: Iterable[tuple[int, int]]) -> None:
    rows = [{"left": left, "right": right} for left, right in pairs]
    storage.write(corpus.out, "candidates", pa.Table.from_pylist(rows, schema=schema("candidates")))
