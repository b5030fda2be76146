"""Keeps the clusters in step with relations and decisions, in the transactions that change these."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection


async def edges_changed(connection: AsyncConnection, pairs: Collection[tuple[UUID, UUID]]) -> None:
    """Follow a change of the relations or decisions of these pairs, smaller id first."""


async def book_leaves(connection: AsyncConnection, book_id: UUID) -> None:
    """Follow the deletion of a book, before its row goes."""
