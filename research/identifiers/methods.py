"""Comparison of all methods: copies, parts and series found, false pairs, OCR errors, bytes, time."""

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.hard_set import one_per_work
from bench.data.real_pairs import labels
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from research.identifiers.institutional_books import institutional_books
from research.identifiers.method import Method
from research.identifiers.methods_in_use import (
    EqualBands,
    text_code_within,
)
from research.identifiers.own_methods import (
    fingerprint_alone,
    fingerprint_within,
    long_identifier,
    minhash_values,
    vector_of_words,
    verified,
)
from research.identifiers.pair_figures import (
    KINDS,
    SEED,
    Pairs,
    accepted,
    found_again,
    halves_of,
    least_scores,
    noisy_copies,
    pair_scores,
)
from research.identifiers.published_methods import (
    middle_terms_digest,
    multi_reference_cosine,
    profile_digest,
    simhash_of_words,
    text_digest,
)

COPIES = 100
"""Number of works whose copies have OCR errors."""
RATES = (0.01, 0.05, 0.10)
"""Character error rates of the copies, in addition to 0."""

NOTES = (
    "Pairs: all of the corpus's books, by its labels. These follow from shared shingles, title and "
    "author, and were not proofread one by one. False pairs are pairs of different works that are called "
    "copies; volumes of a series are counted apart. One pair of the same work without a label counts "
    "nowhere.",
    "Bookprint's recipes and its rule were chosen on this corpus, and the other methods were not: this "
    "flatters its rows.",
    f"Made copies: {COPIES} books of different works, the longest of each, of 80,000 characters or more "
    f"(seed {SEED}). Errors fall on the copy alone, and are made as Vladimir et al. (2015) describe; how "
    "often each kind of error comes is our choice.",
    "Thresholds are those that a method's authors or users take. Where there are none, the one of the "
    "best F1 of copies on half of the works, halfway to the next pair, judges the pairs whose first book "
    "is of the other half. So no pair is judged by a threshold that it helped to fit; both are shown.",
    "Bytes are the mean of what is kept of a book. Milliseconds are the median of processor time from the "
    "text to the signature, method after method on each book. ISCC Text-Codes are those of `iscc-lib`, "
    "MinHashLSH is datasketch's, and all others are our implementations.",
    "Methods of letters a to z sign only books that are mostly in Latin script; their references are "
    "learnt from News20, never from the books. The language that Institutional Books detects is taken "
    "from the corpus. In a library that rule sees groups, here pairs.",
)


def compared_methods() -> list[Method[Any]]:
    """Return the methods in the order of the tables: Bookprint's, methods in use, published methods."""
    return [
        verified("lookup (default)"),
        fingerprint_alone("fingerprint alone"),
        long_identifier("identifier `bp2:`"),
        minhash_values("MinHash alone", 128),
        vector_of_words("vector of words"),
        institutional_books("Institutional Books"),
        text_code_within("ISCC Text-Code, 128 bits", 128),
        text_code_within("ISCC Text-Code, 256 bits", 256),
        EqualBands("datasketch MinHashLSH"),
        text_digest("MD5 of the text"),
        profile_digest("text profile (Nutch)"),
        minhash_values("100 MinHash values", 100),
        fingerprint_within("simhash, d ≤ 7", "tf-simhash128-v1", 7),
        middle_terms_digest("middle-frequency terms"),
        simhash_of_words("simhash of words"),
        multi_reference_cosine("multi-reference cosine"),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Signed:
    """The signatures of one method."""

    books: list[Any]  # of every book of the corpus; None without a signature
    originals: list[Any]  # of the copied books
    copies: list[list[Any]]  # of the copies, by error rate
    milliseconds: list[float]  # processor time of each book of the corpus


def run(out_dir: Path) -> Section:
    """Measure every method; takes some twelve minutes on one core. docs/why/methods.md has the figures."""
    books = list(corpus_books(corpus_folder()))
    pairs = Pairs(labels(books, corpus_pairs(corpus_folder())), halves_of(books))
    return Section(
        title="Methods side by side",
        command="python -m research methods",
        tables=[measure(compared_methods(), books, pairs, drawn_books(books))],
        notes=NOTES,
    )


def measure(
    methods: Sequence[Method[Any]], books: Sequence[CorpusBook], pairs: Pairs, drawn: Sequence[int]
) -> Table:
    """Return the results of each method; `drawn` are the indices of the copied books."""
    signed = sign_all(methods, books, drawn)
    halves = pairs.halves[list(drawn)]
    rows: list[list[Cell]] = []
    for method, made in zip(methods, signed, strict=True):
        scores = pair_scores(method, made.books)
        least = least_scores(method, scores, pairs)
        every = (made.originals, *made.copies)
        again = [found_again(method, made.originals, copies, least, halves) for copies in every]
        counts = pairs.counts(accepted(scores, least, pairs))
        rows.append([method.name, *counts, *again, *_costs(method, made), _rule(method, least)])
        print(f"  {rows[-1]}", flush=True)
    everything: list[Cell] = [
        "all",
        *pairs.counts(np.ones(pairs.labels.size, np.bool_)),
        *[len(drawn)] * (1 + len(RATES)),
    ]
    return Table(
        [
            "method",
            *KINDS,
            *(f"made copies at {rate:.0%} errors" for rate in (0, *RATES)),
            "bytes per book",
            "ms per book",
            "called copies where",
        ],
        [[*everything, None, None, None], *rows],
        f"Pairs of the corpus's {len(books)} books called copies, and made copies found again",
    )


def drawn_books(books: Sequence[CorpusBook]) -> list[int]:
    """Return the indices of the copied books, which are of different works and not OCR output."""
    places = {book.id: place for place, book in enumerate(books)}
    works = one_per_work(books)
    chosen = np.random.default_rng(SEED).permutation(len(works))[:COPIES]
    return [places[works[number].id] for number in sorted(chosen.tolist())]


def sign_all(
    methods: Sequence[Method[Any]], books: Sequence[CorpusBook], drawn: Sequence[int]
) -> list[Signed]:
    """Return the signatures of each method, made book by book under equal conditions of the machine."""
    for method in methods:  # compiles kernels and learns references
        method.sign(books[0])
    timed = [[_timed(method, book) for method in methods] for book in books]
    originals = [books[place] for place in drawn]
    copies = [_sign(methods, noisy_copies(originals, rate)) for rate in RATES]
    return [
        Signed(
            books=[row[number][0] for row in timed],
            originals=[timed[place][number][0] for place in drawn],
            copies=[[row[number] for row in of_rate] for of_rate in copies],
            milliseconds=[row[number][1] for row in timed],
        )
        for number in range(len(methods))
    ]


def _sign(methods: Sequence[Method[Any]], books: Iterable[CorpusBook]) -> list[list[Any]]:
    return [[method.sign(book) for method in methods] for book in books]


def _timed(method: Method[Any], book: CorpusBook) -> tuple[Any, float]:
    started = time.process_time()
    signature = method.sign(book)
    return signature, 1_000 * (time.process_time() - started)


def _costs(method: Method[Any], signed: Signed) -> list[Cell]:
    """Return the mean bytes of a signature, and the median milliseconds."""
    sizes = [method.size(each) for each in signed.books if each is not None]
    return [round(statistics.mean(sizes)), statistics.median(signed.milliseconds)]


def _rule(method: Method[Any], least: tuple[float, float]) -> str:
    rules = [method.rule(score) for score in least]
    return rules[0] if method.least is not None else f"{rules[0]}; {rules[1]}: fitted"
