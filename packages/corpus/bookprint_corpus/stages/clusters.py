"""The stage of clusters: books joined by relations, and the best copy of each cluster.

A corpus contains no decisions, so clusters are connected components. Only the ends of the edges are in memory
at once. The engine joins the data that the best copy depends on.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bookprint_core.clusters.best_copy import KNOWN, Copy, best_copy, complete_copies
from bookprint_core.clusters.clustering import KINDS, By
from bookprint_corpus import storage
from bookprint_corpus.components import Components, connected_components
from bookprint_corpus.corpus import Corpus
from bookprint_corpus.tables import arrow_type, schema

_MEMBERS, _WEIGHED = "work/members", "work/weighed_members"

_MEMBERS_PER_BUCKET = 100_000
"""Members per bucket: a few seconds of work. A larger cluster has its own bucket."""

_COLUMNS = {
    "bucket": "int64",
    "by": "string",
    "founder": "int64",
    "book": "int64",
    "text": "int64",  # founder of the same-text cluster, or the book itself without a cluster
    "word_count": "int64",
    "character_count": "int64",
    "single_words": "int64",
    "external_id": "string",
    "content_key": "binary",
    "agreement": "double",
}
_WEIGHED_SCHEMA = pa.schema([pa.field(name, arrow_type(kind)) for name, kind in _COLUMNS.items()])


def run(corpus: Corpus) -> None:
    """Write `clusters`."""
    members = _members(storage.read(corpus.out, "relations", ["left", "right", "kind", "link"]))
    storage.delete(corpus.out, _MEMBERS)
    storage.write(corpus.out, _MEMBERS, members)
    _write_weighed(corpus)
    tasks = pa.table({"bucket": pc.unique(members.column("bucket"))})
    frame = corpus.spread("clusters", tasks, clusters_of, schema("clusters"))
    corpus.write("clusters", frame, schema("clusters"))
    for name in (_MEMBERS, _WEIGHED):
        storage.delete(corpus.out, name)


def _members(relations: pa.Table) -> pa.Table:
    """Return all members of clusters, in buckets of whole clusters."""
    components = {by: _components(relations, by) for by in KINDS}
    tables = []
    for by, joined in components.items():
        order = np.lexsort((joined.books, joined.founders))
        books, founders = joined.books[order], joined.founders[order]
        texts = components["same_text"].founders_of(books)
        name = pa.repeat(by, books.size)
        tables.append(pa.table({"by": name, "founder": founders, "book": books, "text": texts}))
    members = pa.concat_tables(tables)
    # The founder is the first of its cluster.
    is_first = pc.equal(members.column("founder"), members.column("book")).to_numpy(zero_copy_only=False)
    starts = np.maximum.accumulate(np.where(is_first, np.arange(is_first.size), 0))
    return members.append_column("bucket", pa.array(starts // _MEMBERS_PER_BUCKET))


def _components(relations: pa.Table, by: By) -> Components:
    joining = pc.is_in(relations.column("kind"), pa.array(sorted(KINDS[by])))
    edges = relations.filter(pc.and_(joining, pc.is_valid(relations.column("link"))))
    return connected_components(edges.column("left").to_numpy(), edges.column("right").to_numpy())


def _write_weighed(corpus: Corpus) -> None:
    """Write the members with the data that the best copy depends on."""
    members = corpus.table(_MEMBERS)
    known = corpus.table("sketches").select("book", *KNOWN)
    texts = members.where("by = 'same_text'")
    agreement = (
        corpus.table("relations")
        .selectExpr("left", "right", "double(get_json_object(signals, '$.page_similarity')) AS similarity")
        .where("similarity IS NOT NULL")
        .join(texts.selectExpr("book AS left", "founder AS left_text"), "left")
        .join(texts.selectExpr("book AS right", "founder AS right_text"), "right")
        .where("left_text = right_text")
        .selectExpr("explode(array(left, right)) AS book", "similarity")
        .groupBy("book")
        .agg({"similarity": "avg"})
        .toDF("book", "agreement")
    )
    frame = members.join(known, "book").join(agreement, "book", "left").select(*_WEIGHED_SCHEMA.names)
    corpus.write(_WEIGHED, frame, _WEIGHED_SCHEMA, by=["bucket"])


def clusters_of(out: str, task: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of `clusters` for one bucket."""
    table = storage.read(out, f"{_WEIGHED}/bucket={task['bucket']}", _WEIGHED_SCHEMA.names[1:])
    members = table.sort_by([(name, "ascending") for name in ("by", "founder", "book")])
    cells = zip(*(members.column(name).to_pylist() for name in members.schema.names), strict=True)
    rows: list[tuple[int, bool, str | None]] = []
    for (by, _), group in groupby(cells, key=lambda row: row[:2]):
        _, _, books, texts, *known, agreements = zip(*group, strict=True)
        ids = [UUID(int=book) for book in books]
        copies = [Copy(*cells) for cells in zip(ids, *known, strict=True)]
        agreement = {book: value for book, value in zip(ids, agreements, strict=True) if value is not None}
        text_of = None if by == "same_text" else dict(zip(ids, texts, strict=True))
        best = best_copy(complete_copies(copies, text_of), agreement)
        rows += (
            (len(copies), is_best, best.because if is_best else None)
            for is_best in (copy.book_id == best.book_id for copy in copies)
        )
    sizes, bests, reasons = zip(*rows, strict=True)
    yield pa.RecordBatch.from_arrays(
        [
            *(members.column(name).combine_chunks() for name in ("by", "founder", "book")),
            pa.array(sizes, pa.int64()),
            pa.array(bests, pa.bool_()),
            pa.array(reasons, pa.string()),
        ],
        schema=schema("clusters"),
    )
