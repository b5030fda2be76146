"""What the rule of Institutional Books finds of duplicates, and what `bookprint dedupe` finds.

Both see the same tables, which have the columns of Institutional Books.
"""

import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.synthesis.noise import corrupt_pages
from bench.comparison.institutional_books import Volume, groups, volume
from bench.corpus.dedupe_runs import bookprint_dedupe
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.harness.processes import processes
from bench.harness.report import Cell, Section, Table

SCANS = "cis-"
"""Of the ids of books of which several engines have read the same scans, or a person the printed pages."""

MADE_BOOKS, LONGEST, RATES, SEED = 40, 200_000, (0.0, 0.002, 0.005, 0.01, 0.02, 0.05), 21
"""Books of which copies are made, their characters at most, and the character error rates of the copies."""

RULE = "Institutional Books' rule"
OURS = {"bookprint dedupe": (), "bookprint dedupe --same contained": ("--same", "contained")}

Ids = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BookSet:
    """Books, and which pairs of them are copies of what kind."""

    name: str
    books: Sequence[CorpusBook]
    copies: Mapping[str, Sequence[Ids]]  # by kind


@dataclass(frozen=True, slots=True)
class Grouping:
    """What a method made of the books of a shelf."""

    method: str
    groups: Mapping[str, Hashable]  # by id
    processor_seconds: float

    def joins(self, pair: Ids) -> bool:
        """Whether both books are in one group."""
        return self.groups[pair[0]] == self.groups[pair[1]]


def run(out_dir: Path) -> Section:
    """Three shelves; about four minutes on two cores."""
    books = list(corpus_books(corpus_folder()))
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for number, shelf in enumerate((editions(books), readings(books), made_copies(books))):
            tables.append(_table(shelf, _groupings(shelf, Path(folder) / str(number))))
    return Section(
        title="The rule of Institutional Books beside `bookprint dedupe`",
        command="python -m bench curators_rules",
        tables=tables,
        notes=[
            "A pair is found if both books are in one group. False pairs are pairs in one group of books of "
            "different works. The rule: all 64 bits of a simhash of runs of seven characters alike, one "
            "language, lengths within 15 % of the group's median. Its processor time is that of the "
            "simhashes in numpy, without reading; ours is of all processes, from the tables to those without "
            "the copies. Another threshold in the same folder computes nothing anew.",
            "Each method sees a table with the columns of Institutional Books; books without known page "
            f"breaks have a text there. Made copies: {MADE_BOOKS} books of as many works, up to {LONGEST:,} "
            f"characters of each, seed {SEED}.",
        ],
    )


def editions(books: Sequence[CorpusBook]) -> BookSet:
    """The books of the corpus, with the pairs that are labelled; without several readings of one scan."""
    shelf = [book for book in books if not book.id.startswith(SCANS)]
    ids = {book.id for book in shelf}
    pairs = [pair for pair in corpus_pairs(corpus_folder()) if {pair.a, pair.b} <= ids]
    kinds = {"editions": "same_work", "parts": "contains"}
    copies = {
        kind: [(pair.a, pair.b) for pair in pairs if pair.relation == relation]
        for kind, relation in kinds.items()
    }
    return BookSet("Editions and transcriptions", shelf, copies)


def readings(books: Sequence[CorpusBook]) -> BookSet:
    """The readings of the same scans by several engines."""
    shelf = [book for book in books if book.id.startswith(SCANS)]
    pairs = [(one.id, other.id) for one, other in combinations(shelf, 2) if one.work == other.work]
    return BookSet("Readings of the same scans", shelf, {"readings": pairs})


def made_copies(books: Sequence[CorpusBook]) -> BookSet:
    """Books of different works with a copy of each at every error rate."""
    works = {book.work: book for book in books if not book.id.startswith(SCANS)}
    chosen = np.random.default_rng(SEED).permutation(len(works))[:MADE_BOOKS]
    originals = [_shortened(book) for book in (list(works.values())[place] for place in sorted(chosen))]
    shelf, copies = list(originals), {}
    for rate in RATES:
        read = [_read(book, rate, number) for number, book in enumerate(originals)]
        shelf += read
        pairs = zip(originals, read, strict=True)
        copies[f"{rate:.1%} errors"] = [(original.id, copy.id) for original, copy in pairs]
    return BookSet("Made copies", shelf, copies)


def write_table(books: Sequence[CorpusBook], path: Path) -> None:
    """The books as a table with the columns of Institutional Books."""
    columns: dict[str, tuple[Callable[[CorpusBook], object], pa.DataType]] = {
        "barcode_src": (lambda book: book.id, pa.string()),
        "title_src": (lambda book: book.title, pa.string()),
        "author_src": (lambda book: book.author, pa.string()),
        "language_gen": (lambda book: book.language, pa.string()),
        "likely_duplicates_barcodes_gen": (lambda book: None, pa.list_(pa.string())),
        "text_by_page_src": (lambda book: book.pages, pa.list_(pa.large_string())),
        "text": (lambda book: None if book.pages else book.text, pa.large_string()),
    }
    arrays = [pa.array([cell(book) for book in books], kind) for cell, kind in columns.values()]
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(arrays, names=list(columns)), path, row_group_size=16, compression="zstd")


def _groupings(shelf: BookSet, folder: Path) -> list[Grouping]:
    """What the rule makes of a shelf, and what we do."""
    with processes() as pool:
        signed = list(pool.map(_timed_volume, shelf.books))
    names = groups([each for each, _ in signed])
    ids = [book.id for book in shelf.books]
    found = [Grouping(RULE, dict(zip(ids, names, strict=True)), sum(seconds for _, seconds in signed))]
    write_table(shelf.books, folder / "books" / "books.parquet")
    for name, options in OURS.items():
        dedupe = bookprint_dedupe(folder / "books", folder / "out", options)
        clusters = {id_: verdict.cluster for id_, verdict in dedupe.verdicts.items()}
        found.append(Grouping(name, clusters, dedupe.cost.processor_seconds))
    return found


def _timed_volume(book: CorpusBook) -> tuple[Volume, float]:
    begun = time.process_time()
    return volume(book), time.process_time() - begun


def _table(shelf: BookSet, groupings: Sequence[Grouping]) -> Table:
    works = {book.id: book.work for book in shelf.books}
    rows: list[list[Cell]] = []
    for grouping in groupings:
        found = [sum(map(grouping.joins, pairs)) for pairs in shelf.copies.values()]
        joined = filter(grouping.joins, combinations(works, 2))
        false = sum(works[one] != works[other] for one, other in joined)
        kept = len(set(grouping.groups.values()))
        rows.append([grouping.method, *found, false, len(works) - kept, grouping.processor_seconds])
    megabytes = sum(len(book.text.encode()) for book in shelf.books) / 1e6
    return Table(
        [
            "method",
            *(f"{kind}, of {len(pairs)}" for kind, pairs in shelf.copies.items()),
            *("false pairs", "books left out", "processor s"),
        ],
        rows,
        f"{shelf.name}: {len(works)} books, {megabytes:,.0f} MB",
    )


def _shortened(book: CorpusBook) -> CorpusBook:
    pages: list[str] = []
    for page in book.pages or ():
        if sum(map(len, pages)) + len(page) > LONGEST:
            break
        pages.append(page)
    text = "\n".join(pages) if pages else book.text[:LONGEST]
    return replace(book, pages=pages or None, text=text)


def _read(book: CorpusBook, rate: float, number: int) -> CorpusBook:
    """A copy of a book as read with this character error rate."""
    rng = np.random.default_rng([SEED, round(1_000 * rate), number])
    pages = corrupt_pages(list(book.pages or [book.text]), rate, rng)
    return replace(
        book,
        id=f"{book.id}, read with {rate:.1%} errors",
        pages=pages if book.pages else None,
        text="\n".join(pages),
    )
