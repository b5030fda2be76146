"""Alembic's migrations of the catalogue."""

from pathlib import Path

NEWEST = max(path.name[:4] for path in (Path(__file__).parent / "versions").glob("[0-9]*.py"))
"""The last revision: processes that serve compare the database with it without loading Alembic."""
