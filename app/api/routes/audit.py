"""Reading the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.http.access import ScopedRoute, needs
from app.api.http.cursors import Cursors
from app.api.http.deps import ServicesDep
from app.api.http.openapi import problems
from app.api.schemas.audit import AuditAnswer, AuditList, AuditQuery

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=ScopedRoute)


@router.get(
    "", summary="Read who has written what", responses=problems(422, 503), openapi_extra=needs("admin")
)
async def list_audit(query: Annotated[AuditQuery, Query()], services: ServicesDep) -> AuditList:
    """Lists what was done to books, decisions, keys and webhooks, by whom and from where, the newest first.

    An entry is written with the thing that it tells of, so neither is there without the other. Requests that
    were refused are not in it.
    """
    wanted = query.to_filter()
    cursors = Cursors("audit", wanted)
    entries = await services.audit.page(wanted, cursors.number(query.cursor), query.limit + 1)
    page = entries[: query.limit]
    next_cursor = cursors.at_number(page[-1].sequence) if len(entries) > query.limit else None
    return AuditList(items=[AuditAnswer.of(entry) for entry in page], next_cursor=next_cursor)
