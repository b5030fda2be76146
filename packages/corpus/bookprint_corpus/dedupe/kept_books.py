"""The choice of the books to keep, by the relations of a corpus.

A relation is used only if the signatures of the whole books also join them. In short texts, pages of two
filled forms or of two translations may look like one text, although these signatures differ. Books that share
only a preface or a licence are not copies. A wrong choice loses a book, so relation and rule must agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import assert_never
from uuid import UUID

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bookprint_core.clusters.best_copy import KNOWN, Copy, best_copy, complete_copies
from bookprint_core.matching.verification import JOINED
from bookprint_corpus import storage
from bookprint_corpus.components import connected_components
from bookprint_corpus.dedupe.sections import (
    COPIES,
    BookPlaces,
    Keep,
    Same,
    longest_copies,
    oldest_together,
    with_parts,
)

_COLUMNS: dict[str, pa.DataType] = {
    "place": pa.string(),
    "external_id": pa.string(),
    "cluster": pa.string(),
    "size": pa.int64(),
    "keep": pa.bool_(),
    "because": pa.string(),
}
SCHEMA = pa.schema(_COLUMNS)
"""Schema of the table of kept and left out books. A cluster is named by its oldest book."""

_BOOK = ("book", "place", *KNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class KeptBooks:
    """Kept books of a corpus, by place in the order of the input."""

    rows: pa.Table  # of `books`: number, place, and the data for choosing a copy
    copies: BookPlaces  # (n,) the chosen copy in each book's cluster
    kept: BookPlaces  # (n,) the book kept in place of each book; it may contain the text as a part
    founders: BookPlaces  # (n,) the oldest book with the same kept book
    sizes: NDArray[np.int64]  # (n,) number of books with the same kept book
    reasons: Sequence[str | None]  # (n,) reason for choosing a copy, or None

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        return np.asarray(self.kept == np.arange(self.kept.size))

    def names(self) -> list[str]:
        """Return the name of each book: its external id, or its place without one."""
        columns = (self.rows.column(name).to_pylist() for name in ("external_id", "place"))
        return [external_id or str(place) for external_id, place in zip(*columns, strict=True)]


def kept_books(out: str, same: Same, keep: Keep) -> KeptBooks:
    """Choose which books of the corpus in a folder to keep."""
    rows = storage.read(out, "books", _BOOK).sort_by("book")
    numbers = rows.column("book").to_numpy()
    words = rows.column("word_count").to_numpy()
    relations = _joining(out)
    joined = relations.filter(pc.is_in(relations.column("kind"), pa.array(sorted(COPIES[same]))))
    founders = np.searchsorted(numbers, connected_components(*_ends(joined)).founders_of(numbers))
    reasons: list[str | None] = [None] * numbers.size
    match keep:
        case "first":
            copies = founders
        case "longest":
            copies = longest_copies(founders, words)
        case "best":
            copies = _best_copies(out, rows, founders, reasons)
        case _:
            assert_never(keep)
    kept = copies
    if same == "contained":
        kept = with_parts(copies, words, *_parts_and_wholes(relations, numbers))
    together = oldest_together(kept)
    sizes = np.bincount(together, minlength=numbers.size)[together]
    return KeptBooks(rows, copies, kept, together, sizes, reasons)


def table_of(books: KeptBooks, keep: Keep) -> pa.Table:
    """Return a row for each book: its place, its cluster, whether it is kept, and why."""
    names = books.names()
    columns = {
        "place": books.rows.column("place"),
        "external_id": books.rows.column("external_id"),
        "cluster": pa.array([names[founder] for founder in books.founders.tolist()], pa.string()),
        "size": books.sizes,
        "keep": books.is_kept,
        "because": pa.array(_because(books, names, keep), pa.string()),
    }
    return pa.table([columns[field.name] for field in SCHEMA], schema=SCHEMA)


def refused_rows(refused: pa.Table) -> pa.Table:
    """Return unreadable books as rows of `SCHEMA`. They are kept, because their copies are unknown."""
    reasons = [f"It could not be compared. {reason}" for reason in refused.column("reason").to_pylist()]
    columns = {"place": refused.column("place"), "because": reasons, "keep": [True] * refused.num_rows}
    nothing = [None] * refused.num_rows
    return pa.table([columns.get(field.name, nothing) for field in SCHEMA], schema=SCHEMA)


def _because(books: KeptBooks, names: Sequence[str], keep: Keep) -> list[str | None]:
    """Return the reason why each book is kept or not; None for a book without copies."""
    because: list[str | None] = [None] * len(names)
    words = books.rows.column("word_count").to_pylist()
    copy_counts = np.bincount(books.copies, minlength=len(names))
    for place in np.flatnonzero(books.sizes > 1).tolist():
        kept, copy = int(books.kept[place]), int(books.copies[place])
        if kept != place:
            what = "It is a copy of" if kept == copy else "Its text is part of"
            because[place] = f"{what} {names[kept]}, which is kept."
        elif copy_counts[place] == 1:
            because[place] = "It contains the texts of all books left out for it."
        elif keep == "first":
            because[place] = f"It is the first of {copy_counts[place]:,} copies."
        elif keep == "longest":
            because[place] = f"It is the longest of {copy_counts[place]:,} copies: {words[place]:,} words."
        else:
            because[place] = books.reasons[place]
    return because


def _best_copies(out: str, rows: pa.Table, founders: BookPlaces, reasons: list[str | None]) -> BookPlaces:
    """Return the best copy in each book's cluster. Write the reason for each choice to `reasons`."""
    agreement = _agreement(out, rows.column("book").to_numpy(), founders)
    kept = np.arange(founders.size)
    clustered = np.flatnonzero(np.bincount(founders, minlength=founders.size)[founders] > 1)
    order = clustered[np.argsort(founders[clustered], kind="stable")]
    known = (rows.column(name).take(pa.array(order, pa.int64())).to_pylist() for name in KNOWN)
    copies = (Copy(UUID(int=place), *cells) for place, *cells in zip(order.tolist(), *known, strict=True))
    for _, cluster in groupby(copies, key=lambda copy: founders[copy.book_id.int]):
        members = list(cluster)
        complete = complete_copies(members)
        best = best_copy(complete, {copy.book_id: agreement[copy.book_id.int] for copy in complete.copies})
        kept[[copy.book_id.int for copy in members]] = best.book_id.int
        reasons[best.book_id.int] = best.because
    return kept


def _agreement(out: str, numbers: BookPlaces, founders: BookPlaces) -> NDArray[np.float64]:
    """Return the mean similarity of each book's pages to other books of its cluster, 0 if unknown."""
    totals, counts = np.zeros(numbers.size), np.zeros(numbers.size)
    for batch in storage.batches(out, "relations", ["left", "right", "signals"]):
        known = batch.filter(pc.is_valid(batch.column("signals")))
        left, right = (np.searchsorted(numbers, books) for books in _ends(known))
        within = np.flatnonzero(founders[left] == founders[right])
        signals = known.column("signals").take(pa.array(within, pa.int64())).to_pylist()
        similarities = np.array([orjson.loads(each or "{}")["page_similarity"] for each in signals])
        for books in (left[within], right[within]):
            np.add.at(totals, books, similarities)
            np.add.at(counts, books, 1)
    return totals / np.maximum(counts, 1)


def _joining(out: str) -> pa.Table:
    """Return the relations of books that their signatures join."""
    relations = storage.read(out, "relations", ["left", "right", "kind", "direction", "verdict"])
    return relations.filter(pc.is_in(relations.column("verdict"), pa.array(sorted(JOINED))))


def _ends(relations: pa.Table | pa.RecordBatch) -> tuple[BookPlaces, BookPlaces]:
    """Return the numbers of the older and the younger book of each relation."""
    return relations.column("left").to_numpy(), relations.column("right").to_numpy()


def _parts_and_wholes(relations: pa.Table, numbers: BookPlaces) -> tuple[BookPlaces, BookPlaces]:
    """Return the places of part and whole for each relation in which one book contains the other."""
    directed = relations.filter(pc.is_valid(relations.column("direction")))
    left, right = (np.searchsorted(numbers, books) for books in _ends(directed))
    has_left_whole = np.array(directed.column("direction").to_pylist()) == "contains"
    return np.where(has_left_whole, right, left), np.where(has_left_whole, left, right)
