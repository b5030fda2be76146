"""The sets of Vladimir et al. (2015), reproduced: signatures of texts with 1 to 15 noisy derivatives.

All cores make and sign texts, one canonical text at a time, and do not store the texts. Signatures are stored
in the user's cache folder, so several benchmarks use one set. Each canonical text is a class, as in the
paper. Two chunks of one novel, which the paper does not have, are different books.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.synthesis import noise
from bench.data import hard_set as hard
from bench.data.hard_set import studied_recipes
from bench.harness.checkout import processes
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bookprint_core.index.records import NO_SAMPLE
from bookprint_core.model import Fingerprint, FracMinHash
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_SAMPLE, sample_recipe
from bookprint_core.signatures.fracminhash import gram_sample
from bookprint_core.signatures.simhash import simhash
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise

SEED = 20261121
HARD_SEED, CHUNKS_PER_WORK = 20261120, 3
"""Seed, and chunks per work, of the benchmark `fingerprints`."""
DONOR = 40_001
"""Minimum characters of a book that provides sentences."""

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SetPlan:
    """The canonical texts of a set."""

    name: str
    texts: int  # maximum canonical texts; in the hard set, per work
    cut: Literal["chunks", "whole books", "hard set"] = "chunks"
    characters: int | None = None  # of a chunk; None: chosen to give `texts` chunks
    works: int | None = None  # maximum books to cut; None: one book of every work


SHORT = SetPlan("short texts", 9_000)
FULL = SetPlan("full-length books", 250, "whole books")
HARD = SetPlan("hard set", CHUNKS_PER_WORK, "hard set")
SMALL = SetPlan("smoke", 40, characters=12_000, works=12)


@dataclass(frozen=True, slots=True)
class Slice:
    """A canonical text: a part of a book."""

    work: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class SignedSet:
    """Signatures of a set, one row per text; rows of one class are adjacent."""

    books: NDArray[np.int64]  # (n,), number of the class
    works: NDArray[np.int64]  # (n,)
    gap: Words  # (n, 2)
    tf: Words  # (n, 2)
    has_gap: NDArray[np.bool_]  # (n,), whether the text has this fingerprint
    has_tf: NDArray[np.bool_]
    sample: NDArray[np.uint64]  # hashes of all texts in order
    sample_ends: NDArray[np.int64]  # (n,)
    levels: NDArray[np.uint8]  # (n,), NO_SAMPLE without a sample
    characters: NDArray[np.int64]  # (n,), of the normal form

    @property
    def size(self) -> int:
        """Return the number of texts."""
        return self.books.size

    @property
    def wanted(self) -> NDArray[np.int64]:
        """Return the number of other versions of each text, (n,)."""
        return np.asarray(np.bincount(self.books)[self.books] - 1)

    @property
    def caption(self) -> str:
        """Return the numbers of texts and canonical texts and their median length, in words."""
        return (
            f"{self.size:,} texts, {np.unique(self.books).size:,} canonical, "
            f"{np.median(self.characters):,.0f} characters each (median)"
        )


def signed_set(plan: SetPlan) -> SignedSet:
    """Return the set from the cache, or make it; raises CannotMeasure without the corpus."""
    return kept(_key(plan), lambda: _sign(plan))


def kept(name: str, make: Callable[[], SignedSet]) -> SignedSet:
    """Return the set with this name in the cache; make and store it if missing."""
    path = _cache() / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = make()
        temporary = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(temporary, **{column: getattr(made, column) for column in SignedSet.__slots__})
        temporary.replace(path)
    with np.load(path) as columns:
        return SignedSet(**{column: columns[column] for column in SignedSet.__slots__})


def _cache() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("BOOKPRINT_BENCH_CACHE") or home / "bookprint" / "bench")


def _key(plan: SetPlan) -> str:
    return key_of(asdict(plan), (corpus_folder() / "books.jsonl.gz").stat().st_size)


def key_of(*chosen: object) -> str:
    """Return a name that depends on everything that determines a set: choices, noise, recipes."""
    derived = (hard.CHUNK, hard.COPIES, hard.ERROR_RATE, hard.EDITED)
    decided = (SEED, chosen, derived, DEFAULT_FINGERPRINT, DEFAULT_SAMPLE, SignedSet.__slots__)
    return sha256(repr(decided).encode() + Path(noise.__file__).read_bytes()).hexdigest()[:16]


def slices(books: Sequence[CorpusBook], plan: SetPlan) -> list[Slice]:
    """Return the canonical texts of a plan, in the order of the books."""
    if plan.cut == "whole books":
        longest = sorted(range(len(books)), key=lambda work: -len(books[work].text))[: plan.texts]
        return [Slice(work, 0, len(books[work].text)) for work in sorted(longest)]
    size = plan.characters or chunk_size([len(book.text) for book in books], plan.texts)
    texts = [
        Slice(work, start, start + size)
        for work, book in enumerate(books)
        for start in range(0, len(book.text) - size + 1, size)
    ]
    chosen = np.random.default_rng(SEED).permutation(len(texts))[: plan.texts]
    return [texts[place] for place in sorted(chosen.tolist())]


def chunk_size(lengths: Sequence[int], chunks: int) -> int:
    """Return the largest chunk size at which texts of these lengths give this many chunks.

    >>> chunk_size([100, 50], 3)
    50
    """
    low, high = 1, max(lengths)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(length // middle for length in lengths) >= chunks:
            low = middle
        else:
            high = middle - 1
    return low


def canonical_books(works: int | None = None, at_least: int = DONOR) -> list[CorpusBook]:
    """Return one book of each work of the corpus, if long enough."""
    books = hard.one_per_work(list(corpus_books(corpus_folder())), at_least)
    if works is None:
        return books
    return [books[place] for place in np.random.default_rng(SEED).permutation(len(books))[:works]]


_books: list[CorpusBook] = []
"""Books that the processes of the pool inherit, because 500 MB are too much to send."""


def _sign(plan: SetPlan) -> SignedSet:
    # Compile before the fork, so that each process need not.
    signed_row(0, 0, "a few words " * 200)
    is_hard = plan.cut == "hard set"
    _books[:] = canonical_books(plan.works, hard.CHUNK if is_hard else DONOR)
    with processes() as pool:
        if is_hard:
            batches = list(pool.map(_sign_chunks, range(len(_books)), repeat(plan.texts)))
        else:
            batches = list(pool.map(_sign_versions, enumerate(slices(_books, plan)), chunksize=8))
    _books.clear()
    return signed_rows([row for batch in batches for row in batch])


@dataclass(frozen=True, slots=True, eq=False)
class SignedRow:
    """Signatures of one text of a set."""

    book: int
    work: int
    tf: Fingerprint | None
    gap: Fingerprint | None
    sample: FracMinHash | None
    characters: int  # of the normal form


def _sign_versions(numbered: tuple[int, Slice]) -> list[SignedRow]:
    number, part = numbered
    rng = np.random.default_rng([SEED, number])
    text = _books[part.work].text[part.start : part.end]
    return [signed_row(number, part.work, version) for version in hard.versions(text, _books, part.work, rng)]


def _sign_chunks(work: int, chunks: int) -> list[SignedRow]:
    return [
        signed_row(work * chunks + number, work, version)
        for number, texts in enumerate(hard.chunks_of(_books, work, chunks, HARD_SEED))
        for version in texts
    ]


def signed_row(book: int, work: int, text: str) -> SignedRow:
    """Sign one text by fingerprints and sample, the only signatures of a set."""
    normal = normalise(content_from_text(text))
    recipes = studied_recipes(128)
    return SignedRow(
        book=book,
        work=work,
        tf=simhash(normal, recipes["tf"]),
        gap=simhash(normal, recipes["gap"]),
        sample=gram_sample(normal, sample_recipe(DEFAULT_SAMPLE)),
        characters=normal.size,
    )


def signed_rows(rows: Sequence[SignedRow]) -> SignedSet:
    """Return these texts as a set, with books renumbered from 0 in their order."""
    hashes = [np.zeros(0, np.uint64) if row.sample is None else row.sample.hashes for row in rows]
    return SignedSet(
        books=np.unique([row.book for row in rows], return_inverse=True)[1].astype(np.int64),
        works=np.array([row.work for row in rows], dtype=np.int64),
        gap=_words([row.gap for row in rows]),
        tf=_words([row.tf for row in rows]),
        has_gap=np.array([row.gap is not None for row in rows]),
        has_tf=np.array([row.tf is not None for row in rows]),
        sample=np.concatenate(hashes).astype(np.uint64),
        sample_ends=np.cumsum([each.size for each in hashes], dtype=np.int64),
        levels=np.array(
            [NO_SAMPLE if row.sample is None else row.sample.level for row in rows], dtype=np.uint8
        ),
        characters=np.array([row.characters for row in rows], dtype=np.int64),
    )


def _words(fingerprints: Sequence[Fingerprint | None]) -> Words:
    joined = b"".join(bytes(16) if each is None else each.bits for each in fingerprints)
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
