"""Other kinds of shingles and other sizes of MinHash signatures, as finders of copies among real books.

Carpenter (2011) names n-grams of stemmed words or without stop words, and the shingle of Rajaraman and Ullman
(Mining of Massive Datasets, draft of 2010): a stop word and the next two words.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.data.real_pairs import labels
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from bookprint_core.recipe import DEFAULT_MINHASH, minhash_recipe
from bookprint_core.signatures.minhash import minhash
from bookprint_core.text.names import folded_words
from research.identifiers.paper_sets import SEED

SIZES = (32, 64, 128, 256, 512)
"""Numbers of MinHash values per signature."""
USED = 128
STOP_WORDS = 150
"""Number of stop words per language: words that most of its books use, by frequency."""
STEM = 5
"""Number of first letters of a word that replace its stem."""
UNSPACED = ("zh", "ja")
"""Languages without spaces between words, whose books are left out."""

Words = NDArray[np.uint64]
"""Hash of each word of a text."""
StopWords = Mapping[str, frozenset[str]]
"""Stop words of each language."""

_WANTED = ("same_work",)
_NEITHER = ("contains", "overlaps")


@dataclass(frozen=True, slots=True)
class ShingleKind:
    """A method to make shingles from the words of a book."""

    name: str
    hashes: Callable[[Sequence[str], frozenset[str]], NDArray[np.uint64]]  # words, stop words -> (n,)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of pairs called copies, with the threshold of the other half of the works."""

    right: int
    wrong: int
    missed: int

    @property
    def f1(self) -> float:
        """Return F1, 0 to 1."""
        return 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)


def word_hashes(words: Sequence[str]) -> Words:
    """Return a hash of 64 bits of each word, (n,)."""
    return np.fromiter(map(_word_hash, words), dtype=np.uint64, count=len(words))


@cache
def _word_hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest())


def runs(hashes: Words, length: int) -> NDArray[np.uint64]:
    """Return the hash of each run of `length` words, (n − length + 1,)."""
    if hashes.size < length:
        return np.zeros(0, dtype=np.uint64)
    mixed = np.zeros(hashes.size - length + 1, dtype=np.uint64)
    for place in range(length):
        mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ hashes[place : place + mixed.size]
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _five_words(words: Sequence[str], stop_words: frozenset[str]) -> NDArray[np.uint64]:
    return runs(word_hashes(words), 5)


def _five_stems(words: Sequence[str], stop_words: frozenset[str]) -> NDArray[np.uint64]:
    return runs(word_hashes([word[:STEM] for word in words]), 5)


def _five_others(words: Sequence[str], stop_words: frozenset[str]) -> NDArray[np.uint64]:
    return runs(word_hashes([word for word in words if word not in stop_words]), 5)


def _after_stop_word(words: Sequence[str], stop_words: frozenset[str]) -> NDArray[np.uint64]:
    threes = runs(word_hashes(words), 3)
    return threes[[word in stop_words for word in words[: threes.size]]]


KINDS = (
    ShingleKind("five words", _five_words),
    ShingleKind(f"five words, each cut to {STEM} letters", _five_stems),
    ShingleKind("five words, stop words left out", _five_others),
    ShingleKind("a stop word and the next two words", _after_stop_word),
)


def run(out_dir: Path) -> Section:
    """Measure all choices; takes some minutes."""
    folder = corpus_folder()
    books = [book for book in corpus_books(folder) if book.language not in UNSPACED]
    return measure(books, labels(books, corpus_pairs(folder)))


def measure(books: Sequence[CorpusBook], kinds: NDArray[np.str_]) -> Section:
    """Return both tables; `kinds` are the labels of all pairs in the order of `itertools.combinations`."""
    words = [folded_words(book.text) for book in books]
    stop_words = frequent_words(books, words)
    works = [book.work for book in books]
    by_kind: list[list[Cell]] = []
    by_size: list[list[Cell]] = []
    for kind in KINDS:
        hashes = [
            kind.hashes(each, stop_words[book.language]) for book, each in zip(books, words, strict=True)
        ]
        values, _ = signatures(hashes, USED)
        features = round(float(np.mean([np.unique(each).size for each in hashes])))
        by_kind.append([kind.name, features, *_scores(cross_fitted(values, kinds, works))])
        if kind is KINDS[0]:
            for size in SIZES:
                values, seconds = signatures(hashes, size)
                score = cross_fitted(values, kinds, works)
                by_size.append([size, 4 * size, round(1000 * seconds, 2), *_scores(score)])
    counts = ["copies found", "false pairs", "F1"]
    return Section(
        title="Carpenter (2011): kinds of shingles, and sizes of signatures",
        command="python -m research shingle_choices",
        tables=[
            Table(
                ["shingles", "different ones a book", *counts],
                by_kind,
                f"{len(books)} books of the corpus, {USED} MinHash values",
            ),
            Table(
                ["values", "bytes a book", "ms a book", *counts],
                by_size,
                "Five words, signatures of other sizes",
            ),
        ],
        notes=[
            f"Wanted are the {int(np.isin(kinds, _WANTED).sum())} pairs of one work; parts and overlaps "
            "count neither way, all other pairs are false. A pair is found where at least so many "
            "values are equal as give the best F1 on one half of the works; counted is the other half, both "
            "ways round, so pairs across the halves are left out. Bookprint itself judges by more than these "
            "values. Milliseconds: processor time of the values alone, the shingles given.",
            f"Stop words are the {STOP_WORDS} words that most books of a language use. Books in Chinese and "
            "Japanese are left out, which have no words in this sense.",
        ],
    )


def frequent_words(books: Sequence[CorpusBook], words: Sequence[Sequence[str]]) -> StopWords:
    """Return the stop words of each language, by the number of its books with a word, then by frequency."""
    spread: dict[str, Counter[str]] = {}
    counts: dict[str, Counter[str]] = {}
    for book, own in zip(books, words, strict=True):
        counted = Counter(own)
        spread.setdefault(book.language, Counter()).update(counted.keys())
        counts.setdefault(book.language, Counter()).update(counted)
    return {
        language: frozenset(
            sorted(
                spread[language], key=lambda word: (-spread[language][word], -counts[language][word], word)
            )[:STOP_WORDS]
        )
        for language in spread
    }


def signatures(hashes: Sequence[NDArray[np.uint64]], size: int) -> tuple[NDArray[np.uint32], float]:
    """Return the MinHash values of each book, (n, size), and the mean processor seconds per book."""
    recipe = replace(minhash_recipe(DEFAULT_MINHASH), name=f"minhash{size}", permutations=size)
    minhash(hashes[0], recipe)  # compiles the kernel and draws the permutations
    values = np.full((len(hashes), size), 0xFFFFFFFF, dtype=np.uint32)
    begun = time.process_time()
    for place, own in enumerate(hashes):
        signature = minhash(own, recipe)
        if signature is not None:
            values[place] = signature.values
    return values, (time.process_time() - begun) / len(hashes)


def cross_fitted(values: NDArray[np.uint32], kinds: NDArray[np.str_], works: Sequence[str]) -> Score:
    """Score pairs by their equal values, with the threshold fitted on each half for the other half."""
    names = np.unique(np.array(works))
    first = np.isin(works, np.random.default_rng(SEED).permutation(names)[: names.size // 2])
    left, right = np.triu_indices(len(works), 1)
    equal = np.concatenate([(values[row + 1 :] == values[row]).sum(axis=1) for row in range(len(works))])
    counted = ~np.isin(kinds, (*_NEITHER, ""))
    halves = [counted & first[left] & first[right], counted & ~first[left] & ~first[right]]
    total = np.zeros(3, dtype=np.int64)
    for fitted, tested in (halves, halves[::-1]):
        tries = [
            (told(equal[fitted], kinds[fitted], least).f1, least) for least in range(1, values.shape[1] + 1)
        ]
        _, least = max(tries)
        score = told(equal[tested], kinds[tested], least)
        total += (score.right, score.wrong, score.missed)
    return Score(*total.tolist())


def told(equal: NDArray[np.intp], kinds: NDArray[np.str_], least: int) -> Score:
    """Score pairs with at least `least` equal values as copies."""
    taken, wanted = equal >= least, np.isin(kinds, _WANTED)
    return Score(int((taken & wanted).sum()), int((taken & ~wanted).sum()), int((~taken & wanted).sum()))


def _scores(score: Score) -> list[Cell]:
    return [f"{score.right} of {score.right + score.missed}", score.wrong, round(score.f1, 3)]
