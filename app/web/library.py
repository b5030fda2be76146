"""The first page: what the library holds, what is being worked on, and what changed lately."""

from typing import Any

from babel import Locale
from fastapi import Request
from starlette.responses import HTMLResponse, Response

from app.api.http.deps import ServicesDep
from app.services.changes import ChangeType
from app.web.languages import N_, current_language
from app.web.rendering import HEADERS, page, rendered
from app.web.routes import PageRouter

MOST_CHANGES = 12

CHANGES: dict[ChangeType, str] = {
    "book.created": N_("Added"),
    "book.changed": N_("Record changed"),
    "book.content_replaced": N_("Text replaced"),
    "book.deleted": N_("Deleted"),
    "relation.found": N_("Relation found"),
    "relation.gone": N_("Relation gone"),
    "relation.decided": N_("Decided"),
    "cluster.changed": N_("Cluster changed"),
}
TASKS = {"relate": N_("Comparing books"), "reconcile": N_("Bringing the index up to date")}
STATES = {"waiting": N_("waiting"), "running": N_("running"), "failed": N_("failed")}
PARTS = {"postgres": N_("Database"), "redis": N_("Index"), "jobs": N_("Background work")}

router = PageRouter()


@router.get("/", scope="read")
async def show_library(request: Request, services: ServicesDep, part: str | None = None) -> Response:
    """What is there, and what is going on; that part alone, where it is asked for with `part=now`."""
    now: dict[str, Any] = {
        "jobs": await services.jobs.counts(),
        "pending": await services.books.count_pending(),
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
    return page(request, "library.html", holdings=holdings, language_name=language_name, **now)


def language_name(code: str) -> str:
    """The name of a language as it is known to readers of the page, else its code."""
    known = Locale(current_language()).languages.get(code.split("-")[0].lower())
    return f"{known} ({code})" if known else code
