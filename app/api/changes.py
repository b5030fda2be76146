"""The feed of changes, in the format of this service and of IIIF Change Discovery 1.0."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field

from app.api.http.deps import PermitDep, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.http.usage import require_key_still_valid
from app.api.schemas.documents import CollectionFilter, Document, Parameters, waiting
from app.services.changes import Change, ChangeType, NumberedPage, NumberedPages, UnknownPage

Context = Literal["http://iiif.io/api/discovery/1/context.json"]
CONTEXT: Context = "http://iiif.io/api/discovery/1/context.json"

_ACTIVITIES: dict[str, str] = {"book.created": "Create", "book.deleted": "Delete", "relation.gone": "Delete"}
"""Activity type by type of change; every other change is an Update."""


class ChangesQuery(Parameters):
    """The changes to return, and the time to wait for changes."""

    after: str | None = Field(
        default=None,
        max_length=200,
        description="The next_cursor of the previous answer, or the cursor of an item; `now`: the present "
        "end of the feed; unset: from the oldest stored change.",
    )
    limit: int = Field(default=100, ge=1, le=1_000, description="Maximum number of items to return.")
    wait: float = waiting("there is a change")
    types: Annotated[list[ChangeType], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="Types of changes to return; repeat the parameter for several types. Unset: all.",
    )
    collection: CollectionFilter = Field(
        default=None,
        description="Only changes of books in this collection before or after the change, and of relations "
        "and clusters with a book that is in it now.",
    )


class ChangeAnswer(Document):
    """A change. The feed contains each change at least once; `at` increases along the feed."""

    cursor: str = Field(description="Cursor to send as `after` to continue after this change.")
    at: datetime
    type: ChangeType
    book_id: UUID = Field(description="Book of the change; for a cluster, its oldest book.")
    other_id: UUID | None = Field(description="Second book of a relation; otherwise null.")
    data: dict[str, Any] = Field(description="Details, which depend on the type of the change.")


class ChangesAnswer(Document):
    """Changes, oldest first."""

    items: list[ChangeAnswer]
    next_cursor: str = Field(description="Cursor to send as `after` in the next request; never null.")


class CollectionLink(Document):
    """A link to another document of the collection."""

    id: str
    type: Literal["OrderedCollection", "OrderedCollectionPage"]


class ChangeCollection(Document):
    """All stored changes, as an OrderedCollection."""

    context: Context = Field(default=CONTEXT, alias="@context")
    id: str
    type: Literal["OrderedCollection"] = "OrderedCollection"
    total_items: int = Field(alias="totalItems")
    first: CollectionLink
    last: CollectionLink

    @classmethod
    def of(cls, pages: NumberedPages, base: str) -> Self:
        fields = {
            "totalItems": pages.total,
            "first": _page(base, pages.first),
            "last": _page(base, pages.last),
        }
        return cls(id=_collection(base).id, **fields)


class ActivityObject(Document):
    """Object of an activity."""

    id: str
    type: Literal["Book", "Relation", "Cluster"]


class Activity(Document):
    """A change as an activity."""

    type: Literal["Create", "Update", "Delete"]
    object: ActivityObject
    end_time: datetime = Field(alias="endTime")
    summary: ChangeType = Field(description="Type of the change, as in the feed.")

    @classmethod
    def of(cls, item: Change, base: str) -> Self:
        fields: dict[str, Any] = {"object": _object(item, base), "endTime": item.at, "summary": item.type}
        return cls(type=_ACTIVITIES.get(item.type, "Update"), **fields)


class ChangeCollectionPage(Document):
    """One page of the stored changes, oldest first."""

    # The specification does not allow null: absent values are left out.
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    context: Context = Field(default=CONTEXT, alias="@context")
    id: str
    type: Literal["OrderedCollectionPage"] = "OrderedCollectionPage"
    part_of: CollectionLink = Field(alias="partOf")
    prev: CollectionLink | None = Field(default=None, description="Left out on the first page.")
    next: CollectionLink | None = Field(default=None, description="Left out on the last page.")
    ordered_items: list[Activity] = Field(alias="orderedItems")

    @classmethod
    def of(cls, page: NumberedPage, base: str) -> Self:
        number, pages = page.number, page.pages
        fields: dict[str, Any] = {
            "partOf": _collection(base),
            "prev": _page(base, number - 1) if number > pages.first else None,
            "next": _page(base, number + 1) if number < pages.last else None,
            "orderedItems": [Activity.of(item, base) for item in page.items],
        }
        return cls(id=_page(base, number).id, **fields)


def _collection(base: str) -> CollectionLink:
    return CollectionLink(id=f"{base}/changes/collection", type="OrderedCollection")


def _page(base: str, number: int) -> CollectionLink:
    return CollectionLink(id=f"{base}/changes/pages/{number}", type="OrderedCollectionPage")


def _object(item: Change, base: str) -> ActivityObject:
    book = f"{base}/v1/books/{item.book_id}"
    if item.type == "cluster.changed":
        return ActivityObject(id=f"{base}/v1/clusters/{item.data['id']}", type="Cluster")
    if item.other_id is not None:
        return ActivityObject(id=f"{book}/relations/{item.other_id}", type="Relation")
    return ActivityObject(id=book, type="Book")


router = SubjectRouter(tag="changes", description="Changes since a client's last request.")

_NUMBER = re.compile(r"[0-9]{1,15}")


class ActivityStream(JSONResponse):
    """JSON-LD."""

    media_type = f'application/ld+json;profile="{CONTEXT}"'

    def __init__(self, document: ChangeCollection | ChangeCollectionPage) -> None:
        content = document.model_dump(mode="json", by_alias=True, exclude_none=True)
        super().__init__(content)


@router.get("/v1/changes", summary="Read what has changed", scope="read", also=(410,))
async def list_changes(
    query: Annotated[ChangesQuery, Query()], request: Request, services: ServicesDep, permit: PermitDep
) -> ChangesAnswer:
    """Returns the changes after a cursor, in the order of their commits.

    Changes are stored for thirty days. Continue with `next_cursor`, which is also set at the end of the feed;
    `wait` delays the answer until there is a change.
    """
    answer = await services.changes.read(
        query.after, query.types, query.limit, query.wait, permit.release, query.collection
    )
    await require_key_still_valid(request.scope)
    return ChangesAnswer.model_validate(answer)


@router.get(
    "/changes/collection",
    status_code=200,
    summary="Read the collection of changes",
    response_model=ChangeCollection,
    response_class=ActivityStream,
    scope="read",
)
async def read_collection(request: Request, services: ServicesDep) -> ActivityStream:
    """Returns links to the first and the last page of changes (IIIF Change Discovery 1.0, level 2)."""
    document = ChangeCollection.of(await services.changes.pages(), _base(request))
    return ActivityStream(document)


@router.get(
    "/changes/pages/{number}",
    status_code=200,
    summary="Read a page of the collection of changes",
    response_model=ChangeCollectionPage,
    response_class=ActivityStream,
    scope="read",
    also=(410,),
)
async def read_collection_page(
    number: Annotated[str, Path(description="Number of the page, from 0.", examples=["0"])],
    request: Request,
    services: ServicesDep,
) -> ActivityStream:
    """Returns up to 1,000 changes as activities, oldest first. Only the last page can still change."""
    if not _NUMBER.fullmatch(number):
        raise UnknownPage(number[:100])
    document = ChangeCollectionPage.of(await services.changes.page(int(number)), _base(request))
    return ActivityStream(document)


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")
