"""The best of two copies: made pairs that differ in their errors, and real readings of the same scans."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np

from app.core.clusters.best_copy import BestCopy, best_copy, complete_copies
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_pages
from app.synthesis.noise import corrupt_pages
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table
from bench.quality.master_copy import PREFIX, Pages, copy_of, engine_rates, scanned

SEED = 31
RATES = ((0.0, 0.01), (0.01, 0.02), (0.02, 0.04), (0.05, 0.08))
_PAGE = 1800
"""Characters of a page, where a book has none."""

NOTHING_TELLS = "Nothing tells"


def run(out_dir: Path) -> Section:
    """One book of each work, and every two readings of scans that have a transcription; some minutes."""
    books = list(corpus_books(corpus_folder()))
    works = {book.work: book for book in reversed(books)}
    scans = [book for book in books if book.id.startswith(PREFIX)]
    return Section(
        title="The best of two copies",
        command="python -m bench best_copy",
        tables=[
            Table(
                ["copies", "CER", "pairs", "cleaner named", "other named", "nothing tells"],
                list(made_rows(list(works.values()))),
                "Made pairs: two copies of a book with made errors",
            ),
            Table(
                ["book", "cleaner", "CER", "other", "CER of the other", "best copy", "reason"],
                list(real_rows(scans)),
                "Real pairs: two engines that have read the same scans, beside the transcription",
            ),
        ],
        notes=[
            f"Errors are made as in `app/synthesis/noise`, seed {SEED}; page furniture is a running head and "
            "a number on each page. The other copy comes first by rank. The constants of the rule were "
            "chosen while these books were at hand."
        ],
    )


def made_rows(books: Sequence[CorpusBook], seed: int = SEED) -> Iterator[list[Cell]]:
    """For each kind of pair how often the cleaner copy is named, and how often the other one."""
    for title, cleaner, other in (
        ("plain", list, list),
        ("the cleaner with page furniture", furnished, list),
        ("the other with page furniture", list, furnished),
    ):
        named = {rates: Counter[str]() for rates in RATES}
        for number, book in enumerate(books):
            pages = pages_of(book)
            for rates in RATES:
                rngs = (np.random.default_rng([seed, number, int(1000 * rate)]) for rate in rates)
                copies = (
                    corrupt_pages(made(pages), rate, rng)
                    for made, rate, rng in zip((cleaner, other), rates, rngs, strict=True)
                )
                named[rates][_named(*copies)] += 1
        for (low, high), counts in named.items():
            shares = (counts[name] / len(books) for name in ("cleaner", "other", NOTHING_TELLS))
            yield [title, f"{low:.0%} and {high:.0%}", len(books), *shares]


def _named(cleaner: Pages, other: Pages) -> str:
    best = best_of_two({"z": cleaner, "a": other})
    if best.because.startswith(NOTHING_TELLS):
        return NOTHING_TELLS
    return "cleaner" if best.book_id.int == 0 else "other"


def best_of_two(copies: Mapping[str, Pages]) -> BestCopy:
    """The best of two copies by their names; its id is its place."""
    sketches = [sketch(content_from_pages(pages)) for pages in copies.values()]
    named = enumerate(zip(copies, sketches, strict=True))
    known = [copy_of(place, made, name) for place, (name, made) in named]
    return best_copy(complete_copies(known), {})


def pages_of(book: CorpusBook) -> Pages:
    """The pages of a book; pieces of equal length where they are not known."""
    places = range(0, len(book.text) + _PAGE, _PAGE)
    return book.pages or [book.text[start:end] for start, end in pairwise(places)]


def furnished(pages: Pages) -> Pages:
    """The pages with a running head and a number on each."""
    return [f"{place + 1} CHAPTER {place // 17 + 1}.\n{page}" for place, page in enumerate(pages)]


def real_rows(books: Sequence[CorpusBook]) -> Iterator[list[Cell]]:
    """Every two readings of scans that have a transcription, the cleaner first."""
    for scans in scanned(books):
        rates = engine_rates(scans)
        for pair in combinations(sorted(rates, key=rates.__getitem__), 2):
            best = best_of_two({name: scans.engines[name] for name in pair})
            cleaner, other = pair
            named = pair[best.book_id.int]
            yield [scans.title, cleaner, rates[cleaner], other, rates[other], named, best.because]
