"""Messages of News20 with their true cosines, the errors of estimates, and what signing them takes."""

import gzip
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench.harness.report import CannotMeasure
from research.cosine.letter_grams import Rows, cosines, gram_counts, unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Texts to learn references from and others to test on, as 3-gram counts."""

    learning: Rows
    texts: Sequence[str]
    units: Rows  # of `texts`, at length 1
    columns: Rows  # the same, one row a 3-gram
    truth: Rows  # the cosine of every two of `texts`

    @classmethod
    def of(cls, learning: Sequence[str], testing: Sequence[str]) -> "Sample":
        """Count the texts."""
        units = unit(gram_counts(testing))
        return cls(gram_counts(learning), testing, units, np.ascontiguousarray(units.T), cosines(units))

    @property
    def described(self) -> str:
        """Numbers of texts and pairs."""
        count, pairs = len(self.texts), len(self.texts) * (len(self.texts) - 1) // 2
        return f"News20: {count:,} texts, {pairs:,} pairs; learnt from {len(self.learning):,} others"


def news_folder() -> Path:
    """Return the folder with News20 messages; raises CannotMeasure where there is none."""
    folder = os.environ.get("BOOKPRINT_NEWS20")
    if not folder or not (Path(folder) / "messages.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_NEWS20 to a folder that holds messages.jsonl.gz.")
    return Path(folder)


def news_texts(folder: Path) -> tuple[list[str], list[str]]:
    """Return the messages to learn from and to test on: the collection's own division by date."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    with gzip.open(folder / "messages.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            parts[message["part"]].append(message["text"])
    return parts["train"], parts["test"]


def news_sample() -> Sample:
    """Return News20; raises CannotMeasure where it is not at hand."""
    return Sample.of(*news_texts(news_folder()))


def microseconds(work: Callable[[], T]) -> tuple[T, float]:
    """Return what the work returns, and the processor time it took."""
    started = time.process_time()
    result = work()
    return result, 1e6 * (time.process_time() - started)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of similarities over all pairs of two different texts."""

    mean_absolute: float
    mean_squared: float
    variance: float
    bias: float  # the mean error
    pairs: int


def errors(similarities: Rows, truth: Rows) -> Errors:
    """Return the errors of the pairs above the diagonal; both matrices (texts, texts).

    Equation 2 of Mohammadi and Nikoukaran (2018) has no absolute value and divides by the documents: read as
    the mean over pairs. Equation 3, their variance, is read as the mean square: only so does their simhash
    row come out.
    """
    upper = np.triu_indices(len(truth), 1)
    differences = similarities[upper].astype(np.float64) - truth[upper]
    return Errors(
        mean_absolute=float(np.abs(differences).mean()),
        mean_squared=float((differences**2).mean()),
        variance=float(differences.var()),
        bias=float(differences.mean()),
        pairs=differences.size,
    )
