"""Deduplication: a table of the clusters of a corpus, and the input without the books that are left out."""
