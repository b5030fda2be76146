"""The cost of aligning two books: time on one core and memory, by their page counts."""

import statistics
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.model import PageSignatures
from app.core.recipe import DEFAULT_PAGES
from app.core.relations.alignment import align
from app.core.signatures.sketch import sketch
from app.core.warm_up import warm_up
from bench.harness.corpus import CorpusBook, corpus_books, corpus_folder
from bench.harness.report import Cell, Section, Table

SIZES = (330, 1_000, 5_000, 10_000)
"""Pages of either book."""
KEPT = 0.6
"""Share of the bins of a page that a second reading fills equally, as at 3 % CER on both sides."""
SECONDS = 0.5
"""Each size is repeated for so long, at least three times."""


def run(out_dir: Path) -> Section:
    """Align books of several sizes with a copy, a half copy and an unrelated book; under a minute."""
    warm_up()
    return Section(
        title="Aligning two books: time and memory",
        command="python -m bench alignment",
        tables=[cost(corpus_books(corpus_folder()))],
    )


def cost(books: Iterable[CorpusBook]) -> Table:
    """The time and memory of one alignment, of the corpus's pages in a row cut into books of these sizes."""
    values, lengths = _pages(books, 2 * max(SIZES))
    rows: list[list[Cell]] = []
    for size in SIZES:
        for name, left, right in _pairs(values, lengths, size):
            align(left, right)
            times: list[float] = []
            while len(times) < 3 or sum(times) < SECONDS:
                started = time.process_time()
                align(left, right)
                times.append(time.process_time() - started)
            tracemalloc.start()
            align(left, right)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            median = 1000 * statistics.median(times)
            rows.append([f"{size:,} × {size:,}", name, round(median, 2), round(peak / 1e6, 1)])
    return Table(
        ["pages", "books", "median, ms", "memory at most, MB"], rows, "Aligning two books on one core"
    )


def _pages(books: Iterable[CorpusBook], wanted: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """The page signatures of the first so many pages, and the pages' lengths."""
    signatures: list[PageSignatures] = []
    for book in books:
        pages = sketch(book.content).pages if book.pages else None
        if pages is not None:
            signatures.append(pages)
        if sum(len(each.values) for each in signatures) >= wanted:
            break
    return np.concatenate([each.values for each in signatures]), np.concatenate(
        [each.lengths for each in signatures]
    )


def _pairs(
    values: NDArray[np.uint8], lengths: NDArray[np.uint16], size: int
) -> Iterator[tuple[str, PageSignatures, PageSignatures]]:
    rng = np.random.default_rng(size)
    kept = rng.random((size, values.shape[1])) < KEPT
    again = np.where(kept, values[:size], rng.permuted(values[:size], axis=0))
    half, half_lengths = values[size : 2 * size].copy(), lengths[size : 2 * size].copy()
    source, target = slice(size // 4, size // 4 + size // 2), slice(size // 3, size // 3 + size // 2)
    half[target], half_lengths[target] = again[source], lengths[:size][source]
    left = PageSignatures(DEFAULT_PAGES, "page", values[:size], lengths[:size])
    for name, other, long in (
        ("the same", again, lengths[:size]),
        ("half the same", half, half_lengths),
        ("unrelated", values[size : 2 * size], lengths[size : 2 * size]),
    ):
        yield name, left, PageSignatures(DEFAULT_PAGES, "page", other, long)
