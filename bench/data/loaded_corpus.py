"""Simulated books in the tables of a corpus, and as a table of signatures for a post of each.

Books of one work are pairs that were compared, all with one outcome: what it costs to store a relation does
not depend on what it says.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.core.model import Metadata, PageSignatures, Sketch
from app.core.recipe import DEFAULT_PAGES
from app.core.signatures.page_minhash import to_records
from app.core.signatures.sketch import signature_key
from app.corpus.signature_table import written
from app.corpus.tables import PROGRESS, VERSION, schema
from bench.data.simulated_books import simulate

PAGES = 330
"""Pages of a book that has page signatures, and pairs of pages in each page map."""

_BOOKS_OF_A_FILE = 2_000
_ROWS_OF_A_GROUP = 512
_MOST_PAIRS = 8  # of a book with older ones of its work
_BECAUSE = "97% of the text of this book and 96% of the other's is found in both."
_SIGNALS = {f"signal_{number}": number / 7 for number in range(40)}  # as long as those of a real pair
_RELATION = {
    "kind": "SAME_TEXT",
    "confidence": 0.97,
    "classifier": "shares-v1",
    "left_because": _BECAUSE,
    "right_because": _BECAUSE,
    "confidences": json.dumps({"SAME_TEXT": 0.97, "UNRELATED": 0.03}),
    "signals": json.dumps(_SIGNALS),
    "unit": "page",
}


@dataclass(frozen=True, slots=True)
class LoadedCorpus:
    """The folders of the tables, and what is in them."""

    corpus: Path
    signatures: Path  # a table for `bookprint ingest`
    books: int
    pairs: int


@dataclass(slots=True)
class _Rows:
    sketches: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)


def write_loaded_corpus(folder: Path, books: int, *, pages: bool) -> LoadedCorpus:
    """Write so many simulated books, with random page signatures where `pages` says so."""
    corpus, signatures = folder / "corpus", folder / "signatures.parquet"
    for table in ("books", "sketches", "relations", "page_maps", "clusters"):
        (corpus / table).mkdir(parents=True)
    pairs = file = 0
    rows = _Rows()
    with written(signatures) as writer:
        for number, metadata, sketch, older in _books(books, pages):
            writer.add(f"book {number}", metadata, sketch, pages=pages)
            rows.sketches.append(_sketched(number, metadata, sketch))
            rows.pairs += [(other, number) for other in older]
            if len(rows.sketches) == _BOOKS_OF_A_FILE:
                pairs, file, rows = pairs + len(rows.pairs), file + 1, _write(corpus, file, rows)
    pairs += len(rows.pairs)
    _write(corpus, file + 1, rows)
    (corpus / PROGRESS).write_text(json.dumps({"version": VERSION, "complete": True}))
    return LoadedCorpus(corpus, signatures, books, pairs)


def _books(count: int, pages: bool) -> Iterator[tuple[int, Metadata, Sketch, list[int]]]:
    """Number, metadata and signatures of each book, and older books of its work."""
    rng = np.random.default_rng(count)
    of_work: dict[int, list[int]] = defaultdict(list)
    number = 0
    for batch in simulate(count):
        for row in range(len(batch)):
            number += 1
            sketch = batch.sketch(row)
            if pages:
                values = rng.integers(0, 256, (PAGES, 128), dtype=np.uint8)
                lengths = np.full(PAGES, 1800, dtype=np.uint16)
                signed = PageSignatures(DEFAULT_PAGES, "page", values, lengths)
                sketch = replace(sketch, pages=signed, page_count=PAGES)
            metadata = Metadata(title=f"Book {number}", external_id=f"simulated-{number}")
            work = of_work[int(batch.works[row])]
            yield number, metadata, sketch, work[-_MOST_PAIRS:]
            work.append(number)


def _sketched(number: int, metadata: Metadata, sketch: Sketch) -> dict[str, Any]:
    assert sketch.fingerprint is not None
    assert sketch.minhash is not None
    assert sketch.sample is not None
    return {
        "book": number,
        "place": f"book {number}",
        "external_id": metadata.external_id,
        "title": metadata.title,
        "word_count": sketch.word_count,
        "character_count": sketch.character_count,
        "page_count": sketch.page_count,
        "content_key": signature_key(sketch),
        "passed_over": 0,
        "fingerprint_recipe": sketch.fingerprint.recipe,
        "fingerprint": sketch.fingerprint.bits,
        "minhash_recipe": sketch.minhash.recipe,
        "minhash": sketch.minhash.values.astype("<u4").tobytes(),
        "shingle_count": sketch.minhash.shingle_count,
        "sample_recipe": sketch.sample.recipe,
        "sample_level": sketch.sample.level,
        "sample": sketch.sample.hashes.astype("<u8").tobytes(),
        "pages_recipe": None if sketch.pages is None else sketch.pages.recipe,
        "pages_unit": None if sketch.pages is None else sketch.pages.unit,
        "pages": None if sketch.pages is None else to_records(sketch.pages),
    }


def _write(corpus: Path, file: int, rows: _Rows) -> _Rows:
    """Write the rows into a file of each table; returns none, for the next files."""
    pages = [{"left": page, "right": page, "similarity": 200} for page in range(PAGES)]
    run = {"left_first": 0, "left_end": PAGES, "right_first": 0, "right_end": PAGES}
    pairs = [{"left": left, "right": right} for left, right in rows.pairs]
    tables = {
        "books": rows.sketches,
        "sketches": rows.sketches,
        "relations": [pair | _RELATION for pair in pairs],
        "page_maps": [pair | {"runs": [run], "pages": pages} for pair in pairs],
        "clusters": [],
    }
    for name, cells in tables.items():
        table = pa.Table.from_pylist(cells, schema=schema(name))
        pq.write_table(table, corpus / name / f"part-{file:05}.parquet", row_group_size=_ROWS_OF_A_GROUP)
    return _Rows()
