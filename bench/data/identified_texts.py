"""Texts signed for identifiers: what ours are made of, wider fingerprints, and ISCC Text-Codes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.model import Content
from app.core.recipe import DEFAULT_MINHASH, DEFAULT_PAGES, minhash_recipe, page_recipe
from app.core.signatures.minhash import minhash
from app.core.signatures.shingles import shingles
from app.core.signatures.simhash import simhash
from app.core.text.normal_form import normalise
from bench.data.signed_texts import WIDEST, studied_recipes
from bench.harness.f1_curves import Words
from bench.harness.report import CannotMeasure


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedTexts:
    """The signatures of n texts; a text without one has zeros there."""

    gap: Words  # (n, 4); the first two are the 128 bits of an identifier
    minhash: NDArray[np.uint32]  # (n, 128)
    shingle_counts: NDArray[np.int64]  # (n,)
    word_counts: NDArray[np.int64]  # (n,)
    iscc: Words  # (n, 4), the 256 bits of the Text-Code


def identified(contents: Iterable[Content]) -> IdentifiedTexts:
    """Sign every text; raises CannotMeasure where `iscc-lib` is not installed."""
    for_gap = studied_recipes(WIDEST)["gap"]
    for_minhash, for_pages = minhash_recipe(DEFAULT_MINHASH), page_recipe(DEFAULT_PAGES)
    gap, values, shingle_counts, word_counts, iscc = [], [], [], [], []
    for content in contents:
        text = normalise(content)
        words = shingles(text, for_minhash, for_pages)
        fingerprint, signature = simhash(text, for_gap), minhash(words.hashes, for_minhash)
        gap.append(bytes(WIDEST // 8) if fingerprint is None else fingerprint.bits)
        values.append(np.zeros(128, np.uint32) if signature is None else signature.values)
        shingle_counts.append(0 if signature is None else signature.shingle_count)
        word_counts.append(words.token_count)
        iscc.append(text_code(content.text))
    return IdentifiedTexts(
        gap=_words(gap),
        minhash=np.stack(values),
        shingle_counts=np.array(shingle_counts, dtype=np.int64),
        word_counts=np.array(word_counts, dtype=np.int64),
        iscc=_words(iscc),
    )


def text_code(text: str) -> bytes:
    """The 256 bits of the ISCC Text-Code (ISO 24138) of a text, as `iscc-lib` computes them."""
    try:
        import iscc_lib
    except ImportError:
        raise CannotMeasure("Install the extra `iscc` to compare with the ISCC Text-Code.") from None
    *_, body = iscc_lib.iscc_decode(iscc_lib.gen_text_code_v0(text, WIDEST).iscc)
    return bytes(body)


def _words(fingerprints: list[bytes]) -> Words:
    return np.frombuffer(b"".join(fingerprints), dtype=np.uint64).reshape(-1, WIDEST // 64)
