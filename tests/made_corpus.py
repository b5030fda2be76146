"""A corpus computed by the core functions one after the other, in the tables of `bookprint corpus run`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from app.synthesis.library import synthetic_library
from bookprint_core.matching.verification import evidence_of_each, is_compared
from bookprint_core.model import Metadata, Sketch, Submission
from bookprint_core.relations.relation import ComparedBook, Relation, relate
from bookprint_core.signatures.sketch import sketch
from bookprint_core.signatures.table_codec import cells_of
from bookprint_core.text.content import content_from_pages, content_key
from bookprint_corpus.tables import PROGRESS, SIMILARITY_STEPS, TABLES, VERSION, schema

SPLIT = 1 << 32


@dataclass(frozen=True, slots=True)
class MadeCorpus:
    """Books, in the order of their numbers, and the folder of their tables."""

    folder: Path
    books: Mapping[int, Submission]


@dataclass(slots=True)
class _Rows:
    by_table: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {table: [] for table in TABLES})


def made_books(works: int, seed: int = 3) -> list[Submission]:
    """Books of so many works, one to three of each, with titles and external ids."""
    library = synthetic_library(seed, works, copies=(1, 2), characters=(12_000, 12_000))
    return [
        Submission(
            Metadata(title=book.title, authors=(book.author,), year=book.year, external_id=book.id),
            content_from_pages(book.pages),
        )
        for book in library
    ]


def write_corpus(folder: Path, books: Sequence[Submission], *, per_file: int = 5) -> MadeCorpus:
    """Write the tables of these books; splits have so many books each."""
    numbered = {(n // per_file) * SPLIT + n % per_file + 1: book for n, book in enumerate(books)}
    sketches: dict[int, Sketch] = {}
    rows = _Rows().by_table
    for number, book in numbered.items():
        assert book.content is not None
        sketches[number] = sketch(book.content)
        rows["sketches"].append(_sketched(number, book, sketches[number]))
    rows["books"] = [row | {"passed_over": 0, "identifier": None} for row in rows["sketches"]]
    compared = {
        number: ComparedBook(made.pages, made.minhash, numbered[number].metadata)
        for number, made in sketches.items()
    }
    for left, right in _candidates(sketches):
        relation = relate(compared[left], compared[right])
        rows["relations"].append({"left": left, "right": right} | related_cells(relation))
        if relation.alignment is not None:
            rows["page_maps"].append({"left": left, "right": right} | mapped_cells(relation))
    for table, cells in rows.items():
        (folder / table).mkdir(parents=True)
        # An engine deals rows to files in turns.
        for part in range(3):
            rows_of_part = _table(table, cells[part::3])
            pq.write_table(rows_of_part, folder / table / f"part-{part}.parquet", row_group_size=3)
    write_progress(folder)
    return MadeCorpus(folder, numbered)


def write_progress(folder: Path, **changed: object) -> None:
    """Say that the corpus is complete."""
    (folder / PROGRESS).write_text(json.dumps({"version": VERSION, "complete": True, "stages": {}} | changed))


def _table(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    wanted = schema(name)
    return pa.Table.from_pylist([{key: row.get(key) for key in wanted.names} for row in rows], schema=wanted)


def _sketched(number: int, book: Submission, made: Sketch) -> dict[str, Any]:
    assert book.content is not None
    named = {"book": number, "place": f"book {number}", "content_key": content_key(book.content)}
    return named | cells_of(book.metadata, made, book.page_labels)


def _candidates(sketches: Mapping[int, Sketch]) -> list[tuple[int, int]]:
    """The pairs that a search of either book would find."""
    entries = {number: made.to_entry(number) for number, made in sketches.items()}
    pairs = []
    for left, entry in entries.items():
        younger = [other for other in entries.values() if other.entry_id > left]
        for other, found in zip(younger, evidence_of_each(entry, younger), strict=True):
            if is_compared(found):
                pairs.append((left, other.entry_id))
    return pairs


def related_cells(relation: Relation) -> dict[str, Any]:
    """The cells of a relation, without its books and its map of pages."""
    classification, signals, alignment = relation.classification, relation.signals, relation.alignment
    return {
        "kind": classification.kind,
        "direction": classification.direction,
        "confidence": classification.confidence,
        "classifier": relation.classifier,
        "left_because": classification.because,
        "right_because": relation.mirrored.because,
        "confidences": json.dumps(dict(classification.confidences)),
        "link": relation.link,
        "signals": None if signals is None else json.dumps(asdict(signals)),
        "unit": None if alignment is None else alignment.unit,
    }


def mapped_cells(relation: Relation) -> dict[str, Any]:
    """The cells of the map of pages; the relation must have one."""
    assert relation.alignment is not None
    runs = relation.alignment.runs
    names = ("left_first", "left_end", "right_first", "right_end")
    return {
        "runs": [dict(zip(names, (*run.left, *run.right), strict=True)) for run in runs],
        "pages": [
            {
                "left": int(left),
                "right": int(right),
                "similarity": round(float(similarity) * SIMILARITY_STEPS),
            }
            for run in runs
            for (left, right), similarity in zip(run.pairs.tolist(), run.similarities.tolist(), strict=True)
        ],
    }
