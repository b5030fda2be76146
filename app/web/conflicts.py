"""Conflicts: pairs of books whose records contradict their texts."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from app.api.http.deps import ServicesDep
from app.web.pair import KINDS
from app.web.rendering import page
from app.web.routes import Filters, PageRouter
from bookprint_core.matching.conflicts import Aspect, ConflictBy, ConflictPlace

router = PageRouter()

_AT_ONCE = 25

ASPECTS: Mapping[Aspect, str] = {
    "text": "text",
    "isbn": "ISBN",
    "title": "title",
    "authors": "authors",
    "year": "year",
    "volume": "volume",
}


class ConflictSearch(Filters):
    """Filters of the list of conflicts."""

    by: ConflictBy = "isbn"
    key: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = (
        None  # with `left` and `right`: place of the next page
    )
    left: UUID | None = None
    right: UUID | None = None

    @property
    def place(self) -> ConflictPlace | None:
        if self.key is None or self.left is None or self.right is None:
            return None
        return ConflictPlace(self.key, self.left, self.right)


@router.get("/conflicts", scope="read")
async def list_conflicts(
    search: Annotated[ConflictSearch, Query()], request: Request, services: ServicesDep
) -> Response:
    """List the pairs, ordered by the value that they share."""
    found = await services.conflicts.list_conflicts(search.by, search.place, _AT_ONCE, search.collection)
    more = found.next and search.query(**found.next._asdict())
    return page(
        request, "conflicts.html", search=search, found=found, more=more, aspects=ASPECTS, kinds=KINDS
    )
