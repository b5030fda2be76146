"""The first page: what the library holds, what is being worked on, and what changed lately."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from babel import Locale
from fastapi import Request
from starlette.responses import HTMLResponse, Response

from app.api.http.deps import ServicesDep
from app.services.changes import ChangeType
from app.services.library import Holdings
from app.stores.postgres.library import ValueCount
from app.web.languages import N_, current_language
from app.web.rendering import HEADERS, page, rendered
from app.web.routes import PageRouter

MOST_CHANGES = 12
MOST_VALUES = 15
"""Languages and collections that are shown."""

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
    return page(request, "library.html", holdings=holdings, charts=_charts, decades=_decades, **now)


@dataclass(frozen=True, slots=True)
class _Bar:
    """A value with its number of books, and the years that it is made of."""

    name: str | None  # None: it is not known of these books
    count: int
    query: str | None  # of the search that finds them
    years: Sequence[tuple[int, int, str]] = ()  # with the number of books, and the query


def _decades(holdings: Holdings) -> list[_Bar]:
    """The books by decade, the oldest first."""
    known = sorted((each.value, each.count) for each in holdings.years if each.value is not None)
    bars = []
    for decade, years in groupby(known, key=lambda year: year[0] // 10):
        of_years = [(year, count, urlencode({"year": year})) for year, count in years]
        bars.append(_Bar(f"{decade}0–{decade}9", sum(count for _, count, _ in of_years), None, of_years))
    unknown = [_Bar(None, each.count, None) for each in holdings.years if each.value is None]
    return bars + unknown


def _charts(holdings: Holdings) -> Iterator[tuple[str, Sequence[_Bar], int]]:
    """The chart of languages and that of collections, and how many more values there are of each."""
    for field, counts in (("language", holdings.languages), ("collection", holdings.collections)):
        yield field, [_bar(field, each) for each in counts[:MOST_VALUES]], max(len(counts) - MOST_VALUES, 0)


def _bar(field: str, counted: ValueCount) -> _Bar:
    if counted.value is None:
        return _Bar(None, counted.count, None)
    name = str(counted.value)
    if field == "language":
        known = Locale(current_language()).languages.get(name.split("-")[0].lower())
        name = f"{known} ({name})" if known else name
    return _Bar(name, counted.count, urlencode({field: counted.value}))
