"""The stage of relations: every pair of candidates is compared page by page.

Page signatures are large, and related books may be anywhere in the corpus. Pairs are therefore grouped into
buckets that share few books. Signatures are copied into a folder per bucket, and a task compares one bucket.

Most of the work depends only on the texts, so each pair of texts is compared once. Values that are equal for
many pairs are computed once and copied by Arrow: five thousand equal books have a million pairs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bookprint_core.matching.verification import MatchVerdict, evidence, verdict
from bookprint_core.model import Metadata, Sketch
from bookprint_core.relations.alignment import page_map, run_bounds
from bookprint_core.relations.relation import ComparedBook, Relation, TextComparison, compare, relation_of
from bookprint_core.signatures.table_codec import METADATA, sketch_of
from bookprint_corpus import storage
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.pair_buckets import Numbers, PairBuckets, Pairs, pair_buckets, placement
from bookprint_corpus.tables import schema

PAIRS, BOOKS = "work/pairs", "work/paired_books"

_UNSIGNED = ("book", "place", *METADATA, "page_labels", "content_key")

SIGNED = tuple(name for name in schema("sketches").names if name not in _UNSIGNED)
"""Columns of `sketches` that a bucket contains only for the oldest book of each text."""

DESCRIBED = ("title", "year", "volume")
"""Columns of `sketches` by which books are compared, in addition to their texts."""

RELATED = pa.schema([*schema("relations"), *list(schema("page_maps"))[2:]])
"""Schema of relations with their page maps."""

_Column: TypeAlias = "pa.Array[Any]"
_Columns: TypeAlias = Mapping[str, _Column]

_NO_RUNS = np.zeros((0, 4), dtype=np.int32)
_ROWS_AT_ONCE = 512
_TEXTS_AT_HAND = 512


def related_pairs(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the relations of the pairs in one bucket, with their page maps."""
    pairs = _pairs(storage.read(out, f"{PAIRS}/bucket={task['bucket']}"))
    books = _Books(storage.read(out, f"{BOOKS}/bucket={task['bucket']}", ["book", *DESCRIBED, *SIGNED]))
    starts = pairs.starts().tolist()
    metadata = [[books.metadata(book) for book in side.tolist()] for side in (pairs.left, pairs.right)]
    rows = _Rows()
    for place, (left, right) in enumerate(zip(*metadata, strict=True)):
        if starts[place]:
            rows.compared(books.text(int(pairs.left_text[place])), books.text(int(pairs.right_text[place])))
        rows.add(left, right)
        if rows.count == _ROWS_AT_ONCE or place == pairs.left.size - 1:
            yield rows.batch(pairs, place + 1)


class _Books:
    """The books of a bucket."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._places = {book: place for place, book in enumerate(table.column("book").to_pylist())}
        described = zip(*(table.column(name).to_pylist() for name in DESCRIBED), strict=True)
        self._metadata = [
            Metadata(title=title, year=year, volume=volume) for title, year, volume in described
        ]
        self.text = lru_cache(_TEXTS_AT_HAND)(self._text)

    def metadata(self, book: int) -> Metadata:
        return self._metadata[self._places[book]]

    def _text(self, book: int) -> Sketch:
        return sketch_of({name: self._table.column(name)[self._places[book]].as_py() for name in SIGNED})


class _Rows:
    """Rows of `RELATED` that are collected for a batch."""

    def __init__(self) -> None:
        self._comparisons: list[TextComparison] = []
        self._verdicts: list[MatchVerdict] = []
        self._relations: list[Relation] = []
        self._known: dict[tuple[Metadata, Metadata], int] = {}
        self._places: list[tuple[int, int]] = []  # places of each row's comparison and relation

    @property
    def count(self) -> int:
        return len(self._places)

    def compared(self, left: Sketch, right: Sketch) -> None:
        """Compare two texts, to which the next pairs belong."""
        sides = (ComparedBook(text.pages, text.minhash, Metadata()) for text in (left, right))
        self._comparisons.append(compare(*sides))
        self._verdicts.append(verdict(evidence(left, right)))
        self._known.clear()

    def add(self, left: Metadata, right: Metadata) -> None:
        known = self._known.get((left, right))
        if known is None:
            known = self._known[left, right] = len(self._relations)
            self._relations.append(relation_of(self._comparisons[-1], left, right))
        self._places.append((len(self._comparisons) - 1, known))

    def batch(self, pairs: Pairs, end: int) -> pa.RecordBatch:
        """Return and remove all rows, which belong to the last pairs before `end`."""
        rows = slice(end - self.count, end)
        columns: dict[str, _Column] = {
            "left": pa.array(pairs.left[rows], pa.int64()),
            "right": pa.array(pairs.right[rows], pa.int64()),
        }
        made = (_aligned(self._comparisons, self._verdicts), _classified(self._relations))
        for column, places in zip(made, zip(*self._places, strict=True), strict=True):
            order = pa.array(places, pa.int64())
            columns |= {name: values.take(order) for name, values in column.items()}
        del self._comparisons[:-1], self._verdicts[:-1], self._relations[:], self._places[:]
        self._known.clear()
        return pa.RecordBatch.from_arrays([columns[name] for name in RELATED.names], schema=RELATED)


def _classified(relations: Sequence[Relation]) -> _Columns:
    """Return the columns that also depend on the books' metadata."""
    classes = [relation.classification for relation in relations]
    return {
        "kind": pa.array([each.kind for each in classes], pa.string()),
        "direction": pa.array([each.direction for each in classes], pa.string()),
        "confidence": pa.array([each.confidence for each in classes], pa.float64()),
        "classifier": pa.array([relation.classifier for relation in relations], pa.string()),
        "left_because": pa.array([each.because for each in classes], pa.string()),
        "right_because": pa.array([relation.mirrored.because for relation in relations], pa.string()),
        "confidences": pa.array([json.dumps(dict(each.confidences)) for each in classes], pa.string()),
        "link": pa.array([relation.link for relation in relations], pa.float64()),
    }


def _aligned(comparisons: Sequence[TextComparison], verdicts: Sequence[MatchVerdict]) -> _Columns:
    """Return the columns that depend only on the texts."""
    found = [each.alignment for each in comparisons]
    signals = [None if each.signals is None else json.dumps(asdict(each.signals)) for each in comparisons]
    units = [None if each is None else each.unit for each in found]
    runs = [_NO_RUNS if each is None else run_bounds(each) for each in found]
    pages = [None if each is None else page_map(each) for each in found]
    return {
        "signals": pa.array(signals, pa.string()),
        "unit": pa.array(units, pa.string()),
        "verdict": pa.array(verdicts, pa.string()),
        "runs": _lists(runs, "runs"),
        "pages": _lists(pages, "pages"),
    }


def _lists(rows: Sequence[NDArray[np.int32] | None], name: str) -> _Column:
    """Return a column of lists of structures, from arrays with one column per field."""
    of = RELATED.field(name).type
    assert isinstance(of, pa.ListType)
    fields = list(of.value_type)
    cells = np.concatenate(
        [np.zeros((0, len(fields)), dtype=np.int32), *(row for row in rows if row is not None)]
    )
    values = [pa.array(np.ascontiguousarray(column), pa.int32()) for column in cells.T]
    ends = np.cumsum([0, *(0 if row is None else len(row) for row in rows)])
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()),
        pa.StructArray.from_arrays(values, fields=fields),
        type=of,
        mask=pa.array([row is None for row in rows], pa.bool_()),
    )


def _pairs(table: pa.Table) -> Pairs:
    return Pairs(*(table.column(name).to_numpy() for name in ("left", "right", "left_text", "right_text")))


_PLACED, _RELATED = "work/placed", "work/related"

_HEAVY_ROWS_PER_GROUP = 32
"""Rows per row group of signatures. Each bucket's rows are in memory until their group is written."""

_MAPS_PER_GROUP = 4_096
"""Rows per row group of page maps, at about 4 KB per row."""


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
    """Return all pairs of candidates, and the oldest book with the text of each of their books."""
    candidates = storage.read(corpus.out, "candidates", ["left", "right"])
    left, right = (candidates.column(name).to_numpy() for name in ("left", "right"))
    # Books without texts but with equal signatures also have equal content keys.
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
    """Return the oldest book with the text of each book. `copies` (n,) ascend; `oldest` (n,) is parallel."""
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
    """Copy the books of each bucket, with signatures only for the oldest book of each text."""
    placed = placement(buckets)
    table = pa.table({"bucket": placed.buckets, "book": placed.books, "text": placed.texts})
    storage.delete(corpus.out, _PLACED)
    storage.write(corpus.out, _PLACED, table)
    columns = ["bucket", "book", *DESCRIBED, *(f"if(book = text, {name}, NULL) AS {name}" for name in SIGNED)]
    sketches = corpus.table("sketches").select("book", *DESCRIBED, *SIGNED)
    # Sail reads the first table of a join into memory and streams the other table.
    frame = corpus.table(_PLACED).hint("broadcast").join(sketches, "book").selectExpr(*columns)
    fields = [schema("sketches").field(name) for name in ("book", *DESCRIBED, *SIGNED)]
    written = pa.schema([pa.field("bucket", pa.int64()), *fields])
    corpus.write(BOOKS, frame, written, by=["bucket"], rows_per_group=_HEAVY_ROWS_PER_GROUP)
