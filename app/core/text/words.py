"""The words of a title or a name, folded so that case and punctuation do not count."""

import re
import unicodedata

_WORD = re.compile(r"\w+")


def folded_words(text: str) -> list[str]:
    """The words in their order, in NFKC and case-folded.

    >>> folded_words("The  FERRY, at Dawn!")
    ['the', 'ferry', 'at', 'dawn']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
