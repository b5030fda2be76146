"""Identifiers alone, compared offline as `bookprint compare` does: and what the verdicts are worth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.matching.identifier_comparison import SAME, UNSURE, deviation, expected_distances
from app.core.model import Content
from app.core.signatures.identifier import decoded_length, length_code
from app.core.signatures.sketch import sketch
from app.core.text.content import content_from_text
from bench.data.hard_set import hard_set, one_per_work
from bench.data.real_pairs import labels
from bench.harness.corpus import CorpusBook, Pair, corpus_books, corpus_folder, corpus_pairs
from bench.harness.report import Cell, Section, Table

HARD_SEED, CHUNKS_PER_WORK = 20261120, 3
"""As in the benchmark `fingerprints`."""
RELATED = ("same_work", "contains", "overlaps")
KINDS = {"`bp1:`": False, "`bp2:`": True}
"""The identifiers, and whether they hold a bit of each MinHash value."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedPairs:
    """Pairs of the texts of a set, in arrays of one length."""

    name: str
    texts: int
    right: Bools  # versions of one text, or really related
    words: NDArray[np.int32]  # of the shorter text, as an identifier says it
    distance: NDArray[np.int16]  # bits of 128
    unequal: NDArray[np.int16]  # MinHash bits of 128

    def deviations(self, with_minhash: bool) -> NDArray[np.float64]:
        """How far each pair lies from strangers of its length, in their standard deviations."""
        unequal = self.unequal.astype(np.float64) if with_minhash else None
        return deviation(self.distance.astype(np.float64), unequal, expected_distances(self.words))

    def verdicts(self, with_minhash: bool) -> tuple[Bools, Bools]:
        """The pairs that `bookprint compare` calls the same by their content, and those left unsure."""
        together, alone = self.deviations(with_minhash), self.deviations(with_minhash=False)
        same = (together <= SAME) & (alone <= UNSURE)
        return same, ~same & (together <= UNSURE)


def run(out_dir: Path) -> Section:
    """Sign the corpus and the hard set, and compare all their pairs; some minutes on one core."""
    folder = corpus_folder()
    books = list(corpus_books(folder))
    sets = [real_pairs(books, corpus_pairs(folder)), hard_pairs(books)]
    real, hard = (f"{int(each.right.sum()):,} of {each.right.size:,}" for each in sets)
    return Section(
        title="Identifiers alone",
        command="python -m bench identifiers_alone",
        tables=[_verdict_table(sets)],
        notes=[
            f"F1 is that of pairs. Real pairs: all pairs of the corpus's books, of which {real} are copies, "
            "parts or overlaps; series, translations and books of one author count against. Hard set: that "
            f"of `python -m bench fingerprints`, {hard} pairs. The strangers' model, and that one "
            "fingerprint bit counts as two MinHash bits, were chosen by hand on such sets."
        ],
    )


def real_pairs(books: Sequence[CorpusBook], labelled: Sequence[Pair]) -> IdentifiedPairs:
    """Every pair of the corpus's books, but unlabelled ones of one work."""
    names = labels(books, labelled)
    right = np.isin(names, RELATED)
    return _pairs("real pairs", (book.content for book in books), right, names != "")


def hard_pairs(books: Sequence[CorpusBook]) -> IdentifiedPairs:
    """Every pair of texts of the hard set."""
    versions = list(hard_set(one_per_work(books), CHUNKS_PER_WORK, HARD_SEED))
    chunks = np.array([each.book for each in versions])
    right = np.concatenate([chunks[row + 1 :] == chunks[row] for row in range(chunks.size)])
    contents = (content_from_text(each.text) for each in versions)
    return _pairs("hard set", contents, right, np.ones(right.size, np.bool_))


def _pairs(name: str, contents: Iterable[Content], right: Bools, kept: Bools) -> IdentifiedPairs:
    bits, values, lengths = [], [], []
    for content in contents:
        made = sketch(content)
        bits.append(bytes(16) if made.fingerprint is None else made.fingerprint.bits)
        values.append(np.zeros(128, np.uint32) if made.minhash is None else made.minhash.values)
        lengths.append(decoded_length(length_code(made.word_count)))
    said = np.array(lengths, dtype=np.int32)
    minhash = np.packbits((np.stack(values) & np.uint32(1)).astype(np.uint8), axis=1)
    return IdentifiedPairs(
        name=name,
        texts=said.size,
        right=right[kept],
        words=np.concatenate([np.minimum(said[row], said[row + 1 :]) for row in range(said.size)])[kept],
        distance=_distances(np.frombuffer(b"".join(bits), dtype=np.uint64).reshape(-1, 2))[kept],
        unequal=_distances(minhash.view(np.uint64))[kept],
    )


def _distances(words: NDArray[np.uint64]) -> NDArray[np.int16]:
    rows = [np.bitwise_count(words[row + 1 :] ^ words[row]).sum(axis=1) for row in range(len(words))]
    return np.concatenate(rows).astype(np.int16)


def _verdict_table(sets: Sequence[IdentifiedPairs]) -> Table:
    """The rule as it is shipped."""
    rows: list[list[Cell]] = []
    for pairs in sets:
        for name, with_minhash in KINDS.items():
            same, unsure = pairs.verdicts(with_minhash)
            hits = int((same & pairs.right).sum())
            precision, recall = hits / max(1, int(same.sum())), hits / int(pairs.right.sum())
            f1 = 2 * precision * recall / (precision + recall)
            left = [float(unsure[of].mean()) for of in (pairs.right, ~pairs.right)]
            rows.append([pairs.name, pairs.texts, name, precision, recall, f1, *left])
    return Table(
        ["set", "texts", "identifier", "precision", "recall", "F1", "unsure, right", "unsure, others"],
        rows,
        "Verdicts of `bookprint compare`: pairs called the same, and shares of pairs left unsure",
    )
