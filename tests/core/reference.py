"""The signatures once more, in plain Python from the rules in tests/vectors/README.md: slow and independent.

It shares no code with bookprint_core but the lists of code points that define the kinds of script.
"""

import json
import unicodedata
from base64 import b64encode
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from math import floor, sqrt
from pathlib import Path

from tests.core.reference_text import DENSE, UNSPACED, form_of as form_of, kinds

FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D)
BASE = 0x9E3779B97F4A7C15
SIGN_STEP = 0xD1B54A32D192ED03
VECTORS = Path(__file__).parents[1] / "vectors"
PERMUTATIONS = json.loads((VECTORS / "hashes.json").read_text(encoding="utf-8"))["permutations"]
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def mix32(h: int) -> int:
    h = (h ^ h >> 16) * 0x85EBCA6B & M32
    h = (h ^ h >> 13) * 0xC2B2AE35 & M32
    return h ^ h >> 16


def mix64(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & M64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return h ^ h >> 33


def ngrams(normal: str, lengths: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """(position, hash) of each n-gram of a slice of a normal form."""
    of = kinds(normal)
    for i in range(start, end):
        n = lengths[of[i]]
        if i + n <= end:
            yield i, mix32(sum(ord(normal[i + k]) * FACTORS[k] for k in range(n)) & M32)


def tokens(normal: str) -> list[tuple[int, int, int]]:
    """(start, end, weight) of each token of a normal form."""
    of = kinds(normal)
    spans = []
    i = 0
    while i < len(normal):
        if normal[i] == " ":
            i += 1
        elif of[i] in (DENSE, UNSPACED):
            spans.append((i, i + 1, 5))
            i += 1
        else:
            j = i
            while j < len(normal) and normal[j] != " " and of[j] not in (DENSE, UNSPACED):
                j += 1
            spans.append((i, j, 8))
            i = j
    return spans


def shingles(normal: str) -> list[int]:
    """The 64-bit hash of each shingle, in order."""
    hashes = []
    all_tokens = tokens(normal)
    for first in range(len(all_tokens)):
        weight = 0
        for _, end, heavy in all_tokens[first:]:
            weight += heavy
            if weight >= 40:
                running = 0
                for char in normal[all_tokens[first][0] : end]:
                    running = (running * BASE + ord(char)) & M64
                hashes.append(mix64(running))
                break
    return hashes


CLASSES = {letter: group[0] for group in ("iltfj1yr", "nuvhbmw68", "eco0", "gq9", "sz25") for letter in group}
SHAPES = "الٱ ٮبتثنيئپٹںی حجخچ دذڈ رزژڑ سش صض طظ عغ ڡفق کكگ هھہۀۂۃە وؤ"
ARABIC_CLASSES = {letter: group[0] for group in SHAPES.split() for letter in group}
FOLDED = {
    "æ": "ae", "œ": "oe", "ß": "ss", "þ": "th", "ð": "d", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ς": "σ",
    "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه",
    "ё": "е", "ѣ": "е", "і": "и", "ѵ": "и", "ѳ": "ф", "й": "и", "ъ": "", " ": "", "\u0670": "",
}  # fmt: skip


def symbols(normal: str) -> list[int]:
    """The code points of a normal form with letters folded, none equal to the one before."""
    classes = CLASSES | ARABIC_CLASSES
    folded: list[int] = []
    for char in normal:
        point = ord(char)
        mark = 0x300 <= point < 0x370 or 0x610 <= point < 0x61B or 0x64B <= point < 0x660
        marked = 0xC0 <= point < 0x250 or 0x370 <= point < 0x530 or 0x1E00 <= point < 0x2000
        plain = unicodedata.normalize("NFD", char)[0] if marked else char
        for letter in "" if mark else FOLDED.get(char, plain):
            symbol = ord(classes.get(letter, letter))
            if folded[-1:] != [symbol]:
                folded.append(symbol)
    return folded


def grams(normal: str) -> list[int]:
    """The 64-bit hash of each gram of folded letters, in order."""
    folded, hashes = symbols(normal), []
    for first in range(len(folded)):
        weight = running = 0
        for symbol in folded[first:]:
            dense = 0x2E80 <= symbol < 0xD7B0 or 0xF900 <= symbol < 0xFB00 or symbol >= 0x20000
            weight += 45 if dense else 20 if 0x600 <= symbol < 0x700 else 18
            running = (running * BASE + symbol) & M64
            if weight >= 360:
                hashes.append(mix64(running))
                break
    return hashes


def gram_sample(normal: str) -> tuple[int, list[int]]:
    """The level and the hashes of a sample of grams, `char20-sample256-v2`."""
    hashes = sorted(set(grams(normal)))
    for level in range(254, -1, -1):
        count = bisect_left(hashes, (8 + level % 8) << level // 8 + 29)
        if count <= 256:
            return level, hashes[:count]
    raise AssertionError("no level keeps so few")


def single_words(normal: str) -> int:
    """How many words occur once; three characters in a row are a word of a script without spaces."""
    all_tokens, places = tokens(normal), [0] * (1 << 18)
    for number, (start, end, heavy) in enumerate(all_tokens):
        if heavy == 5:
            if number < 2 or all_tokens[number - 2][0] != end - 3:
                continue
            start = end - 3
        running = 0
        for char in normal[start:end]:
            running = (running * BASE + ord(char)) & M64
        places[((running ^ running >> 32) * BASE & M64) >> 46] += 1
    return min(places.count(1) * len(places) // max(places.count(0), 1), len(all_tokens))


def minhash(hashes: Sequence[int], a: Sequence[int], b: Sequence[int]) -> list[int]:
    mixed = {mix32(h & M32) for h in hashes}
    return [min((x * h + y) & M32 for h in mixed) for x, y in zip(a, b, strict=True)]


def _exp_minus(x: float) -> float:
    x = min(x, 64.0) / 256.0
    series = 1.0
    for k in range(12, 0, -1):
        series = 1.0 - x / float(k) * series
    for _ in range(8):
        series = series * series
    return series


def gap_weight(count: int, near: int, window: int, length: int) -> int:
    """The weight of a cell in units of 1/1024."""
    q = 1.0 - _exp_minus(float(count) * float(window) / float(length))
    expected = (count - 1.0) * q
    return floor((near - expected) / sqrt(expected * (1.0 - q) + 1.0) * 1024.0 + 0.5)


@cache
def _sign(cell: int, bits: int) -> str:
    words = [mix64(((cell + 1) * SIGN_STEP + w) & M64) for w in range((bits + 63) // 64)]
    return "".join(f"{word:064b}" for word in words)


def simhash(
    normal: str, bits: int, lengths: Sequence[int], window: int, min_count: int, min_features: int, gap: bool
) -> str | None:
    """The fingerprint in hexadecimal."""
    counts: Counter[int] = Counter()
    near: Counter[int] = Counter()
    last: dict[int, int] = {}
    for i, h in ngrams(normal, lengths, 0, len(normal)):
        cell = h >> 14
        counts[cell] += 1
        near[cell] += cell in last and i - last[cell] <= window
        last[cell] = i
    weights = {
        cell: gap_weight(t, near[cell], window, len(normal)) if gap else t * 1024
        for cell, t in counts.items()
        if t >= min_count
    }
    if sum(weight != 0 for weight in weights.values()) < min_features:
        return None
    votes = [0] * bits
    for cell, weight in weights.items():
        sign = _sign(cell, bits)
        for j in range(bits):
            votes[j] += weight if sign[j] == "1" else -weight
    return f"{int(''.join('1' if v > 0 else '0' for v in votes), 2):0{bits // 4}x}"


def slices(normal: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Pages or windows as (start, end) from where they start."""
    ends = [*starts[1:], len(normal)]
    return [
        (start, end - (end > start and end < len(normal) and normal[end - 1] == " "))
        for start, end in zip(starts, ends, strict=True)
    ]


def windows(normal: str) -> list[int]:
    """Where each window of a book without pages starts."""
    starts = []
    left = 0
    for start, _, heavy in tokens(normal):
        if left <= 0:
            starts.append(start)
            left = 2400
        left -= heavy
    return starts


def page_signature(normal: str, lengths: Sequence[int], start: int, end: int) -> list[int]:
    least: dict[int, int] = {}
    for _, h in ngrams(normal, lengths, start, end):
        least[h >> 25] = min(h, least.get(h >> 25, M32))
    return [1 + ((least[b] & 0xFFFF) * 255 >> 16) if b in least else 0 for b in range(128)]


def _base64(numbers: Sequence[int], size: int) -> str:
    return b64encode(b"".join(number.to_bytes(size, "little") for number in numbers)).decode()


def signatures(text: str, page_count: int | None) -> dict[str, object]:
    """What `bookprint sign` prints of a text in NFC."""
    normal, starts, folded = form_of(text)
    recipe = "gap-simhash128-folded-v1" if folded else "gap-simhash128-v1"
    fingerprint = simhash(normal, 128, (4, 2, 2, 4), 1000, 3, 32, gap=True)
    hashes = shingles(normal)
    level, sample = gram_sample(normal)
    spans = slices(normal, starts if page_count else windows(normal))
    pages: list[int] = []
    for start, end in spans:
        pages += page_signature(normal, (6, 4, 4, 6), start, end)
        pages += min(end - start, 65_535).to_bytes(2, "little")
    document: dict[str, object] = {
        "fingerprint": fingerprint and {"recipe": recipe, "hex": fingerprint},
        "minhash": None,
        "pages": {
            "recipe": "char6-page128-v2",
            "unit": "page" if page_count else "window",
            "values": _base64(pages, 1),
        },
        "word_count": len(tokens(normal)),
        "character_count": len(normal),
        "page_count": page_count,
        "single_words": single_words(normal),
    }
    if hashes:
        document["minhash"] = {
            "recipe": "word5-minhash128-v1",
            "values": _base64(minhash(hashes, PERMUTATIONS["a"], PERMUTATIONS["b"]), 4),
            "shingle_count": len(set(hashes)),
        }
    if sample:
        document["sample"] = {"recipe": "char20-sample256-v2", "level": level, "hashes": _base64(sample, 8)}
    return document
