"""The words of a title or a name, folded so that case and punctuation do not count."""

import re
import unicodedata

_WORD = re.compile(r"\w+")
_PILE = re.compile(r"((?:[^\w\s]|[\uff9e\uff9f]){64})(?:[^\w\s]|[\uff9e\uff9f])+")
"""More marks than any text has in a row (two of them are letters): ordering n of them takes n² steps."""


def folded_words(text: str) -> list[str]:
    """The words in their order, in NFKC and case-folded.

    >>> folded_words("The  FERRY, at Dawn!")
    ['the', 'ferry', 'at', 'dawn']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", _PILE.sub(r"\1", text)).casefold())
