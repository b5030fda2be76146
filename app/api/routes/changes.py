"""The feed of changes, and the same for harvesters of IIIF Change Discovery 1.0."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse

from app.api.http.access import ScopedRoute, needs, require_key_still_valid
from app.api.http.deps import PermitDep, ServicesDep
from app.api.http.openapi import problems
from app.api.schemas.changes import (
    CONTEXT,
    ChangeCollection,
    ChangeCollectionPage,
    ChangesAnswer,
    ChangesQuery,
)
from app.core.errors import UnknownPage

router = APIRouter(tags=["changes"], route_class=ScopedRoute)

_NUMBER = re.compile(r"[0-9]{1,15}")


class ActivityStream(JSONResponse):
    """JSON-LD."""

    media_type = f'application/ld+json;profile="{CONTEXT}"'

    def __init__(self, document: ChangeCollection | ChangeCollectionPage) -> None:
        content = document.model_dump(mode="json", by_alias=True, exclude_none=True)
        super().__init__(content)


@router.get(
    "/v1/changes",
    summary="Read what has changed",
    responses=problems(410, 422, 503),
    openapi_extra=needs("read"),
)
async def list_changes(
    query: Annotated[ChangesQuery, Query()], request: Request, services: ServicesDep, permit: PermitDep
) -> ChangesAnswer:
    """Answers the changes behind a cursor, oldest first, in the order in which they were committed.

    They are kept for thirty days. Go on with `next_cursor`, which is there when nothing is left, too; `wait`
    holds the answer until something has changed.
    """
    answer = await services.changes.read(query.after, query.types, query.limit, query.wait, permit.release)
    await require_key_still_valid(request.scope)
    return ChangesAnswer.model_validate(answer)


@router.get(
    "/changes/collection",
    status_code=200,
    summary="Read the collection of changes",
    response_model=ChangeCollection,
    response_class=ActivityStream,
    responses=problems(503),
    openapi_extra=needs("read"),
)
async def read_collection(request: Request, services: ServicesDep) -> ActivityStream:
    """Answers the first and the last page of the changes that are kept.

    Both are as IIIF Change Discovery 1.0 says, level 2.
    """
    document = ChangeCollection.of(await services.changes.pages(), _base(request))
    return ActivityStream(document)


@router.get(
    "/changes/pages/{number}",
    status_code=200,
    summary="Read a page of that collection",
    response_model=ChangeCollectionPage,
    response_class=ActivityStream,
    responses=problems(404, 410, 422, 503),
    openapi_extra=needs("read"),
)
async def read_collection_page(
    number: Annotated[str, Path(description="Number of the page, from 0.", examples=["0"])],
    request: Request,
    services: ServicesDep,
) -> ActivityStream:
    """Answers up to 1,000 changes as activities, oldest first. A page that is not the last never changes."""
    if not _NUMBER.fullmatch(number):
        raise UnknownPage(number[:100])
    document = ChangeCollectionPage.of(await services.changes.page(int(number)), _base(request))
    return ActivityStream(document)


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")
