"""Recall and cost of finders of candidates.

The finders are posting lists of single MinHash values, LSH bands, and posting lists of samples (FracMinHash).
Samples are of five-word shingles, or of folded letters as in the product. Recall is measured on the corpus's
labelled pairs and on made overlaps, with a passage of one corpus book in another. Cost is the number of
records read per query in a simulated library.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.synthesis.noise import corrupt
from bench.data.real_pairs import HARD_NEGATIVES, labels
from bench.data.simulated_books import VALUES, simulate
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bookprint_core.index.tables import POSTINGS
from bookprint_core.model import Content
from bookprint_core.recipe import (
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    DEFAULT_SAMPLE,
    FracMinHashRecipe,
    minhash_recipe,
    page_recipe,
    sample_recipe,
)
from bookprint_core.signatures.fracminhash import fracminhash, gram_sample
from bookprint_core.signatures.minhash import minhash
from bookprint_core.signatures.shingles import shingles
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from research.identifiers.paper_sets import SEED, canonical_books

SHARES = (0.02, 0.05, 0.10)
"""Shares of the passage in the larger book."""

RATES = (0.0, 0.02, 0.05)
"""Character error rates of both texts."""

PLACES = 40
LONG_ENOUGH = 150_000  # minimum characters of a book that provides or receives a passage
SIMULATED, QUERIES = 20_000, 200
_LETTERS = sample_recipe(DEFAULT_SAMPLE)
_WORDS = FracMinHashRecipe("words128", 128, per_octave=1, lowest=0, top_level=64)
_OF_LETTERS = f"letter samples of {_LETTERS.most}"
_SAMPLES = {
    **{f"word samples of {most}": replace(_WORDS, name=f"words{most}", most=most) for most in (64, 128, 256)},
    _OF_LETTERS: _LETTERS,
}

_TRUE = ("same_work", "contains", "overlaps")
_OTHERS = ("unrelated", "same author", "other language")


@dataclass(frozen=True, slots=True, eq=False)
class SignedBook:
    """Signatures of one book for finders."""

    values: NDArray[np.uint32]  # (128,) MinHash values, or (0,)
    samples: Mapping[str, NDArray[np.uint64]]  # each of `_SAMPLES`, ascending


class Shelf:
    """Books among which a finder proposes candidates."""

    def __init__(self, books: Sequence[SignedBook]) -> None:
        self.size = len(books)
        self.signed = np.array([book.values.size > 0 for book in books], dtype=np.bool_)
        self.values = np.array([book.values for book in books if book.values.size]).reshape(-1, VALUES)
        self.samples = {name: _Postings.of([book.samples[name] for book in books]) for name in _SAMPLES}

    def equal(self, query: SignedBook) -> NDArray[np.bool_]:
        """Return which values of each book equal the query's, (n, 128)."""
        equal = np.zeros((self.size, VALUES), dtype=np.bool_)
        if query.values.size:
            equal[self.signed] = self.values == query.values
        return equal


@dataclass(frozen=True, slots=True, eq=False)
class _Postings:
    """Samples of many books, by hash."""

    hashes: NDArray[np.uint64]  # ascending
    owners: NDArray[np.intp]

    @classmethod
    def of(cls, samples: Sequence[NDArray[np.uint64]]) -> "_Postings":
        hashes = np.concatenate([np.zeros(0, dtype=np.uint64), *samples])
        owners = np.repeat(np.arange(len(samples)), [sample.size for sample in samples])
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], owners[order])

    def shared(self, own: NDArray[np.uint64], books: int) -> NDArray[np.intp]:
        """Count these hashes in each of the books."""
        starts, ends = (np.searchsorted(self.hashes, own, side=side) for side in ("left", "right"))
        met = [self.owners[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.bincount(np.concatenate([np.zeros(0, dtype=np.intp), *met]), minlength=books)


@dataclass(frozen=True, slots=True)
class Finder:
    """A method to propose candidates."""

    name: str
    in_simulation: bool  # whether simulated books have its signatures
    records: Callable[[SignedBook], int]  # number of records of a book in the index
    proposes: Callable[[SignedBook, Shelf], NDArray[np.bool_]]  # which books of the shelf, (n,)


def sign(content: Content) -> SignedBook:
    """Return MinHash values and samples of one book."""
    text, recipe = normalise(content), minhash_recipe(DEFAULT_MINHASH)
    hashes = shingles(text, recipe, page_recipe(DEFAULT_PAGES)).hashes
    signature = minhash(hashes, recipe)
    values = np.zeros(0, dtype=np.uint32) if signature is None else signature.values
    samples = {
        name: gram_sample(text, of) if name == _OF_LETTERS else fracminhash(hashes, of)
        for name, of in _SAMPLES.items()
    }
    none = np.zeros(0, dtype=np.uint64)
    return SignedBook(values, {name: each.hashes if each else none for name, each in samples.items()})


def _by_values(least: int) -> Finder:
    def proposes(query: SignedBook, shelf: Shelf) -> NDArray[np.bool_]:
        return np.asarray(shelf.equal(query).sum(axis=1) >= least)

    return Finder(f"values, ≥ {least} equal", True, lambda book: book.values.size, proposes)


def _by_bands(rows: int) -> Finder:
    bands = VALUES // rows

    def proposes(query: SignedBook, shelf: Shelf) -> NDArray[np.bool_]:
        equal = shelf.equal(query)[:, : bands * rows].reshape(-1, bands, rows)
        return np.asarray(np.any(np.all(equal, axis=2), axis=1))

    return Finder(
        f"{bands} bands of {rows} values", True, lambda book: bands * (book.values.size > 0), proposes
    )


def _by_sample(of: str, least: int) -> Finder:
    def proposes(query: SignedBook, shelf: Shelf) -> NDArray[np.bool_]:
        return np.asarray(shelf.samples[of].shared(query.samples[of], shelf.size) >= least)

    return Finder(f"{of}, ≥ {least} shared", of == _OF_LETTERS, lambda book: book.samples[of].size, proposes)


FINDERS = (
    *(_by_values(least) for least in (1, 2, 3)),
    *(_by_bands(rows) for rows in (2, 3, 4)),
    *(_by_sample(of, least) for of in _SAMPLES for least in (2, 3, 4)),
)


def run(out_dir: Path) -> Section:
    """Measure all finders; takes some minutes."""
    books, pairs = list(corpus_books(corpus_folder())), corpus_pairs(corpus_folder())
    signed = [sign(book.content) for book in books]
    long = canonical_books(at_least=LONG_ENOUGH)
    return Section(
        title="Finders of candidates: MinHash values, LSH bands, samples of words and of letters",
        command="python -m research candidate_finders",
        tables=[
            real_pairs(signed, labels(books, pairs), *simulated(SIMULATED, QUERIES)),
            *overlaps(long, PLACES, SHARES, RATES),
        ],
        notes=[
            "A candidate is only proposed; the rule of near-duplicates and the relation workers judge it. "
            "Bytes are those of packed records, 6 for each value, band or hash. Strangers per query are "
            f"books of other works among {SIMULATED:,} simulated ones, of which one in ten carries the same "
            f"notice of 300 shingles, scaled to a million; {QUERIES} queries. Simulated books "
            "have no samples of words.",
            f"Overlaps: {PLACES} pairs of books of different works in one language, of at least "
            f"{LONG_ENOUGH:,} characters (seed {SEED}). A passage of the shorter book stands in the middle "
            "of the longer one and takes this share of it; then errors fall on each text by itself. The book "
            "with the passage is looked for by the passage alone, and by the book that it comes from.",
        ],
    )


def real_pairs(
    signed: Sequence[SignedBook],
    kinds: NDArray[np.str_],
    asked: Sequence[SignedBook],
    others: Sequence[SignedBook],
) -> Table:
    """Count the labelled pairs that each finder proposes; `kinds` is in the order of `combinations`."""
    shelf, unrelated = Shelf(signed), Shelf(others)
    of_columns = [np.isin(kinds, names) for names in _columns()]
    rows: list[list[Cell]] = [["all pairs", *(int(of.sum()) for of in of_columns), None, None]]
    for finder in FINDERS:
        proposed = np.concatenate(
            [finder.proposes(book, shelf)[number + 1 :] for number, book in enumerate(signed)]
        )
        weight = POSTINGS.width * float(np.mean([finder.records(book) for book in signed]))
        met = None
        if finder.in_simulation:
            met = 1e6 * float(np.mean([finder.proposes(book, unrelated).mean() for book in asked]))
        rows.append([finder.name, *(int((proposed & of).sum()) for of in of_columns), weight, met])
    names = [*_TRUE, *HARD_NEGATIVES, "other works", "bytes per book", "strangers per query at 1,000,000"]
    return Table(["finder", *names], rows, "Pairs of the corpus that are proposed")


def _columns() -> list[list[str]]:
    return [*([name] for name in (*_TRUE, *HARD_NEGATIVES)), list(_OTHERS)]


def overlaps(
    books: Sequence[CorpusBook], places: int, shares: Sequence[float], rates: Sequence[float]
) -> list[Table]:
    """Return the recall of small overlaps, queried by the passage and by the book of the passage."""
    rng = np.random.default_rng(SEED)
    drawn = _draw(books, places, rng)
    recalls: dict[tuple[str, float, float, bool], float] = {}
    for rate in rates:
        for share in shares:
            made = [_overlap(longer, shorter, share, rate, rng) for longer, shorter in drawn]
            for finder in FINDERS:
                for whole in (False, True):
                    hits = [bool(finder.proposes(asking[whole], shelf)[0]) for shelf, *asking in made]
                    recalls[finder.name, rate, share, whole] = float(np.mean(hits))
    headers = ["finder", *(f"{share:.0%}, CER {rate:.0%}" for rate in rates for share in shares)]
    return [
        Table(
            headers,
            [
                [
                    finder.name,
                    *(recalls[finder.name, rate, share, whole] for rate in rates for share in shares),
                ]
                for finder in FINDERS
            ],
            f"Recall of overlaps of {len(drawn)} pairs, asked by {asks}",
        )
        for whole, asks in ((False, "the passage alone"), (True, "the book that it comes from"))
    ]


def _draw(
    books: Sequence[CorpusBook], places: int, rng: np.random.Generator
) -> list[tuple[CorpusBook, CorpusBook]]:
    """Draw pairs of one language and different works, the longer book first."""
    pairs = [
        (books[a], books[b])
        for a, b in (rng.integers(0, len(books), 2).tolist() for _ in range(100 * places))
        if books[a].language == books[b].language and books[a].work != books[b].work
    ]
    return [
        (this, other) if len(this.text) >= len(other.text) else (other, this)
        for this, other in pairs[:places]
    ]


def _overlap(
    longer: CorpusBook, shorter: CorpusBook, share: float, rate: float, rng: np.random.Generator
) -> tuple[Shelf, SignedBook, SignedBook]:
    """Return the longer book with a passage of the shorter one, the passage, and the shorter book."""
    middle = len(longer.text) // 2
    length = min(round(share / (1 - share) * len(longer.text)), len(shorter.text))
    start = int(rng.integers(0, len(shorter.text) - length + 1))
    passage = shorter.text[start : start + length]
    texts = (longer.text[:middle] + passage + longer.text[middle:], passage, shorter.text)
    holder, *asking = (sign(content_from_text(corrupt(text, rate, rng) if rate else text)) for text in texts)
    return Shelf([holder]), asking[0], asking[1]


def simulated(books: int, queries: int) -> tuple[list[SignedBook], list[SignedBook]]:
    """Return query books of a simulated library, and all books of other works."""
    asked: list[SignedBook] = []
    others: list[SignedBook] = []
    for batch in simulate(books):
        rows = np.random.default_rng(SEED).permutation(len(batch))[:queries]
        asking = np.isin(batch.works, batch.works[rows])
        chosen = set(rows.tolist())
        for row in range(len(batch)):
            if row in chosen or not asking[row]:
                sketch = batch.sketch(row)
                assert sketch.minhash is not None
                assert sketch.sample is not None
                samples = dict.fromkeys(_SAMPLES, sketch.sample.hashes[:0])
                book = SignedBook(sketch.minhash.values, samples | {_OF_LETTERS: sketch.sample.hashes})
                (asked if row in chosen else others).append(book)
    return asked, others
