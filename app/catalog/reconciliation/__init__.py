"""Reconciliation: how well a description of a book fits the books of the catalogue."""
