"""Candidates by the 100 MinHash values of a book (Spasojević and Poncin 2011, section III-D), beside ours."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.matching.verification import VERIFICATION, Evidence, evidence, is_near_duplicate
from app.core.model import Content, Sketch
from app.core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, minhash_recipe, page_recipe
from app.core.signatures.fracminhash import shared_hashes
from app.core.signatures.shingles import shingles
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from app.core.text.normal_form import normalise
from app.core.warm_up import warm_up
from app.synthesis.noise import corrupt
from bench.data.real_pairs import labels
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table
from research.pages.page_grams import BOOK_VALUES, VALUE_BYTES, Values, minhash_values

SEED = 20261123
LEAST = (1, 2, 3, 5, 10)
"""Equal values of 100 from which a pair is a candidate; the paper does not say."""
RATES = (0.01, 0.02, 0.05, 0.10)
COPIED = 60
"""Works of which noisy copies are made."""
LONGEST = 400_000
"""Characters of a book that is copied."""

_TRUE = ("same_work", "contains", "overlaps")
_FALSE = ("series", "translation", "different", "unrelated", "same author", "other language")
OURS = "Bookprint's candidates"


@dataclass(frozen=True, slots=True, eq=False)
class TwiceSigned:
    """A book's 100 values, and its sketch."""

    values: Values  # (100,)
    sketch: Sketch

    @classmethod
    def of(cls, content: Content) -> "TwiceSigned":
        """The signatures of one book."""
        return cls(book_values(content), sketch(content))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that makes two books candidates."""

    name: str
    proposes: Callable[[TwiceSigned, TwiceSigned], bool]


def book_values(content: Content) -> Values:
    """The 100 values of a book over all its shingles of five words, (100,)."""
    words = shingles(normalise(content), minhash_recipe(DEFAULT_MINHASH), page_recipe(DEFAULT_PAGES))
    return minhash_values([words.hashes], BOOK_VALUES).ravel()


def equal_count(this: TwiceSigned, other: TwiceSigned) -> int:
    """Equal values of 100; books without shingles share none."""
    if not this.sketch.minhash or not other.sketch.minhash:
        return 0
    return int(np.count_nonzero(this.values == other.values))


def is_candidate(this: TwiceSigned, other: TwiceSigned) -> bool:
    """Whether Bookprint compares the two books page by page."""
    found: Evidence = evidence(this.sketch, other.sketch)
    sampled = 0
    if this.sketch.sample is not None and other.sketch.sample is not None:
        sampled = shared_hashes(this.sketch.sample, other.sketch.sample)
    return is_near_duplicate(found) or max(found.equal_values or 0, sampled) >= VERIFICATION.min_shared


def _by_values(least: int) -> Rule:
    return Rule(f"100 values, ≥ {least} equal", lambda this, other: equal_count(this, other) >= least)


RULES = (*(_by_values(least) for least in LEAST), Rule(OURS, is_candidate))


def run(_: Path) -> Section:
    """Every pair of the corpus, and noisy copies of sixty books; a minute."""
    warm_up()
    folder = corpus_folder()
    return measure(list(corpus_books(folder)), corpus_pairs(folder), COPIED, RATES)


def measure(
    books: Sequence[CorpusBook], pairs: Sequence[Pair], copied: int, rates: Sequence[float]
) -> Section:
    """Tables of real pairs, of made copies, and of costs."""
    drawn = _drawn(books, copied)
    return Section(
        title="Spasojević and Poncin (2011): candidates by 100 MinHash values of a book",
        command="python -m research page_book_candidates",
        tables=[
            real_table(books, pairs),
            copies_table(drawn, rates),
            _costs(drawn),
        ],
        notes=[
            "A book has 100 MinHash values over its shingles of five words, 32 bits of each. Two books are "
            "candidates from so many equal values on; the paper speaks of judicious thresholds and prints "
            "none. Bookprint's candidates are near-duplicates by its rule, and books that share three of "
            "128 MinHash values or of the sampled shingles.",
            f"Made copies: {len(drawn)} books of as many works (seed {SEED}), up to {LONGEST:,} characters, "
            "errors on both sides. Times are processor time from the text, the normal form included.",
        ],
    )


def real_table(books: Sequence[CorpusBook], pairs: Sequence[Pair]) -> Table:
    """The pairs of the corpus that each rule proposes, by their label."""
    signed = [TwiceSigned.of(book.content) for book in books]
    kinds = labels(books, pairs)
    columns = [*([name] for name in _TRUE), list(_FALSE)]
    rows: list[list[Cell]] = [["all pairs", *(int(np.isin(kinds, names).sum()) for names in columns)]]
    for rule in RULES:
        proposed = _proposed(signed, rule)
        rows.append([rule.name, *(int((proposed & np.isin(kinds, names)).sum()) for names in columns)])
    return Table(["rule", *_TRUE, "other pairs"], rows, "Pairs of the corpus that are proposed")


def copies_table(books: Sequence[CorpusBook], rates: Sequence[float]) -> Table:
    """The share of noisy copies that each rule proposes, by error rate."""
    found: dict[str, list[float]] = {rule.name: [] for rule in RULES}
    for rate in rates:
        rng = np.random.default_rng([SEED, round(1e6 * rate)])
        made = [[TwiceSigned.of(_read(book, rate, rng)) for _ in range(2)] for book in books]
        for rule in RULES:
            found[rule.name].append(float(np.mean([rule.proposes(*copies) for copies in made])))
    return Table(
        ["rule", *(f"CER {100 * rate:g} %" for rate in rates)],
        [[name, *(f"{share:.2f}" for share in shares)] for name, shares in found.items()],
        f"Share of {len(books)} made copies that are proposed",
    )


def _proposed(signed: Sequence[TwiceSigned], rule: Rule) -> NDArray[np.bool_]:
    return np.array([rule.proposes(this, other) for this, other in combinations(signed, 2)])


def _drawn(books: Sequence[CorpusBook], count: int) -> list[CorpusBook]:
    works: dict[str, CorpusBook] = {}
    for book in books:
        works.setdefault(book.work, book)
    order = np.random.default_rng(SEED).permutation(len(works))[:count]
    return [works[sorted(works)[place]] for place in order]


def _read(book: CorpusBook, rate: float, rng: np.random.Generator) -> Content:
    return content_from_text(corrupt(book.text[:LONGEST], rate, rng))


def _costs(books: Sequence[CorpusBook]) -> Table:
    contents = [book.content for book in books]
    rows: list[list[Cell]] = []
    measured: list[tuple[str, int, Callable[[Content], object]]] = [
        ("100 values of a book", BOOK_VALUES * VALUE_BYTES, book_values),
        ("fingerprint, 128 values and sample of a book, its page signatures", _sketch_bytes(), sketch),
    ]
    for name, size, work in measured:
        milliseconds = [min(_milliseconds(work, content) for _ in range(3)) for content in contents]
        rows.append([name, size, round(float(np.mean(milliseconds)), 2)])
    return Table(
        ["signature", "bytes of a book, pages apart", "ms per book"],
        rows,
        f"Cost, {len(books)} books of {np.mean([len(each.text) for each in contents]):,.0f} characters",
    )


def _sketch_bytes() -> int:
    """Bytes of a fingerprint, a MinHash signature and a full sample."""
    recipe = minhash_recipe(DEFAULT_MINHASH)
    return 16 + 4 * recipe.permutations + 8 * 128


def _milliseconds(work: Callable[[Content], object], content: Content) -> float:
    started = time.process_time()
    work(content)
    return 1000 * (time.process_time() - started)
