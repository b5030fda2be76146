"""Writes the golden vectors.

    python -m tests.vectors.generate

A recipe never changes its meaning, so for a recipe that was released this must write what is there already.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from bookprint_core.index.fingerprints import band_keys, probes
from bookprint_core.jit import mix32, mix64
from bookprint_core.model import Content, Fingerprint, MinHashBits
from bookprint_core.recipe import (
    DEFAULT_FINGERPRINT,
    DEFAULT_MINHASH,
    DEFAULT_PAGES,
    FINGERPRINT_RECIPES,
    minhash_recipe,
    page_recipe,
)
from bookprint_core.signatures import identifier, json_codec as signatures
from bookprint_core.signatures.identifier import to_number
from bookprint_core.signatures.kernels import SIGN_STEP
from bookprint_core.signatures.minhash import lowest_bits, permutations
from bookprint_core.signatures.shingles import shingles
from bookprint_core.signatures.sketch import signature_key, sketch
from bookprint_core.text.content import content_from_pages, content_from_text, content_key
from bookprint_core.text.normal_form import normalise
from tests.vectors import texts
from tests.vectors.unicode_table import KIND_RANGES

HERE = Path(__file__).parent
STUDIED = ("tf-simhash128-v1",)

NORMAL_FORMS = (
    "(Nice) Day !",
    "İstanbul, STRASSE, Straße ẞ, ǅ, ﬁn, ½, ①, H₂O, ℡",
    "Ὀδυσσεύς ΟΔΥΣΣΕΥΣ ᾳ Άά",
    "exam-\nple, well-\r\n  known, over-\fleaf, page-\n\fend",
    "Jean-\nPaul, 12-\nth, dash--\nend, gap-\n\nend",
    "soft\u00adhyphen, line\u00ad\nend, dis\u2010\n\tjoin, non\u2011breaking",
    "zero\u200bwidth, nbsp\u00a0here, a\u2028b",
    "हिन्दी में क्षत्रिय",
    "مُحَمَّد ـ كتاب",
    "a\u0301 e\u0323\u0302 \u0301x 1\u0301",
    "漢字、\n漢字 kana カナ ｶﾞｷﾞ か\u3099 ㌀ 漢 a 漢",
    "ภาษา ไทย กำ",
    "한국어 ㅎㅏㄴ 한",
    "𝒳𝔸 𠀀\n𠀁 😀 emoji",
    "١٢٣ ४५ Ⅻ ㎏ ﷺ",
    "…",
)


def _written(name: str, document: Any) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (HERE / name).write_text(text, encoding="utf-8")


def normal_forms() -> Any:
    """Texts and their normal forms."""
    forms = []
    for text in NORMAL_FORMS:
        content = Content(
            content_from_text("x" + text).text[1:], text.count("\f") + 1 if "\f" in text else None
        )
        normal = normalise(content)
        forms.append({"text": text, "normal": str(normal), "page_starts": normal.page_starts.tolist()})
    ranges = {f"kind {kind}": [list(pair) for pair in pairs] for kind, pairs in KIND_RANGES.items()}
    return {"kinds_of_script": ranges, "forms": forms}


def hashes() -> Any:
    """The building blocks: mixing functions, n-grams, signs, shingles, permutations."""
    recipe = minhash_recipe(DEFAULT_MINHASH)
    a, b = permutations(recipe)
    text = "the quick brown fox jumps over the lazy dog and 漢字の物語を読む人 ends"
    shingled = shingles(normalise(Content(text, None)), recipe, page_recipe(DEFAULT_PAGES))
    return {
        "mix32": {str(x): int(mix32(np.uint32(x))) for x in (0, 1, 2, 0x12345678, 0xFFFFFFFF)},
        "mix64": {str(x): int(mix64(np.uint64(x))) for x in (0, 1, 2, 0x123456789ABCDEF0, (1 << 64) - 1)},
        "ngrams": [_ngram(text) for text in ("the ", "fox ju", "漢字", "한국", "𠀀𠀁")],
        "signs": {str(cell): f"{_sign(cell):064x}" for cell in (0, 1, 2, 131071, 262143)},
        "shingles": {
            "text": text,
            "token_count": shingled.token_count,
            "hashes": [f"{h:016x}" for h in shingled.hashes.tolist()],
            "low_32_bits": [h & 0xFFFFFFFF for h in shingled.hashes.tolist()],
            "minhash_values": [int(value) for value in _minhash_values(shingled.hashes)],
        },
        "permutations": {"a": a.tolist(), "b": b.tolist()},
    }


def _ngram(text: str) -> Any:
    factors = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D)
    total = sum(ord(char) * factor for char, factor in zip(text, factors, strict=False)) & 0xFFFFFFFF
    h = int(mix32(np.uint32(total)))
    return {"text": text, "hash": h, "cell": h >> 14, "page_bin": h >> 25}


def _sign(cell: int) -> int:
    words = [int(mix64(np.uint64(((cell + 1) * SIGN_STEP + w) % (1 << 64)))) for w in range(4)]
    return sum(word << 64 * (3 - w) for w, word in enumerate(words))


def _minhash_values(shingle_hashes: Any) -> Any:
    from bookprint_core.signatures.minhash import minhash

    signature = minhash(shingle_hashes, minhash_recipe(DEFAULT_MINHASH))
    assert signature is not None
    return signature.values


def _books() -> dict[str, Content]:
    books = {
        f"{script}, {words} words": content_from_text(texts.text(script, words, seed))
        for seed, script in enumerate(texts.SYLLABLES)
        for words in ((2200,) if script == "thai" else (1400,))
    }
    books["latin, 5 pages, one blank"] = content_from_pages(texts.pages("latin", 5, 330, 100))
    books["chinese, 4 pages, one blank"] = content_from_pages(texts.pages("chinese", 4, 700, 200))
    mixture = " ".join(texts.text(script, 260, 300) for script in texts.SYLLABLES)
    books["all scripts together"] = content_from_text(mixture)
    return books | _degenerate()


def _degenerate() -> dict[str, Content]:
    sentence = "The cat sat on the mat and looked at the moon. "
    return {
        "one letter": content_from_text("?a!"),
        "one digit": content_from_text("1"),
        "four words": content_from_text("only four words here"),
        "five words": content_from_text("there are five words here"),
        "seven Han characters": content_from_text("床前明月光疑是"),
        "eight Han characters": content_from_text("床前明月光，疑是地"),
        "two hundred words": content_from_text(texts.text("latin", 200, 400)),
        "one sentence 300 times": content_from_text(sentence * 300),
        "one letter 5000 times": content_from_text("a" * 5000),
        "one letter and blank 3000 times": content_from_text("a " * 3000),
        "blank pages around one word": content_from_pages(["", "", "word", "", ""]),
        "a word across pages": content_from_pages(["the be-", "ginning of pages"]),
        "Han across pages": content_from_pages(["漢字", "漢字", "", "字"]),
    }


def _signed(content: Content) -> Any:
    normal = str(normalise(content))
    made = sketch(content)
    # Places belong to no recipe.
    if made.sample is not None:
        made = replace(made, sample=replace(made.sample, places=None))
    studied = {name: sketch(content, fingerprint_recipe=name).fingerprint for name in STUDIED}
    return {
        "text": content.text,
        "page_count": content.page_count,
        "content_key": content_key(content).hex(),
        "normal_form_sha256": sha256(normal.encode()).hexdigest(),
        "signatures": signatures.encode(made),
        "signature_key": signature_key(made).hex(),
        "studied_fingerprints": {
            name: fingerprint and fingerprint.hex for name, fingerprint in studied.items()
        },
        "identifier": made.fingerprint and identifier.encode(made.fingerprint, made.word_count),
    }


def books() -> Any:
    """Texts in many scripts, degenerate ones among them, and all their signatures."""
    return {name: _signed(content) for name, content in _books().items()}


def identifiers() -> Any:
    """Identifiers, what they say, and how far they are apart; and strings that are none."""
    bits = [bytes(16), bytes(range(16)), bytes([255] * 16), bytes.fromhex("c0ffee00" * 4)]
    recipes = [name for name, recipe in FINGERPRINT_RECIPES.items()]
    valid = []
    for recipe in recipes:
        for place, each in enumerate(bits):
            words = (1, 1000, 95_012, 40_000_000)[place]
            encoded = identifier.encode(Fingerprint(recipe, each), words)
            decoded = identifier.decode(encoded)
            valid.append(
                {
                    "identifier": encoded,
                    "recipe": recipe,
                    "hex": each.hex(),
                    "word_count": words,
                    "decoded_word_count": decoded.word_count,
                    "bands": band_keys(each),
                    "distance_to_first": identifier.distance(
                        encoded, identifier.encode(Fingerprint(recipe, bits[0]), 1)
                    ),
                }
            )
    good = valid[1]["identifier"]
    damaged = [good[:-1], good + "0", good[4:], "bp2" + good[3:], good[:10] + "u" + good[11:]]
    damaged += [good[:8] + good[9] + good[8] + good[10:], good[:20] + "zz" + good[22:], ""]
    probed = probes(bits[1], 1)
    return {
        "valid": valid,
        "same_as_second": [
            good.upper(),
            good[:12] + "-" + good[12:],
            good[:4] + good[4:].replace("0", "O").replace("1", "I"),
            good[:4] + good[4:].replace("1", "l"),
        ],
        "invalid": damaged,
        "probe_keys_one_flip": np.stack([probed.partitions, probed.values], axis=1).tolist(),
    }


def long_identifiers() -> Any:
    """Long identifiers and their parts; MinHash values and their bits."""
    patterns = [bytes(16), bytes(range(16)), bytes([255] * 16), bytes.fromhex("c0ffee00" * 4)]
    valid = []
    for place, bits in enumerate(patterns):
        words, shingles_in_it = ((1, 1), (1000, 996), (95_012, 94_012), (40_000_000, 12_345_678))[place]
        minhash = MinHashBits(DEFAULT_MINHASH, patterns[place - 1], shingles_in_it)
        encoded = identifier.encode_long(Fingerprint(DEFAULT_FINGERPRINT, bits), minhash, words)
        decoded = identifier.decode(encoded)
        assert decoded.minhash is not None
        number = to_number(encoded[4:], 60)
        assert number is not None
        valid.append(
            {
                "identifier": encoded,
                "recipe_code": number >> 292,
                "hex": bits.hex(),
                "minhash_bits": minhash.bits.hex(),
                "length_code": number >> 28 & 0xFF,
                "shingle_code": number >> 16 & 0xFFF,
                "check": number & 0xFFFF,
                "word_count": words,
                "shingle_count": shingles_in_it,
                "decoded_word_count": decoded.word_count,
                "decoded_shingle_count": decoded.minhash.shingle_count,
            }
        )
    text = texts.text("latin", 1400, 1)
    signature = sketch(content_from_text(text)).minhash
    assert signature is not None
    good = valid[1]["identifier"]
    return {
        "valid": valid,
        "invalid": [good[:-1], good + "0", "bp1" + good[3:], good[:10] + "u" + good[11:], ""],
        "minhash": {"values": signature.values.tolist(), "bits": lowest_bits(signature).bits.hex()},
    }


FILES: dict[str, Callable[[], Any]] = {
    "normal_forms.json": normal_forms,
    "hashes.json": hashes,
    "books.json": books,
    "identifiers.json": identifiers,
    "long_identifiers.json": long_identifiers,
}


def main() -> None:
    """Writes all files."""
    for name, make in FILES.items():
        _written(name, make())


if __name__ == "__main__":
    main()
