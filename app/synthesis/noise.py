"""The changes of a text between two copies of a book: OCR errors, and sentences added or lost.

After Vladimir et al., "A preliminary study on similarity-preserving digital book identifiers", section 3.1:
Errors are drawn from a distribution of confusions in which no single one is as common as a stray space. New
sentences come from another book, so that the length hardly changes. The paper prints no shares; these, and
lost characters, are ours.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.synthesis.confusions import LOOKALIKES, MERGERS, SPLITTERS

Codes = NDArray[np.uint32]
Places = NDArray[np.intp]

SPACE, SUBSTITUTE, INSERT, DELETE, MERGE, SPLIT = range(6)
SHARES = (0.30, 0.30, 0.10, 0.10, 0.10, 0.10)
"""The frequency of each kind of error, in the order above."""

COSTS = (1, 1, 1, 1, 2, 2)
"""Characters that an error of each kind changes, as edit distance counts them."""

_NOTHING = np.uint32(0xFFFFFFFF)
_GUESSES = 6  # a multiple of every number of look-alikes, so that each is as likely
_KNOWN = np.array(sorted(map(ord, LOOKALIKES)), dtype=np.uint32)
_TAKEN_FOR = np.array(
    [[ord(other) for other in (LOOKALIKES[chr(code)] * _GUESSES)[:_GUESSES]] for code in _KNOWN],
    dtype=np.uint32,
)
_MERGED, _SPLIT = (
    np.array([list(map(ord, rule)) for rule in rules], dtype=np.uint32) for rules in (MERGERS, SPLITTERS)
)
"""The characters of each rule, (rules, 3)."""
_IN_RULES = 0x800
"""Code points from here on stand in no rule."""


def _masks(characters: Codes) -> Codes:
    """For each code point the rules that have it here, a bit each, (_IN_RULES,)."""
    masks = np.zeros(_IN_RULES, dtype=np.uint32)
    np.bitwise_or.at(masks, characters, np.uint32(1) << np.arange(characters.size, dtype=np.uint32))
    return masks


_MERGED_MASKS = (_masks(_MERGED[:, 0]), _masks(_MERGED[:, 1]))
_SPLIT_MASKS = (_masks(_SPLIT[:, 0]), np.full(_IN_RULES, 0xFFFFFFFF, dtype=np.uint32))
"""Of the first and of the second character; any may follow one that splits."""

SENTENCE = re.compile(r"""[^.!?…。！？؟।]*[.!?…。！？؟।]+["'”’»)\]]*\s*|[^.!?…。！？؟।]+""")
LONGEST_SENTENCE = 400
"""Characters; longer ones (verse, lists, texts without full stops) are cut into pieces of this length."""


def corrupt(text: str, rate: float, rng: np.random.Generator) -> str:
    """The text as read by an OCR engine with character error rate `rate` (edit distance over length, 0 to 1).

    A character without look-alikes is taken for any other of the text. 80,000 characters take about 1 ms.
    """
    return corrupt_pages([text], rate, rng)[0]


def corrupt_pages(pages: Sequence[str], rate: float, rng: np.random.Generator) -> list[str]:
    """The pages as `corrupt` reads their join; much faster than page by page."""
    from app.synthesis import kernels

    codes = np.frombuffer("".join(pages).encode("utf-32-le"), dtype=np.uint32)
    mean_cost = float(np.dot(SHARES, COSTS))
    struck = np.flatnonzero(rng.random(codes.size, dtype=np.float32) < rate / mean_cost)
    if struck.size == 0:
        return list(pages)
    kinds = np.searchsorted(np.cumsum(SHARES)[:-1], rng.random(struck.size), side="right")
    read, after = codes.copy(), np.full(codes.size, _NOTHING, dtype=np.uint32)
    unmerged = _merge(codes, struck[kinds == MERGE], read, rng)
    unsplit = _split(codes, struck[kinds == SPLIT], read, after, rng)
    substituted = np.concatenate([struck[kinds == SUBSTITUTE], unmerged, unsplit])
    read[substituted] = _lookalikes(codes, substituted, rng)
    read[struck[kinds == DELETE]] = _NOTHING
    after[struck[kinds == SPACE]] = ord(" ")
    inserted = struck[kinds == INSERT]
    after[inserted] = codes[rng.integers(0, codes.size, inserted.size)]
    noisy = np.empty(2 * codes.size, dtype=np.uint32)
    places = np.cumsum([0, *map(len, pages)]).tolist()
    ends = [0]
    for start, end in pairwise(places):
        ends.append(
            ends[-1] + kernels.written(read[start:end], after[start:end], int(_NOTHING), noisy[ends[-1] :])
        )
    text = bytes(noisy[: ends[-1]].data).decode("utf-32-le")
    return [text[start:end] for start, end in pairwise(ends)]


def _lookalikes(codes: Codes, places: Places, rng: np.random.Generator) -> Codes:
    """The characters for which those at these places are taken."""
    true = codes[places]
    row = np.minimum(np.searchsorted(_KNOWN, true), _KNOWN.size - 1)
    guesses = _TAKEN_FOR[row, rng.integers(0, _GUESSES, places.size)]
    random = codes[rng.integers(0, codes.size, places.size)]
    return np.where(_KNOWN[row] == true, guesses, random)


def _merge(codes: Codes, struck: Places, read: Codes, rng: np.random.Generator) -> Places:
    """Merges as many pairs as were struck, where the text has such; returns the strikes left over."""
    from app.synthesis import kernels

    places, rules = kernels.places(codes, *_MERGED_MASKS, len(MERGERS))
    used = min(struck.size, places.size)
    if used:
        chosen = rng.integers(0, places.size, used)
        read[places[chosen]] = _MERGED[rules[chosen], 2]
        read[places[chosen] + 1] = _NOTHING
    return struck[used:]


def _split(codes: Codes, struck: Places, read: Codes, after: Codes, rng: np.random.Generator) -> Places:
    """Splits as many characters as were struck, of those that can split; returns the strikes left over."""
    from app.synthesis import kernels

    places, rules = kernels.places(codes, *_SPLIT_MASKS, len(SPLITTERS))
    used = min(struck.size, places.size)
    if used:
        chosen = rng.integers(0, places.size, used)
        read[places[chosen]] = _SPLIT[rules[chosen], 1]
        after[places[chosen]] = _SPLIT[rules[chosen], 2]
    return struck[used:]


def sentences(text: str) -> list[str]:
    """The text cut after each sentence; joined they are the text again."""
    return [
        sentence[start : start + LONGEST_SENTENCE]
        for sentence in SENTENCE.findall(text)
        for start in range(0, len(sentence), LONGEST_SENTENCE)
    ]


@lru_cache(maxsize=1)
def _last_cut(text: str) -> tuple[str, ...]:
    # Derivatives of one text are made one after the other.
    return tuple(sentences(text))


def edit_sentences(text: str, share: float, donor: str, rng: np.random.Generator) -> str:
    """The text with `share` (0 to 1) of its sentences edited: half are lost, half follow one of `donor`'s."""
    own, foreign = list(_last_cut(text)), sentences(donor)
    edited = rng.permutation(len(own))[: round(share * len(own))]
    lost = rng.random(edited.size) < 0.5
    for place in edited[lost]:
        own[place] = ""
    if foreign:
        for place, source in zip(edited[~lost], rng.integers(0, len(foreign), edited.size), strict=False):
            own[place] = foreign[source] + own[place]
    return "".join(own)
