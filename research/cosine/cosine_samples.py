"""Messages of News20 with their true cosines, errors of estimates, and time of signing."""

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
    """Texts for learning references and texts for testing, as 3-gram counts."""

    learning: Rows
    texts: Sequence[str]
    units: Rows  # counts of `texts`, at length 1
    columns: Rows  # `units` with one row per 3-gram
    truth: Rows  # cosine of every pair of `texts`

    @classmethod
    def of(cls, learning: Sequence[str], testing: Sequence[str]) -> "Sample":
        """Count the texts."""
        units = unit(gram_counts(testing))
        return cls(gram_counts(learning), testing, units, np.ascontiguousarray(units.T), cosines(units))

    @property
    def described(self) -> str:
        """Return the numbers of texts and pairs in words."""
        count, pairs = len(self.texts), len(self.texts) * (len(self.texts) - 1) // 2
        return f"News20: {count:,} texts, {pairs:,} pairs; learnt from {len(self.learning):,} others"


def news_folder() -> Path:
    """Return the folder with News20 messages; raises CannotMeasure if there is none."""
    folder = os.environ.get("BOOKPRINT_NEWS20")
    if not folder or not (Path(folder) / "messages.jsonl.gz").exists():
        raise CannotMeasure("Set BOOKPRINT_NEWS20 to a folder with messages.jsonl.gz.")
    return Path(folder)


def news_texts(folder: Path) -> tuple[list[str], list[str]]:
    """Return the messages for learning and for testing, by the collection's own division by date."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    with gzip.open(folder / "messages.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            parts[message["part"]].append(message["text"])
    return parts["train"], parts["test"]


def news_sample() -> Sample:
    """Return News20; raises CannotMeasure if it is not available."""
    return Sample.of(*news_texts(news_folder()))


def microseconds(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of the work and its processor time."""
    started = time.process_time()
    result = work()
    return result, 1e6 * (time.process_time() - started)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of similarities over all pairs of different texts."""

    mean_absolute: float
    mean_squared: float
    variance: float
    bias: float  # the mean error
    pairs: int


def errors(similarities: Rows, truth: Rows) -> Errors:
    """Return the errors of the pairs above the diagonal; both matrices are (texts, texts).

    Equation 2 of Mohammadi and Nikoukaran (2018) has no absolute value and divides by the documents; here it
    is the mean over pairs. Equation 3, their variance, is here the mean square, which alone reproduces their
    simhash row.
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
