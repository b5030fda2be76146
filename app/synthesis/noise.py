"""Changes between two copies of a book: OCR errors, and sentences added or lost.

The model follows Vladimir et al., "A preliminary study on similarity-preserving digital book identifiers",
section 3.1. Errors are drawn from a distribution of confusions; a stray space is the most common error. Added
sentences come from another book, so the length hardly changes. The paper contains no shares. The shares here,
and lost characters, are our own.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

_Codes = NDArray[np.uint32]
_Places = NDArray[np.intp]

SPACE, SUBSTITUTE, INSERT, DELETE, MERGE, SPLIT = range(6)
SHARES = (0.30, 0.30, 0.10, 0.10, 0.10, 0.10)
"""Shares of the kinds of errors, in the order above."""

COSTS = (1, 1, 1, 1, 2, 2)
"""Edit distance of an error of each kind, in characters, in the order above."""

_LATIN = (
    "aeo bhl ceo dal eco ftl gqy hbn il1j ji; klh l1it mnu nur oce0 pn qg rnt sao tfl unv vuy wv xz yvg "
    "zs ARN BRE8 CGO DO EFB FPE GC6 HNI Il1 JI KE LI MN NH O0QD PF QO RK S5 TI UV VY WV XY YV Z2 0O 1l "
    "2z 38 41 5S 6b 71 83 9g ., ,. ;: :; äaá öoó üuú éeè èeé êe àaá áaà çc ñn ãaä óoò íiì úuù ßB"
)
_CYRILLIC = (
    "ао б6в вви гтр дл есо жм зэ инп йи кн лпд мн нип осe пнл рп сео тгм уч фр хк ци чц шщ щш ыь ьъы эз юо яа"
)
_GREEK = "αοσ βθ γν δό εσ ζξ ην θβ ιί κx λχ μν νυ ξζ οσ πτ ρο σο τπ υν φρ χλ ψφ ωο"

LOOKALIKES = {entry[0]: entry[1:] for table in (_LATIN, _CYRILLIC, _GREEK) for entry in table.split()}
"""Characters of Latin, Cyrillic or Greek print, and the characters that each is misread as, equally often."""

MERGERS = ("rnm", "cld", "rin", "vvw", "lih", "nim", "inm", "iiu", "tin", "еса", "пиш", "ινμ")
"""Two characters, and the one character that they are misread as."""

SPLITTERS = ("mrn", "dcl", "nri", "wvv", "hli", "uii", "ыьі", "шпи", "юіо", "μιν")
"""One character, and the two characters that it is misread as."""

_NOTHING = np.uint32(0xFFFFFFFF)
_GUESSES = 6  # a common multiple of the numbers of look-alikes, so that all are equally likely
_KNOWN = np.array(sorted(map(ord, LOOKALIKES)), dtype=np.uint32)
_TAKEN_FOR = np.array(
    [[ord(other) for other in (LOOKALIKES[chr(code)] * _GUESSES)[:_GUESSES]] for code in _KNOWN],
    dtype=np.uint32,
)
SENTENCE = re.compile(r"""[^.!?…。！？؟।]*[.!?…。！？؟।]+["'”’»)\]]*\s*|[^.!?…。！？؟।]+""")
LONGEST_SENTENCE = 400
"""Maximum length of a sentence in characters; verse, lists and text without full stops are cut."""


def corrupt(text: str, rate: float, rng: np.random.Generator) -> str:
    """Return the text with OCR errors of rate `rate` (edit distance divided by length, 0 to 1).

    A character without look-alikes becomes a random character of the text. 80,000 characters take about 3 ms.
    """
    return corrupt_pages([text], rate, rng)[0]


def corrupt_pages(pages: Sequence[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Apply `corrupt` to the joined pages; much faster than to each page."""
    codes = np.frombuffer("".join(pages).encode("utf-32-le"), dtype=np.uint32)
    mean_cost = float(np.dot(SHARES, COSTS))
    struck = np.flatnonzero(rng.random(codes.size, dtype=np.float32) < rate / mean_cost)
    if struck.size == 0:
        return list(pages)
    kinds = np.searchsorted(np.cumsum(SHARES)[:-1], rng.random(struck.size), side="right")
    read, after = codes.copy(), np.full(codes.size, _NOTHING, dtype=np.uint32)
    merged, rules, unmerged = _applied(codes, MERGERS, 2, struck[kinds == MERGE], rng)
    read[merged], read[merged + 1] = rules[:, 2], _NOTHING
    split, rules, unsplit = _applied(codes, SPLITTERS, 1, struck[kinds == SPLIT], rng)
    read[split], after[split] = rules[:, 1], rules[:, 2]
    substituted = np.concatenate([struck[kinds == SUBSTITUTE], unmerged, unsplit])
    read[substituted] = _lookalikes(codes, substituted, rng)
    read[struck[kinds == DELETE]] = _NOTHING
    after[struck[kinds == SPACE]] = ord(" ")
    inserted = struck[kinds == INSERT]
    after[inserted] = codes[rng.integers(0, codes.size, inserted.size)]
    noisy = np.column_stack((read, after))
    written = noisy != _NOTHING
    text = noisy[written].tobytes().decode("utf-32-le")
    places = accumulate(map(len, pages), initial=0)
    sizes = [np.count_nonzero(written[start:end]) for start, end in pairwise(places)]
    return [text[start:end] for start, end in pairwise(accumulate(sizes, initial=0))]


def _lookalikes(codes: _Codes, places: _Places, rng: np.random.Generator) -> _Codes:
    """Return the characters that the characters at these places are misread as."""
    true = codes[places]
    row = np.minimum(np.searchsorted(_KNOWN, true), _KNOWN.size - 1)
    guesses = _TAKEN_FOR[row, rng.integers(0, _GUESSES, places.size)]
    random = codes[rng.integers(0, codes.size, places.size)]
    return np.where(_KNOWN[row] == true, guesses, random)


def _applied(
    codes: _Codes, rules: Sequence[str], length: int, struck: _Places, rng: np.random.Generator
) -> tuple[_Places, _Codes, _Places]:
    """Choose a rule for each struck place, as far as the text contains the rules' first `length` characters.

    Returns the places, the characters of the rule at each place (places, 3), and the remaining strikes.
    """
    places, of_rule = _places(codes, rules, length)
    used = min(struck.size, places.size)
    chosen = rng.integers(0, places.size, used) if used else np.empty(0, dtype=np.intp)
    characters = np.array([list(map(ord, rule)) for rule in rules], dtype=np.uint32)
    return places[chosen], characters[of_rule[chosen]], struck[used:]


def _places(codes: _Codes, rules: Sequence[str], length: int) -> tuple[_Places, _Places]:
    """Return the places of the rules' first `length` (1 or 2) characters, and the rule at each, by rule."""
    found = []
    for rule in rules:
        hits = codes == ord(rule[0])
        if length == 2:
            hits = hits[:-1] & (codes[1:] == ord(rule[1]))
        found.append(np.flatnonzero(hits))
    return np.concatenate(found), np.repeat(np.arange(len(rules)), list(map(len, found)))


def sentences(text: str) -> list[str]:
    """Split the text after each sentence; the parts joined are the text."""
    return [
        sentence[start : start + LONGEST_SENTENCE]
        for sentence in SENTENCE.findall(text)
        for start in range(0, len(sentence), LONGEST_SENTENCE)
    ]


@lru_cache(maxsize=1)
def _last_cut(text: str) -> tuple[str, ...]:
    # Cached, because all copies of one text are made in succession.
    return tuple(sentences(text))


def edit_sentences(text: str, share: float, donor: str, rng: np.random.Generator) -> str:
    """Edit a `share` of the sentences: half are removed, half get a sentence of `donor` before them."""
    own, foreign = list(_last_cut(text)), sentences(donor)
    edited = rng.permutation(len(own))[: round(share * len(own))]
    lost = rng.random(edited.size) < 0.5
    for place in edited[lost]:
        own[place] = ""
    if foreign:
        for place, source in zip(edited[~lost], rng.integers(0, len(foreign), edited.size), strict=False):
            own[place] = foreign[source] + own[place]
    return "".join(own)
