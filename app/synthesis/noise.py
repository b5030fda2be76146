"""The changes of a text between two copies of a book: OCR errors, and sentences added or lost.

After Vladimir et al., "A preliminary study on similarity-preserving digital book identifiers", section 3.1:
Errors are drawn from a distribution of confusions in which no single one is as common as a stray space. New
sentences come from another book, so that the length hardly changes. The paper prints no shares; these, and
lost characters, are ours.
"""

import re
from collections.abc import Sequence
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

SENTENCE = re.compile(r"""[^.!?…。！？؟।]*[.!?…。！？؟।]+["'”’»)\]]*\s*|[^.!?…。！？؟।]+""")
LONGEST_SENTENCE = 400
"""Characters; longer ones (verse, lists, texts without full stops) are cut into pieces of this length."""


def corrupt(text: str, rate: float, rng: np.random.Generator) -> str:
    """The text as read by an OCR engine with character error rate `rate` (edit distance over length, 0 to 1).

    A character without look-alikes is taken for any other of the text. 80,000 characters take about 4 ms.
    """
    return corrupt_pages([text], rate, rng)[0]


def corrupt_pages(pages: Sequence[str], rate: float, rng: np.random.Generator) -> list[str]:
    """The pages as `corrupt` reads their join; much faster than page by page."""
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
    written = np.stack([read, after], axis=1).ravel()
    kept = written != _NOTHING
    noisy = bytes(written[kept].data).decode("utf-32-le")
    places = np.cumsum([0, *map(len, pages)]).tolist()
    sizes = [np.count_nonzero(kept[2 * start : 2 * end]) for start, end in pairwise(places)]
    return [noisy[start:end] for start, end in pairwise(np.cumsum([0, *sizes]).tolist())]


def _lookalikes(codes: Codes, places: Places, rng: np.random.Generator) -> Codes:
    """The characters for which those at these places are taken."""
    true = codes[places]
    row = np.minimum(np.searchsorted(_KNOWN, true), _KNOWN.size - 1)
    guesses = _TAKEN_FOR[row, rng.integers(0, _GUESSES, places.size)]
    random = codes[rng.integers(0, codes.size, places.size)]
    return np.where(_KNOWN[row] == true, guesses, random)


def _merge(codes: Codes, struck: Places, read: Codes, rng: np.random.Generator) -> Places:
    """Merges as many pairs as were struck, where the text has such; returns the strikes left over."""
    sites = [np.flatnonzero((codes[:-1] == ord(rule[0])) & (codes[1:] == ord(rule[1]))) for rule in MERGERS]
    rules = np.repeat(np.arange(len(MERGERS)), [of_rule.size for of_rule in sites])
    results = np.array([ord(rule[2]) for rule in MERGERS], dtype=np.uint32)
    places = np.concatenate(sites)
    used = min(struck.size, places.size)
    if used:
        chosen = rng.integers(0, places.size, used)
        read[places[chosen]] = results[rules[chosen]]
        read[places[chosen] + 1] = _NOTHING
    return struck[used:]


def _split(codes: Codes, struck: Places, read: Codes, after: Codes, rng: np.random.Generator) -> Places:
    """Splits as many characters as were struck, of those that can split; returns the strikes left over."""
    sites = [np.flatnonzero(codes == ord(rule[0])) for rule in SPLITTERS]
    rules = np.repeat(np.arange(len(SPLITTERS)), [of_rule.size for of_rule in sites])
    halves = np.array([[ord(rule[1]), ord(rule[2])] for rule in SPLITTERS], dtype=np.uint32)
    places = np.concatenate(sites)
    used = min(struck.size, places.size)
    if used:
        chosen = rng.integers(0, places.size, used)
        read[places[chosen]] = halves[rules[chosen], 0]
        after[places[chosen]] = halves[rules[chosen], 1]
    return struck[used:]


def sentences(text: str) -> list[str]:
    """The text cut after each sentence; joined they are the text again."""
    return [
        sentence[start : start + LONGEST_SENTENCE]
        for sentence in SENTENCE.findall(text)
        for start in range(0, len(sentence), LONGEST_SENTENCE)
    ]


def edit_sentences(text: str, share: float, donor: str, rng: np.random.Generator) -> str:
    """The text with `share` (0 to 1) of its sentences edited: half are lost, half follow one of `donor`'s."""
    own, foreign = sentences(text), sentences(donor)
    edited = rng.permutation(len(own))[: round(share * len(own))]
    lost = rng.random(edited.size) < 0.5
    for place in edited[lost]:
        own[place] = ""
    if foreign:
        for place, source in zip(edited[~lost], rng.integers(0, len(foreign), edited.size), strict=False):
            own[place] = foreign[source] + own[place]
    return "".join(own)
