"""Connections for single queries."""

from sqlalchemy.ext.asyncio import AsyncEngine


def reading(engine: AsyncEngine) -> AsyncEngine:
    """The same engine without transactions: BEGIN and ROLLBACK are two more round trips for each query."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")
