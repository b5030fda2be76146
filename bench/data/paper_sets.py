"""The sets of Vladimir et al. (2015), made anew: texts with 1 to 15 noisy derivatives, kept as signatures.

Texts are made and signed one canonical text at a time, by all cores, and never kept. Their signatures lie in
the user's cache folder, so that several benchmarks use one set. Each canonical text is a class of its own, as
there. So two chunks of one novel, which they do not have, are different books.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.core.model import Sketch
from app.core.recipe import DEFAULT_SUITE
from app.core.signatures.simhash import simhash
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from app.synthesis import confusions, noise
from bench.data import hard_set as hard
from bench.data.signed_texts import studied_recipes
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.processes import processes

SEED = 20261121
HARD_SEED, CHUNKS_PER_WORK = 20261120, 3
"""As in the benchmark `fingerprints`."""
DONOR = 40_001
"""Characters that a book must have, so that sentences can be taken from it."""
NO_SAMPLE = 255

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SetPlan:
    """The canonical texts of a set."""

    name: str
    texts: int  # canonical texts at most, of the hard set of each work
    cut: Literal["chunks", "whole books", "hard set"] = "chunks"
    characters: int | None = None  # of a chunk; None: what makes as many texts as wanted
    works: int | None = None  # books to cut them from at most; None: one of every work


SHORT = SetPlan("short texts", 9_000)
LONGER = SetPlan("short texts of 17,000 characters", 9_000, characters=17_000)
FULL = SetPlan("full-length books", 250, "whole books")
HARD = SetPlan("hard set", CHUNKS_PER_WORK, "hard set")
SMALL = SetPlan("smoke", 40, characters=12_000, works=12)


@dataclass(frozen=True, slots=True)
class Slice:
    """One canonical text: part of one book."""

    work: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class SignedSet:
    """The signatures of a set, one row a text; rows of one class lie together."""

    books: NDArray[np.int64]  # (n,), the class
    works: NDArray[np.int64]  # (n,)
    gap: Words  # (n, 2)
    tf: Words  # (n, 2)
    has_gap: NDArray[np.bool_]  # (n,), whether the text has such a fingerprint
    has_tf: NDArray[np.bool_]
    minhash: NDArray[np.uint32]  # (n, 128)
    shingle_counts: NDArray[np.uint32]  # (n,)
    sample: NDArray[np.uint64]  # of all texts, one after the other
    sample_ends: NDArray[np.int64]  # (n,)
    levels: NDArray[np.uint8]  # (n,), NO_SAMPLE where there is none
    characters: NDArray[np.int64]  # (n,), of the normal form

    @property
    def size(self) -> int:
        """Texts."""
        return self.books.size

    @property
    def wanted(self) -> NDArray[np.int64]:
        """The number of other versions of each text, (n,)."""
        return np.asarray(np.bincount(self.books)[self.books] - 1)

    @property
    def caption(self) -> str:
        """Texts, canonical texts and their median length."""
        return (
            f"{self.size:,} texts, {np.unique(self.books).size:,} canonical, "
            f"{np.median(self.characters):,.0f} characters each (median)"
        )


def signed_set(plan: SetPlan) -> SignedSet:
    """The set from the cache, else made; raises CannotMeasure where there is no corpus."""
    path = _cache() / f"{_key(plan)}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = _sign(plan)
        temporary = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(temporary, **{name: getattr(made, name) for name in SignedSet.__slots__})
        temporary.replace(path)
    with np.load(path) as columns:
        return SignedSet(**{name: columns[name] for name in SignedSet.__slots__})


def _cache() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("BOOKPRINT_BENCH_CACHE") or home / "bookprint" / "bench")


def _key(plan: SetPlan) -> str:
    """A name for all that decides the set: corpus, plan, noise, recipes."""
    corpus = (corpus_folder() / "books.jsonl.gz").stat()
    sources = [Path(str(module.__file__)).read_bytes() for module in (noise, confusions)]
    derived = (hard.CHUNK, hard.COPIES, hard.ERROR_RATE, hard.EDITED)
    decided = (SEED, asdict(plan), derived, corpus.st_size, DEFAULT_SUITE, SignedSet.__slots__)
    return sha256(repr(decided).encode() + b"".join(sources)).hexdigest()[:16]


def slices(books: Sequence[CorpusBook], plan: SetPlan) -> list[Slice]:
    """The canonical texts of a plan, in the order of the books."""
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
    """The most characters that texts of these lengths yield so many chunks of.

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
    """One book of each work of the corpus, where it is long enough."""
    books = hard.one_per_work(list(corpus_books(corpus_folder())), at_least)
    if works is None:
        return books
    return [books[place] for place in np.random.default_rng(SEED).permutation(len(books))[:works]]


_books: list[CorpusBook] = []
"""For the processes of the pool, which inherit it instead of having 500 MB sent to each."""


def _sign(plan: SetPlan) -> SignedSet:
    # Compiled before the processes part, so that each need not.
    _row(0, 0, "a few words " * 200)
    is_hard = plan.cut == "hard set"
    _books[:] = canonical_books(plan.works, hard.CHUNK if is_hard else DONOR)
    with processes() as pool:
        if is_hard:
            batches = list(pool.map(_sign_chunks, range(len(_books)), repeat(plan.texts)))
        else:
            batches = list(pool.map(_sign_versions, enumerate(slices(_books, plan)), chunksize=8))
    _books.clear()
    return _columns([row for batch in batches for row in batch])


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    book: int
    work: int
    tf: bytes | None
    sketch: Sketch


def _sign_versions(numbered: tuple[int, Slice]) -> list[_Row]:
    number, part = numbered
    rng = np.random.default_rng([SEED, number])
    text = _books[part.work].text[part.start : part.end]
    return [_row(number, part.work, version) for version in hard.versions(text, _books, part.work, rng)]


def _sign_chunks(work: int, chunks: int) -> list[_Row]:
    return [
        _row(work * chunks + number, work, version)
        for number, texts in enumerate(hard.chunks_of(_books, work, chunks, HARD_SEED))
        for version in texts
    ]


def _row(book: int, work: int, text: str) -> _Row:
    content = content_from_text(text)
    tf = simhash(normalise(content), studied_recipes(128)["tf"])
    return _Row(book, work, None if tf is None else tf.bits, replace(sketch(content), pages=None))


def _columns(rows: Sequence[_Row]) -> SignedSet:
    gap = [None if row.sketch.fingerprint is None else row.sketch.fingerprint.bits for row in rows]
    samples = [row.sketch.sample for row in rows]
    hashes = [np.zeros(0, np.uint64) if sample is None else sample.hashes for sample in samples]
    nothing = np.zeros(128, dtype=np.uint32)
    signatures = [row.sketch.minhash for row in rows]
    return SignedSet(
        books=np.unique([row.book for row in rows], return_inverse=True)[1].astype(np.int64),
        works=np.array([row.work for row in rows], dtype=np.int64),
        gap=_words(gap),
        tf=_words([row.tf for row in rows]),
        has_gap=np.array([bits is not None for bits in gap]),
        has_tf=np.array([row.tf is not None for row in rows]),
        minhash=np.stack([nothing if each is None else each.values for each in signatures]),
        shingle_counts=np.array(
            [0 if each is None else each.shingle_count for each in signatures], dtype=np.uint32
        ),
        sample=np.concatenate(hashes).astype(np.uint64),
        sample_ends=np.cumsum([each.size for each in hashes], dtype=np.int64),
        levels=np.array(
            [NO_SAMPLE if sample is None else sample.level for sample in samples], dtype=np.uint8
        ),
        characters=np.array([row.sketch.character_count for row in rows], dtype=np.int64),
    )


def _words(fingerprints: Sequence[bytes | None]) -> Words:
    joined = b"".join(bytes(16) if bits is None else bits for bits in fingerprints)
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
