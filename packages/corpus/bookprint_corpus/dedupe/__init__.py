"""Deduplication: a table of the clusters of a corpus, and copies of the input without duplicates."""
