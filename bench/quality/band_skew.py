"""The sizes of buckets of 8 bands of 16 bits, for fingerprints of one language."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.data.signed_texts import EXCERPT, EXCERPTS_PER_WORK, sign, studied_recipes
from bench.harness.corpus import CorpusBook
from bench.harness.report import Cell, Table

BANDS = 8
LIBRARY = 1_000_000


def skew_table(books: Sequence[CorpusBook], seed: int) -> Table:
    """Chunks of English works; shares are over pairs of different works."""
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    works: list[int] = []
    english = [book for book in books if book.language == "en"]
    for work, book in enumerate(english):
        for chunk in rng.permutation(len(book.text) // EXCERPT)[:EXCERPTS_PER_WORK]:
            texts.append(book.text[chunk * EXCERPT : (chunk + 1) * EXCERPT])
            works.append(work)
    rows: list[list[Cell]] = []
    for name, recipe in studied_recipes().items():
        bands = np.stack([sign(text, recipe)[:2] for text in texts]).view(np.uint16)
        shared = _sharing(bands, np.array(works))
        largest = max(float(np.bincount(bands[:, band]).max()) / len(texts) for band in range(BANDS))
        rows.append([name, largest, *shared, *(round(each * LIBRARY) for each in shared)])
    even = [1 - (1 - keys / 65_536) ** BANDS for keys in (1, 17, 137)]
    rows.append(["even (calculated)", 1 / 65_536, *even, *(round(each * LIBRARY) for each in even)])
    return Table(
        headers=[
            "weights",
            "largest bucket, share of texts",
            *(f"strangers sharing a band, {flips} flips" for flips in range(3)),
            *(f"candidates a query among a million, {flips} flips" for flips in range(3)),
        ],
        rows=rows,
        caption=f"{BANDS} bands: {len(texts):,} chunks of {EXCERPT:,} characters, "
        f"{len(english)} English works",
    )


def _sharing(bands: NDArray[np.uint16], works: NDArray[np.int64]) -> list[float]:
    """The share of pairs of different works with a band equal but for 0, 1, 2 bits."""
    counts = np.zeros(3)
    total = 0
    for i in range(len(bands)):
        unrelated = np.flatnonzero(works[i + 1 :] != works[i]) + i + 1
        closest = np.bitwise_count(bands[unrelated] ^ bands[i]).min(axis=1, initial=16)
        counts += [(closest <= flips).sum() for flips in range(3)]
        total += unrelated.size
    return [float(count) / total for count in counts]
