"""Methods in use by libraries and developers: ISCC Text-Codes, datasketch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import iscc_lib
import numpy as np
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray

from bench.harness.corpus import CorpusBook
from research.identifiers.method import BitDistance, Scores

ISCC_SIMILARITY = 0.75
"""Minimum share of equal bits at which iscc-search 0.3.3 calls codes similar."""
LSH_THRESHOLD = 0.5
"""Threshold of the first example in datasketch's documentation, with 128 permutations."""
SHINGLE_WORDS = 5

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class EqualBands:
    """datasketch's `MinHashLSH`: copies have an equal band of MinHash values."""

    name: str
    threshold: float = LSH_THRESHOLD
    least: float = 1.0

    def sign(self, book: CorpusBook) -> NDArray[np.unsignedinteger] | None:
        words = _WORD.findall(book.text.lower())
        shingles = {
            " ".join(words[start : start + SHINGLE_WORDS]).encode()
            for start in range(len(words) - SHINGLE_WORDS + 1)
        }
        if not shingles:
            return None
        minhash = MinHash(num_perm=128)
        minhash.update_batch(shingles)
        return np.asarray(minhash.hashvalues)

    def size(self, signature: NDArray[np.unsignedinteger]) -> int:
        return signature.nbytes

    def scores(
        self, these: Sequence[NDArray[np.unsignedinteger]], others: Sequence[NDArray[np.unsignedinteger]]
    ) -> Scores:
        lsh = MinHashLSH(threshold=self.threshold, num_perm=128)
        rows, columns = (
            np.stack(each)[:, : lsh.b * lsh.r].reshape(-1, lsh.b, lsh.r) for each in (these, others)
        )
        return np.array([(columns == each).all(axis=2).any(axis=1) for each in rows], dtype=np.float64)

    def rule(self, least: float) -> str:
        return f"one band equal, threshold {self.threshold}"


def text_code_within(name: str, bits: int) -> BitDistance:
    """Return the method of ISCC Text-Codes of this many bits, within the distance of its search server."""
    most = round((1 - ISCC_SIMILARITY) * bits)

    def sign(book: CorpusBook) -> bytes:
        *_, body = iscc_lib.iscc_decode(iscc_lib.gen_text_code_v0(book.text, 256).iscc)
        return bytes(body)[: bits // 8]

    return BitDistance(name, bits, sign, most)
