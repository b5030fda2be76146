"""Texts with their true cosines, and the time that signing and comparing them takes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from research.cosine.letter_grams import Rows, cosines, gram_counts, unit
from research.cosine.letter_texts import Texts, book_texts, news_folder, news_texts

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One kind of text; 3-gram counts of what is learnt from and of what is tested on."""

    name: str
    learning: Rows
    texts: Sequence[str]
    units: Rows  # of `texts`, at length 1
    columns: Rows  # the same, one row a 3-gram
    truth: Rows  # the cosine of every two of `texts`

    @property
    def described(self) -> str:
        """Numbers of texts and pairs."""
        count = len(self.texts)
        return (
            f"{self.name}: {count:,} texts, {count * (count - 1) // 2:,} pairs; "
            f"learnt from {len(self.learning):,} others"
        )


def sample(texts: Texts) -> Sample:
    """The texts counted."""
    units = unit(gram_counts(texts.testing))
    return Sample(
        name=texts.name,
        learning=gram_counts(texts.learning),
        texts=texts.testing,
        units=units,
        columns=np.ascontiguousarray(units.T),
        truth=cosines(units),
    )


def news_sample() -> Sample:
    """News20; raises CannotMeasure where it is not at hand."""
    return sample(news_texts(news_folder()))


def samples() -> Sequence[Sample]:
    """News20 and books; raises CannotMeasure where either is not at hand."""
    return news_sample(), sample(book_texts())


@dataclass(frozen=True, slots=True)
class Timed:
    """Processor time in microseconds."""

    per_text: float
    per_pair: float


def microseconds(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and the processor time it took."""
    started = time.process_time()
    result = work()
    return result, 1e6 * (time.process_time() - started)
