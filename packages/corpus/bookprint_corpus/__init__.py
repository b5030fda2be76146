"""Comparison of all books of a collection on an engine for large data, and removal of copies from data sets.

The commands are `bookprint-corpus corpus run` and `bookprint-corpus dedupe`. `CorpusBooks` and `CorpusPairs`
read their output.
"""

from bookprint_corpus.books import CorpusBooks
from bookprint_corpus.folder import CorpusFolder
from bookprint_corpus.pairs import CorpusPairs

__all__ = ["CorpusBooks", "CorpusFolder", "CorpusPairs"]
