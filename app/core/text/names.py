"""Titles and names of people in the form in which they are compared: without case, accents and punctuation.

Cataloguers write one title in many ways. The keys here are what two ways of writing it share, so that an
index of keys finds candidates, and a comparison of the names themselves decides.
"""

import re
import unicodedata
from binascii import crc32
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.model import Metadata

LONGEST_NAME = 300
"""Characters of a folded name that count."""

_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not take apart."""

_WORD = re.compile(r"[^\W_]+")
_FOLDED_WORD = re.compile(r"\w+")
_PILE = re.compile(r"((?:[^\w\s]|[\uff9e\uff9f]){64})(?:[^\w\s]|[\uff9e\uff9f])+")
"""More marks than any text has in a row (two of them are letters): ordering n of them takes n² steps."""

_SUBTITLE = re.compile(r"[:;(\[/]|\s[-–—=]\s|\.\s")
_SHORTEST_MAIN_TITLE = 4

_BANDS, _ROWS = 16, 4
_MULTIPLIERS: NDArray[np.uint64] = np.random.Generator(np.random.PCG64(2_024)).integers(
    1, 2**63, (_BANDS * _ROWS, 1), dtype=np.uint64
) | np.uint64(1)
"""One hash function for each row: the upper half of hash · multiplier (Dietzfelbinger et al. 1997)."""


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """Keys to look for: those of books that have one of `any_of` and all of `all_of`."""

    any_of: Sequence[int]
    all_of: Sequence[int] = ()


def folded(name: str) -> str:
    """The words of a name, without case and accents, each followed by one space but the last.

    >>> folded("L’Été : «Nuits» d’Été"), folded("STRASSE, Łódź")
    ('l ete nuits d ete', 'strasse lodz')
    """
    decomposed = unicodedata.normalize("NFKD", name[: 2 * LONGEST_NAME])
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(bare.casefold().translate(_LETTERS)))[:LONGEST_NAME].rstrip()


def main_title(title: str) -> str:
    """The title without its subtitle and statement of responsibility (as ISBD sets them apart).

    Of a very long title the first 600 characters, since no more of it counts.

    >>> main_title("Emma : a novel / by Jane Austen"), main_title("Dr. Faustus")
    ('Emma', 'Dr. Faustus')
    """
    title = title[: 2 * LONGEST_NAME]
    seen, length = 0, -1
    for match in _SUBTITLE.finditer(title, 1):
        # Only what is new is folded: a title of brackets alone has one match a character.
        if part := folded(title[seen : match.start()]):
            length += 1 + len(part)
        if length >= _SHORTEST_MAIN_TITLE:
            return title[: match.start()].rstrip()
        seen = match.start()
    return title


def surname(name: str) -> str:
    """The folded word of a person's name to look for: the last one before a comma, or of all.

    >>> surname("Austen, Jane, 1775-1817"), surname("Jane Austen"), surname("van Gogh, Vincent")
    ('austen', 'austen', 'gogh')
    """
    words = [word for word in folded(name.partition(",")[0]).split() if not word.isdecimal()]
    return words[-1] if words else ""


def exact_key(title: str) -> int:
    """The key of all titles that are equal once they are folded."""
    return _key("title", folded(title))


def main_key(title: str) -> int:
    """The key of all titles whose main titles are equal once they are folded."""
    return _key("main", folded(main_title(title)))


def word_key(word: str) -> int:
    """The key of all titles with this folded word."""
    return _key("word", word)


def author_keys(author: str) -> list[int]:
    """The keys of all books with an author who has one of these names; initials and years are no names."""
    return [_key("author", word) for word in folded(author).split() if len(word) > 1 and word.isalpha()]


def surname_key(author: str) -> int:
    """The key of all books by an author with this surname."""
    return _key("author", surname(author))


def year_key(year: int) -> int:
    """The key of all books of a year."""
    return _key("year", str(year))


def similarity_keys(title: str) -> list[int]:
    """Keys that titles spelt nearly alike share: sixteen bands of a MinHash over letters in threes.

    Two titles with the Jaccard similarity s share one with the probability 1 - (1 - s⁴)¹⁶: .99 at .7, .64 at
    .5, .0001 at .05. With fewer rows a band, hundreds of strangers would hide the one that is meant.
    """
    letters = f"  {folded(title)} "
    trigrams = {letters[place : place + 3] for place in range(len(letters) - 2)}
    hashes = np.array([crc32(trigram.encode()) for trigram in trigrams], dtype=np.uint64)
    least = (hashes * _MULTIPLIERS >> np.uint64(32)).min(axis=1).reshape(_BANDS, _ROWS)
    return [_key(f"band{band}", str(rows)) for band, rows in enumerate(least.tolist())]


def name_keys(metadata: Metadata) -> list[int]:
    """Every key by which a book is found by title, author and year; 32-bit integers, each once."""
    keys: list[int] = [key for author in metadata.authors for key in author_keys(author)]
    title = metadata.title
    if title is not None and (words := folded(title).split()):
        keys += [exact_key(title), main_key(title), *map(word_key, words), *similarity_keys(title)]
        if (short := main_title(title)) != title:
            keys += similarity_keys(short)
    if metadata.year is not None:
        keys.append(year_key(metadata.year))
    return sorted(set(keys))


def _key(kind: str, value: str) -> int:
    """A hash as Postgres' signed integers hold it; two values that share one only make a candidate more."""
    return crc32(f"{kind} {value}".encode()) - (1 << 31)


def folded_words(text: str) -> list[str]:
    """The words in their order, in NFKC and case-folded.

    >>> folded_words("The  FERRY, at Dawn!")
    ['the', 'ferry', 'at', 'dawn']
    """
    return _FOLDED_WORD.findall(unicodedata.normalize("NFKC", _PILE.sub(r"\1", text)).casefold())
