"""The stage of relations: every pair of candidates is compared page by page.

Page signatures are heavy and relatives lie anywhere in the corpus. So pairs are put into buckets that hardly
share a book, the signatures are copied into a folder for each bucket, and a task compares those of one.
"""

import numpy as np
import pyarrow as pa

from app.corpus.tables import schema
from workers.batch import storage
from workers.batch.comparing import BOOKS, DESCRIBED, PAIRS, RELATED, SIGNED, related_pairs
from workers.batch.corpus import Corpus
from workers.batch.pair_buckets import Numbers, PairBuckets, Pairs, pair_buckets, placement

_PLACED, _RELATED = "work/placed", "work/related"

_HEAVY_ROWS_PER_GROUP = 32
"""Each bucket's rows are in memory until their group is written."""

_MAPS_PER_GROUP = 4_096
"""A page map takes some 4 KB."""


def run(corpus: Corpus) -> None:
    """Write `relations` and `page_maps`."""
    buckets = pair_buckets(_candidate_pairs(corpus))
    _write_pairs(corpus, buckets)
    _write_books(corpus, buckets)
    tasks = pa.table({"bucket": np.arange(buckets.ends.size)})
    frame = corpus.spread("relations", tasks, related_pairs, RELATED)
    corpus.write(_RELATED, frame, RELATED, rows_per_group=_MAPS_PER_GROUP)
    for name in ("relations", "page_maps"):
        table = corpus.table(_RELATED).select(*schema(name).names)
        corpus.write(name, table, schema(name), rows_per_group=_MAPS_PER_GROUP)
    for name in (PAIRS, _PLACED, BOOKS, _RELATED):
        storage.delete(corpus.out, name)


def _candidate_pairs(corpus: Corpus) -> Pairs:
    """All pairs of candidates, with the oldest book that has each one's text."""
    candidates = storage.read(corpus.out, "candidates", ["left", "right"])
    left, right = (candidates.column(name).to_numpy() for name in ("left", "right"))
    # Equal signatures without a text have equal content keys too.
    copies = (
        corpus.table("sketches")
        .where("content_key IS NOT NULL")
        .selectExpr("book", "min(book) OVER (PARTITION BY content_key, page_count) AS oldest")
        .where("book <> oldest")
        .toArrow()
        .sort_by("book")
    )
    books, oldest = (copies.column(name).to_numpy() for name in ("book", "oldest"))
    return Pairs(left, right, _texts(left, books, oldest), _texts(right, books, oldest))


def _texts(books: Numbers, copies: Numbers, oldest: Numbers) -> Numbers:
    """The oldest book with the text of each of the books; `copies` (n,) ascend and have an older one."""
    if not copies.size:
        return books
    places = np.minimum(np.searchsorted(copies, books), copies.size - 1)
    return np.where(copies[places] == books, oldest[places], books)


def _write_pairs(corpus: Corpus, buckets: PairBuckets) -> None:
    storage.delete(corpus.out, PAIRS)
    pairs = buckets.pairs
    table = pa.table(
        {
            "left": pairs.left,
            "right": pairs.right,
            "left_text": pairs.left_text,
            "right_text": pairs.right_text,
        }
    )
    start = 0
    for bucket, end in enumerate(buckets.ends.tolist()):
        storage.write(corpus.out, f"{PAIRS}/bucket={bucket}", table.slice(start, end - start))
        start = end


def _write_books(corpus: Corpus, buckets: PairBuckets) -> None:
    """Copy the books of each bucket there; signatures with the oldest one that has a text alone."""
    placed = placement(buckets)
    table = pa.table({"bucket": placed.buckets, "book": placed.books, "text": placed.texts})
    storage.delete(corpus.out, _PLACED)
    storage.write(corpus.out, _PLACED, table)
    columns = ["bucket", "book", *DESCRIBED, *(f"if(book = text, {name}, NULL) AS {name}" for name in SIGNED)]
    sketches = corpus.table("sketches").select("book", *DESCRIBED, *SIGNED)
    # Sail keeps the first table of a join in memory and lets the other one pass.
    frame = corpus.table(_PLACED).hint("broadcast").join(sketches, "book").selectExpr(*columns)
    fields = [schema("sketches").field(name) for name in ("book", *DESCRIBED, *SIGNED)]
    written = pa.schema([pa.field("bucket", pa.int64()), *fields])
    corpus.write(BOOKS, frame, written, by=["bucket"], rows_per_group=_HEAVY_ROWS_PER_GROUP)
