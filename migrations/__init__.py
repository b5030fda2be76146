"""Alembic's migrations of the catalogue."""

NEWEST = "0001"
"""The last revision: processes that serve compare the database with it without loading Alembic."""
