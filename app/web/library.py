"""The first page: contents of the library, background work, and the latest changes."""

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from app.api.http.deps import ServicesDep
from app.services.changes import ChangeType
from app.web.rendering import HEADERS, page, rendered
from app.web.routes import PageRouter

MOST_CHANGES = 12

CHANGES: dict[ChangeType, str] = {
    "book.created": "Added",
    "book.changed": "Record changed",
    "book.content_replaced": "Text replaced",
    "book.deleted": "Deleted",
    "relation.found": "Relation found",
    "relation.gone": "Relation removed",
    "relation.decided": "Decision made",
    "cluster.changed": "Cluster changed",
}
TASKS = {"relate": "Comparing books", "reconcile": "Updating the index"}
STATES = {"waiting": "waiting", "running": "running", "failed": "failed"}
PARTS = {"postgres": "Database", "redis": "Index", "jobs": "Background work"}

router = PageRouter()


@router.get("/", scope="read")
async def show_library(request: Request, services: ServicesDep, part: str | None = None) -> Response:
    """Show contents, background work and changes; with `part=now` only background work and changes."""
    now: dict[str, Any] = {
        "jobs": await services.jobs.count(),
        "pending": await services.entries.count_pending(),
        "health": await services.health.check(),
        "latest": await services.library.latest(MOST_CHANGES),
        "changes": CHANGES,
        "tasks": TASKS,
        "states": STATES,
        "parts_of_service": PARTS,
    }
    if part == "now":
        return HTMLResponse(rendered(request, "library_now.html", **now), headers=HEADERS)
    holdings = await services.library.holdings()
    return page(request, "library.html", holdings=holdings, **now)
