"""A library of real books, and rows of lists of which it is known whether the library has them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.matching.identifier_comparison import SAME, UNSURE, deviation, expected_distances
from app.core.model import Entry, Fingerprint, MinHashSignature
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from app.core.signatures.identifier import Identifier, of_signatures, written
from app.core.signatures.sketch import sketch
from app.core.text.catalogue_values import ean_digit, modulo_11_digit
from app.core.text.content import content_from_text
from app.services.checks import CheckVerdict
from bench.data.misreading import misread, misread_pages
from bench.harness.corpus import CorpusBook, Pair
from bench.harness.report import CannotMeasure

ERRORS = 0.05
"""Share of the characters of a text that is badly read."""

_LONGEST = 600_000
"""Characters of a book, so that a thousand rows take minutes."""

_TEXT_PAGES = 40
"""Pages that a book has at least from which parts and other editions are made."""


@dataclass(frozen=True, slots=True)
class HeldBook:
    """A book, whether the library has it, and its ISBN."""

    book: CorpusBook
    is_held: bool
    isbn: str  # 13 digits

    @property
    def metadata(self) -> dict[str, Any]:
        """What the catalogue says of it."""
        known = {"title": self.book.title, "year": self.book.year, "identifiers": [f"isbn:{self.isbn}"]}
        known |= {"authors": [self.book.author] if self.book.author else []}
        return {name: value for name, value in known.items() if value}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a list, what it is made of, and what is true of it."""

    kind: str
    body: Mapping[str, Any]
    truth: CheckVerdict
    book: str | None  # of the library, that it means


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Identifiers as arrays, each to be compared with one."""

    bits: NDArray[np.uint64]  # (n, 2)
    minhash: NDArray[np.uint64]  # (n, 2)
    words: NDArray[np.int64]  # (n,)

    @classmethod
    def of(cls, identifiers: Sequence[Identifier]) -> "Compared":
        bits = b"".join(each.fingerprint.bits for each in identifiers)
        minhash = b"".join(each.minhash.bits for each in identifiers if each.minhash is not None)
        return cls(
            np.frombuffer(bits, np.uint64).reshape(-1, 2),
            np.frombuffer(minhash, np.uint64).reshape(-1, 2),
            np.array([each.word_count for each in identifiers]),
        )

    def same(self, query: Identifier) -> set[int]:
        """Those that `bookprint compare` calls the same as this one."""
        return self._nearer(query, SAME)

    def not_different(self, query: Identifier) -> set[int]:
        """Those that it does not call different."""
        return self._nearer(query, UNSURE)

    def _nearer(self, query: Identifier, bound: float) -> set[int]:
        one = Compared.of([query])
        distance = np.bitwise_count(self.bits ^ one.bits).sum(axis=1).astype(np.float64)
        unequal = np.bitwise_count(self.minhash ^ one.minhash).sum(axis=1).astype(np.float64)
        expected = expected_distances(np.minimum(self.words, query.word_count))
        near = deviation(distance, unequal, expected) <= bound
        if bound == SAME:
            near &= deviation(distance, None, expected) <= UNSURE
        return set(np.flatnonzero(near).tolist())


def shelves(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> list[HeldBook]:
    """One book of each work; of those that share no text the library has every second one."""
    sharing = (pair for pair in pairs if pair.relation in ("contains", "overlaps"))
    kin = {each for pair in sharing for each in (pair.a, pair.b)}
    works: dict[str, CorpusBook] = {}
    for book in sorted(books, key=lambda each: each.pages is None):
        if len(book.text) <= _LONGEST and book.title and book.id not in kin:
            works.setdefault(book.work, book)
    shelf = []
    for number, book in enumerate(works.values()):
        stem = f"978{number:09d}"
        shelf.append(HeldBook(book, number % 2 == 0, stem + ean_digit(stem)))
    return shelf


def strangers(most: int, shelf: Sequence[HeldBook]) -> Iterator[dict[str, Any]]:
    """Identifiers of other real books with their names, in the folder that BOOKPRINT_STRANGERS names."""
    folder = os.environ.get("BOOKPRINT_STRANGERS")
    if not folder:
        raise CannotMeasure("Set BOOKPRINT_STRANGERS to a folder that holds signatures.parquet.")
    import pyarrow.parquet as pq

    known = Compared.of([identifier_of(each.book.text) for each in shelf])
    columns = ["title", "authors", "year", "word_count", "fingerprint", "minhash", "shingle_count"]
    count = 0
    for batch in pq.ParquetFile(Path(folder) / "signatures.parquet").iter_batches(1_000, columns=columns):
        for cells in batch.to_pylist():
            if cells["fingerprint"] is None or cells["minhash"] is None or count == most:
                continue
            entry = Entry(
                0,
                Fingerprint(DEFAULT_FINGERPRINT, cells["fingerprint"]),
                MinHashSignature.from_bytes(DEFAULT_MINHASH, cells["minhash"], cells["shingle_count"]),
            )
            identifier = of_signatures(entry, cells["word_count"])
            assert identifier is not None
            if not known.not_different(identifier):
                named = {name: cells[name] for name in ("title", "authors", "year") if cells[name]}
                yield {"identifier": written(identifier), **named}
                count += 1


def identifier_of(text: str) -> Identifier:
    """The longest identifier of a text that is long enough to have one."""
    made = sketch(content_from_text(text))
    identifier = of_signatures(made, made.word_count)
    assert identifier is not None
    return identifier


def made_rows(shelf: Sequence[HeldBook], count: int, seed: int) -> list[Row]:
    """So many rows of all kinds in turn, of books that the library has and has not."""
    rng = np.random.default_rng(seed)
    held = [each for each in shelf if each.is_held]
    absent = [each for each in shelf if not each.is_held]
    paged = [each for each in held if each.book.pages and len(each.book.pages) >= _TEXT_PAGES]
    makers = (
        *(("text", held), ("noisy text", held), ("noisy text", absent), ("bp1", held), ("bp2", held)),
        *(("noisy bp2", held), ("bp2", absent), ("isbn", held), ("short isbn", held), ("isbn", absent)),
        *(("isbn with a typo", held), ("isbn of an edition", held), ("title", held), ("other title", held)),
        *(("title", absent), ("edition", paged), ("part", paged), ("noisy part", paged), ("volumes", paged)),
        ("volume of another", absent),
    )
    rows = []
    for number in range(count):
        kind, books = makers[number % len(makers)]
        one = books[int(rng.integers(len(books)))]
        others = [absent[at] for at in rng.permutation(len(absent))]
        rows.append(_made(kind, one, others, rng))
    return rows


def _made(kind: str, one: HeldBook, others: Sequence[HeldBook], rng: np.random.Generator) -> Row:
    book, meant = one.book, one.book.id if one.is_held else None
    have: CheckVerdict = "have" if one.is_held else "no"
    match kind:
        case "text":
            return Row(kind, _content(book), have, meant)
        case "noisy text":
            return Row(kind, _content(_noisy(book, rng)), have, meant)
        case "bp1":
            alone = written(replace(identifier_of(book.text), minhash=None))
            return Row(kind, {"identifier": alone}, have, meant)
        case "bp2" | "noisy bp2":
            text = misread(book.text, ERRORS, rng) if kind.startswith("noisy") else book.text
            return Row(kind, {"identifier": written(identifier_of(text))}, have, meant)
        case "isbn":
            return Row(kind, {"isbn": one.isbn}, have, meant)
        case "short isbn":
            digits = one.isbn[3:12]
            shown = f"{digits[0]}-{digits[1:4]}-{digits[4:]}-{modulo_11_digit(digits)}"
            return Row(kind, {"isbn": shown}, have, meant)
        case "isbn with a typo":
            place = int(rng.integers(3, 13))
            digit = str((int(one.isbn[place]) + int(rng.integers(1, 10))) % 10)
            return Row(kind, {"isbn": one.isbn[:place] + digit + one.isbn[place + 1 :]}, "perhaps", meant)
        case "isbn of an edition":
            return Row(kind, {"isbn": f"979{one.isbn[3:12]}" + ean_digit(f"979{one.isbn[3:12]}")}, "no", None)
        case "title" | "other title":
            short = book.title.split(":")[0].upper()
            title = book.title if kind == "title" else f"The {short} : a new edition"
            row = {"title": title, "year": book.year, "authors": [book.author] if book.author else None}
            named: CheckVerdict = "perhaps" if one.is_held else "no"
            return Row(kind, {name: value for name, value in row.items() if value}, named, meant)
    assert book.pages is not None or kind == "volume of another"
    pages = list(book.pages or [])
    match kind:
        case "edition":
            return Row(kind, {"pages": _reflowed(misread(book.text, 0.02, rng), rng)}, "other_edition", meant)
        case "part" | "noisy part":
            size = int(len(pages) * rng.uniform(0.25, 0.6))
            start = int(rng.integers(0, len(pages) - size))
            part = pages[start : start + size]
            if kind == "noisy part":
                part = misread_pages(part, ERRORS, rng.integers(0, 1 << 30, 2).tolist())
            return Row(kind, {"pages": part}, "part_of", meant)
        case "volumes":
            more: list[str] = []
            for other in others:
                if len(more) < len(pages):
                    more += _reflowed(other.book.text, rng)
            return Row(kind, {"pages": more + pages}, "contains", meant)
        case _:
            half = len(book.text) // 2
            return Row(kind, {"text": book.text[half:]}, "no", None)


def _noisy(book: CorpusBook, rng: np.random.Generator) -> CorpusBook:
    if book.pages:
        seed = rng.integers(0, 1 << 30, 2).tolist()
        return replace(book, pages=misread_pages(book.pages, ERRORS, seed))
    return replace(book, text=misread(book.text, ERRORS, rng))


def _content(book: CorpusBook) -> dict[str, Any]:
    return {"pages": list(book.pages)} if book.pages else {"text": book.text}


def _reflowed(text: str, rng: np.random.Generator) -> list[str]:
    """The text with page breaks of another size of type."""
    words = text.split()
    size = int(rng.integers(180, 420))
    return [" ".join(words[start : start + size]) for start in range(0, len(words), size)]
