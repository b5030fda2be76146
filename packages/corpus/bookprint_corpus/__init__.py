"""Compares all books of a collection on an engine for much data, and takes copies out of data sets.

`bookprint-corpus corpus run` and `bookprint-corpus dedupe` do it. `CorpusBooks` and `CorpusPairs` read what
they wrote.
"""

from bookprint_corpus.books import CorpusBooks
from bookprint_corpus.folder import CorpusFolder
from bookprint_corpus.pairs import CorpusPairs

__all__ = ["CorpusBooks", "CorpusFolder", "CorpusPairs"]
