"""Titles and names of people in comparable form: without case, accents and punctuation.

Cataloguers write one title in many ways. Two ways of writing it share a key, so an index of keys finds
candidates; a comparison of the names themselves decides.
"""

import re
import unicodedata
from binascii import crc32
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bookprint_core.model import Metadata

LONGEST_NAME = 300
"""Number of characters of a folded name that are compared."""

_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose, with their ASCII letters."""

_WORD = re.compile(r"[^\W_]+")
_FOLDED_WORD = re.compile(r"\w+")
_PILE = re.compile(r"((?:[^\w\s]|[\uff9e\uff9f]){64})(?:[^\w\s]|[\uff9e\uff9f])+")
"""Pattern of more marks in a row than any text contains: putting n marks in order takes n² steps."""

_SUBTITLE = re.compile(r"[:;(\[/]|\s[-–—=]\s|\.\s")
_SHORTEST_MAIN_TITLE = 4

_WHOLE = 10
"""Maximum letters of a title whose keys leave out two letters; longer titles leave out one per half."""

_HALF = 8  # letters of a half that are compared
_LONGEST_TYPED = 40  # letters; two errors in a longer title usually leave a common band
_ERRORS = 2  # letters left out, inserted, changed or swapped with the next letter

_BANDS, _ROWS = 16, 4
_MULTIPLIERS: NDArray[np.uint64] = np.random.Generator(np.random.PCG64(2_024)).integers(
    1, 2**63, (_BANDS * _ROWS, 1), dtype=np.uint64
) | np.uint64(1)
"""Multipliers of a hash function per row: upper half of hash · multiplier (Dietzfelbinger et al. 1997)."""


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """A condition on the keys of a book: at least one of `any_of`, and all of `all_of`."""

    any_of: Sequence[int]
    all_of: Sequence[int] = ()


def folded(name: str) -> str:
    """Return the words of a name without case and accents, with one space between words.

    >>> folded("L’Été : «Nuits» d’Été"), folded("STRASSE, Łódź")
    ('l ete nuits d ete', 'strasse lodz')
    """
    decomposed = unicodedata.normalize("NFKD", name[: 2 * LONGEST_NAME])
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(bare.casefold().translate(_LETTERS)))[:LONGEST_NAME].rstrip()


def main_title(title: str) -> str:
    """Return the title without its subtitle and statement of responsibility, as ISBD separates them.

    Only the first 600 characters are read.

    >>> main_title("Emma : a novel / by Jane Austen"), main_title("Dr. Faustus")
    ('Emma', 'Dr. Faustus')
    """
    title = title[: 2 * LONGEST_NAME]
    seen, length = 0, -1
    for match in _SUBTITLE.finditer(title, 1):
        # Each part is folded once only: a title of brackets alone has a match per character.
        if part := folded(title[seen : match.start()]):
            length += 1 + len(part)
        if length >= _SHORTEST_MAIN_TITLE:
            return title[: match.start()].rstrip()
        seen = match.start()
    return title


def surname(name: str) -> str:
    """Return the folded surname in a person's name: the last word before the comma, or of the whole name.

    >>> surname("Austen, Jane, 1775-1817"), surname("Jane Austen"), surname("van Gogh, Vincent")
    ('austen', 'austen', 'gogh')
    """
    words = [word for word in folded(name.partition(",")[0]).split() if not word.isdecimal()]
    return words[-1] if words else ""


def exact_key(title: str) -> int:
    """Compute the key that all titles with equal folded form share."""
    return _key("title", folded(title))


def main_key(title: str) -> int:
    """Compute the key that all titles with equal folded main title share."""
    return _key("main", folded(main_title(title)))


def word_key(word: str) -> int:
    """Compute the key of all titles with this folded word."""
    return _key("word", word)


def author_keys(author: str) -> list[int]:
    """Compute a key for each name of an author; initials and years are left out."""
    return [_key("author", word) for word in folded(author).split() if len(word) > 1 and word.isalpha()]


def surname_key(author: str) -> int:
    """Compute the key of all books by an author with this surname."""
    return _key("author", surname(author))


def year_key(year: int) -> int:
    """Compute the key of all books of a year."""
    return _key("year", str(year))


def similarity_keys(title: str) -> list[int]:
    """Compute sixteen keys of which titles spelt nearly alike share one: bands of a MinHash of trigrams.

    Two titles with Jaccard similarity s share a key with probability 1 - (1 - s⁴)¹⁶: .99 at .7, .64 at .5,
    .0001 at .05. With fewer rows per band, hundreds of other titles would hide the right one.
    """
    letters = f"  {folded(title)} "
    trigrams = {letters[place : place + 3] for place in range(len(letters) - 2)}
    hashes = np.array([crc32(trigram.encode()) for trigram in trigrams], dtype=np.uint64)
    least = (hashes * _MULTIPLIERS >> np.uint64(32)).min(axis=1).reshape(_BANDS, _ROWS)
    return [_key(f"band{band}", str(rows)) for band, rows in enumerate(least.tolist())]


def typing_keys(title: str) -> list[int]:
    """Compute the keys of a title of up to 40 letters that survive two typing errors (`typed_keys`).

    Two words with one error between them become equal when the right letter is left out of each. A short
    title therefore has a key for every two letters left out. In a longer title one half contains at most one
    of two errors, so each half has a key for every letter left out.
    """
    letters = _letters(title)
    if len(letters) <= _WHOLE:
        return [key for keys in _keys_of_whole(letters) for key in keys]
    return _keys_of_halves(letters, len(letters) // 2) if len(letters) <= _LONGEST_TYPED else []


def typed_keys(title: str) -> list[list[int]]:
    """Compute the keys that find a title typed with two errors, in sets, the rarest keys first."""
    letters = _letters(title)
    lengths = range(len(letters) - _ERRORS, len(letters) + _ERRORS + 1)
    halves = sorted({length // 2 for length in lengths if _WHOLE < length <= _LONGEST_TYPED})
    of_halves = sorted({key for half in halves for key in _keys_of_halves(letters, half)})
    of_whole = _keys_of_whole(letters) if lengths[0] <= _WHOLE else []
    return [keys for keys in (*of_whole, of_halves) if keys]


def _letters(title: str) -> str:
    return folded(title).replace(" ", "")


def _keys_of_whole(letters: str) -> list[list[int]]:
    """Compute two sets of keys: of the letters without one letter or none, and without two."""
    near = _shortened({letters}) | {letters}
    return [
        [_key("typed", each) for each in sorted(some) if each] for some in (near, _shortened(near) - near)
    ]


def _keys_of_halves(letters: str, half: int) -> list[int]:
    """Compute keys of the first and last letters without one letter, for titles twice as long as `half`."""
    most = min(half, _HALF)
    ends = (f"first {half}", letters[:most]), (f"last {half}", letters[-most:])
    return [_key(end, each) for end, part in ends for each in sorted(_shortened({part}))]


def _shortened(words: Iterable[str]) -> set[str]:
    """Return every word that one letter left out of one of the words gives."""
    return {word[:place] + word[place + 1 :] for word in words for place in range(len(word))}


def name_keys(metadata: Metadata) -> list[int]:
    """Compute all keys that find a book by title, author or year: distinct 32-bit integers."""
    keys: list[int] = [key for author in metadata.authors for key in author_keys(author)]
    title = metadata.title
    if title is not None and (words := folded(title).split()):
        keys += [exact_key(title), main_key(title), *map(word_key, words)]
        for each in {title, main_title(title)}:
            keys += [*similarity_keys(each), *typing_keys(each)]
    if metadata.year is not None:
        keys.append(year_key(metadata.year))
    return sorted(set(keys))


def _key(kind: str, value: str) -> int:
    """Compute a hash as a signed 32-bit integer; a collision only adds a candidate."""
    return crc32(f"{kind} {value}".encode()) - (1 << 31)


def folded_words(text: str) -> list[str]:
    """Return the words in order, in NFKC and case-folded.

    >>> folded_words("The  FERRY, at Dawn!")
    ['the', 'ferry', 'at', 'dawn']
    """
    return _FOLDED_WORD.findall(unicodedata.normalize("NFKC", _PILE.sub(r"\1", text)).casefold())
