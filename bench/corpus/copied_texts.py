"""Short texts of which many are copies of others, read with errors: which belong together is known.

The originals are stretches of real books, one book of each work. Every tenth stretch begins in the middle of
the one before it, so that half of it is shared, which makes no copy of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.synthesis.noise import corrupt
from bench.harness.corpus import CorpusBook
from bench.harness.report import CannotMeasure

SHORTEST, LONGEST = 3_000, 10_000
"""Characters of a stretch."""

COPIES = (0, 0, 0, 1, 1, 2, 3, 5)
"""Copies of one original after the other."""

RATES = (0.0, 0.005, 0.01, 0.02, 0.05)
"""Character error rates of one copy after the other."""

OVERLAPPING = 10
"""One stretch in so many shares a half with the one before it."""

_ROWS_TOGETHER = 1_000


@dataclass(frozen=True, slots=True)
class CopiedText:
    """An original or a copy of one."""

    id: str
    original: int  # equal for texts that belong together
    error_rate: float | None  # None: the original
    text: str


def copied_texts(books: Sequence[CorpusBook], language: str, count: int, seed: int) -> list[CopiedText]:
    """So many texts in one language, originals and copies mixed.

    The same arguments give the same texts. Raises `CannotMeasure` where the books are too few.
    """
    rng = np.random.default_rng(seed)
    rates, copies = cycle(RATES), cycle(COPIES)
    texts: list[CopiedText] = []
    for number, stretch in enumerate(_stretches(books, language, rng)):
        texts.append(CopiedText("", number, None, stretch))
        for _ in range(next(copies)):
            rate = next(rates)
            texts.append(CopiedText("", number, rate, corrupt(stretch, rate, rng)))
        if len(texts) >= count:
            order = rng.permutation(count)
            mixed = [texts[place] for place in order.tolist()]
            return [
                CopiedText(f"text-{place:06}", each.original, each.error_rate, each.text)
                for place, each in enumerate(mixed)
            ]
    raise CannotMeasure(f"The books in {language!r} have no more than {len(texts):,} of {count:,} texts.")


def write_files(texts: Sequence[CopiedText], folder: Path, files: int) -> list[Path]:
    """Parquet files with `id` and `text`, of about as many rows each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(texts)), files)):
        table = pa.table({name: [getattr(texts[row], name) for row in rows] for name in ("id", "text")})
        paths.append(folder / f"texts-{number:02}.parquet")
        pq.write_table(table, paths[-1], row_group_size=_ROWS_TOGETHER, compression="zstd")
    return paths


def _stretches(books: Sequence[CorpusBook], language: str, rng: np.random.Generator) -> Iterator[str]:
    """Stretches of the longest book of each work, in a random order of the works."""
    longest: dict[str, CorpusBook] = {}
    for book in books:
        if book.language == language and len(book.text) > len(getattr(longest.get(book.work), "text", "")):
            longest[book.work] = book
    works = list(longest.values())
    for place in rng.permutation(len(works)).tolist():
        text, start, last = works[place].text, 0, 0
        number = 0
        while True:
            length = int(np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST))))
            number += 1
            if number % OVERLAPPING == 0:
                start = (last + start) // 2
            if start + length > len(text):
                break
            yield text[start : start + length]
            last, start = start, start + length
