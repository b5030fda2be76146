"""Alembic's migrations of the catalogue."""

NEWEST = "0030"
"""The last revision: processes that serve compare the database with it without loading Alembic."""
