"""Alembic migrations of the catalogue."""

from pathlib import Path

NEWEST = max(path.name[:4] for path in (Path(__file__).parent / "versions").glob("[0-9]*.py"))
"""Newest revision. Serving processes compare the database with it without loading Alembic."""
