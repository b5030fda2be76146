"""Every pair of the texts of a set, as two identifiers compare them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.matching.identifier_comparison import (
    SAME,
    SAME_WITH_ISBN,
    UNSURE,
    deviation,
    expected_distances,
)
from app.core.model import Content
from app.core.signatures.identifier import decoded_length, length_code
from app.core.text.content import content_from_text
from bench.data.hard_set import hard_set, one_per_work
from bench.data.identified_texts import identified
from bench.data.paper_sets import CHUNKS_PER_WORK, HARD_SEED, SetPlan, signed_set
from bench.data.real_pairs import labels
from bench.harness.corpus import CorpusBook, Pair
from bench.harness.f1_curves import Words

SHORT = SetPlan("short texts", 600, characters=11_000)
WHOLE = SetPlan("whole books", 80, "whole books")
RELATED = ("same_work", "contains", "overlaps")

Numbers = NDArray[np.int32]
Distances = NDArray[np.int16]


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedPairs:
    """The pairs of a set, in arrays of one length; in each pair the first text stands before the second."""

    name: str
    texts: int
    first: Numbers  # its group: what must not be parted when works are halved
    second: Numbers
    right: NDArray[np.bool_]  # versions of one text, or really related
    words: Numbers  # of the shorter text, as an identifier says it
    distance: Distances  # bits of 128
    unequal: Distances  # MinHash bits of 128
    wide: Distances | None = None  # bits of gap-simhash 256
    iscc: Distances | None = None  # bits of the Text-Code

    def deviations(self, *, with_minhash: bool) -> NDArray[np.float64]:
        """How far each pair lies from strangers of its length, in their standard deviations."""
        expected = expected_distances(self.words)
        unequal = self.unequal.astype(np.float64) if with_minhash else None
        return deviation(self.distance.astype(np.float64), unequal, expected)

    def verdicts(self, *, with_minhash: bool) -> "Verdicts":
        """What `bookprint compare` says of each pair."""
        together, alone = self.deviations(with_minhash=with_minhash), self.deviations(with_minhash=False)
        same = (together <= SAME) & (alone <= UNSURE)
        return Verdicts(same, ~same & (together <= UNSURE), same | (together <= SAME_WITH_ISBN))


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What is said of the pairs of a set."""

    same: NDArray[np.bool_]  # by their content
    unsure: NDArray[np.bool_]
    same_with_isbn: NDArray[np.bool_]  # if they have one ISBN


def real_pairs(books: Sequence[CorpusBook], labelled: Sequence[Pair]) -> IdentifiedPairs:
    """Every pair of the corpus's books, but unlabelled ones of one work."""
    texts = identified(book.content for book in books)
    names = labels(books, labelled)
    right = np.isin(names, RELATED)
    places = np.stack(np.triu_indices(len(books), 1))
    group = np.arange(len(books), dtype=np.int32)
    # Works that share text stay together; other copies of one work do so by being related.
    for one, other in places[:, right].T:
        group[group == group[other]] = group[one]
    pairs = _pairs("real pairs", group, right, texts.gap, texts.minhash, texts.word_counts, texts.iscc)
    return _kept(pairs, names != "")


def hard_pairs(books: Sequence[CorpusBook]) -> IdentifiedPairs:
    """Every pair of texts of the hard set, with all that identifiers are compared by."""
    numbers: list[tuple[int, int]] = []

    def content(work: int, book: int, text: str) -> Content:
        numbers.append((work, book))
        return content_from_text(text)

    versions = hard_set(one_per_work(books), CHUNKS_PER_WORK, HARD_SEED)
    texts = identified(content(each.work, each.book, each.text) for each in versions)
    works, chunks = np.array(numbers, dtype=np.int32).T
    right = equal(chunks)
    return _pairs("hard set", works, right, texts.gap, texts.minhash, texts.word_counts, texts.iscc)


def paper_pairs(plan: SetPlan) -> IdentifiedPairs:
    """Every pair of texts of a set made as in Vladimir et al.; shingles stand for words."""
    texts = signed_set(plan)
    right = equal(texts.books.astype(np.int32))
    counts = texts.shingle_counts.astype(np.int64)
    return _pairs(plan.name, texts.works.astype(np.int32), right, texts.gap, texts.minhash, counts)


def _pairs(
    name: str,
    groups: Numbers,
    right: NDArray[np.bool_],
    gap: Words,
    minhash: NDArray[np.uint32],
    word_counts: NDArray[np.int64],
    iscc: Words | None = None,
) -> IdentifiedPairs:
    bits = np.packbits((minhash & np.uint32(1)).astype(np.uint8), axis=1).view(np.uint64)
    said = np.array([decoded_length(length_code(count)) for count in word_counts.tolist()], dtype=np.int32)
    return IdentifiedPairs(
        name=name,
        texts=groups.size,
        first=np.repeat(groups, np.arange(groups.size)[::-1]),
        second=np.concatenate([groups[row + 1 :] for row in range(groups.size)]),
        right=right,
        words=np.concatenate([np.minimum(said[row], said[row + 1 :]) for row in range(said.size)]),
        distance=_distances(np.ascontiguousarray(gap[:, :2])),
        unequal=_distances(bits),
        wide=None if iscc is None else _distances(gap),
        iscc=None if iscc is None else _distances(iscc),
    )


def _distances(words: Words) -> Distances:
    rows = [np.bitwise_count(words[row + 1 :] ^ words[row]).sum(axis=1) for row in range(len(words))]
    return np.concatenate(rows).astype(np.int16)


def equal(numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether the two numbers of each pair of texts are equal."""
    return np.concatenate([numbers[row + 1 :] == numbers[row] for row in range(numbers.size)])


def _kept(pairs: IdentifiedPairs, kept: NDArray[np.bool_]) -> IdentifiedPairs:
    arrays: dict[str, Any] = {
        name: value[kept] for name, value in asdict(pairs).items() if isinstance(value, np.ndarray)
    }
    return replace(pairs, **arrays)
