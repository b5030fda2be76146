"""Listing metadata conflicts."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.http.access import ScopedRoute, needs
from app.api.http.cursors import Cursors
from app.api.http.deps import ServicesDep
from app.api.http.openapi import problems
from app.api.schemas.conflicts import ConflictList, ConflictQuery

router = APIRouter(prefix="/v1/conflicts", tags=["conflicts"], route_class=ScopedRoute)


@router.get("", summary="List metadata conflicts", responses=problems(422, 503), openapi_extra=needs("read"))
async def list_conflicts(query: Annotated[ConflictQuery, Query()], services: ServicesDep) -> ConflictList:
    """Lists pairs of books of which the metadata says one thing and the text another.

    By isbn: two books with the same valid ISBN and unrelated texts. By title: the same words in the title, no
    different authors or volumes, and unrelated texts. By text: the same text under different valid ISBNs,
    none in common. Decisions of people outrank the machine. Without evidence there is no conflict: a text too
    short, no signatures, or a search for relations that has not ended.
    """
    cursors = Cursors("conflicts", query.by)
    page = await services.conflicts.list_conflicts(query.by, cursors.conflict(query.cursor), query.limit)
    return ConflictList.of(page, cursors.at_conflict(page.next))
