"""The page of two stored books: relation, matching pages, decisions, and the form to decide."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Form, Query, Request
from pydantic import AwareDatetime
from starlette.responses import Response

from app.api.http.deps import ActorDep, BookId, OtherId, ServicesDep
from app.catalog.evidence import Form as EvidenceForm, written
from app.services.pairs.decisions import HistoryFilter, NewDecision, ReviewPlace, Said
from app.services.pairs.evidence import MatchedPage, ShownPair, with_words
from app.web.pair import ShownRun, plot_file, shown_values
from app.web.rendering import HEADERS, page as page_of, redirect
from app.web.routes import PageRouter
from bookprint_core.errors import DecidedMeanwhile, InvalidInput
from bookprint_core.metadata import control_in, on_one_line
from bookprint_core.relations.classification import Kind

router = PageRouter()

LONGEST_NOTE = 1_000  # characters
_MOST_PAST = 50
"""Maximum number of decisions on the pair that are listed."""

_MOST_DIFFERENT = 8
"""Number of links to the pages that differ most."""

_LONGEST_QUERY = 1_000  # characters

_TYPES: dict[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonld": "application/ld+json",
    "svg": "image/svg+xml",
}
_FORMS: dict[str, EvidenceForm] = {"csv": "csv", "jsonld": "annotations"}

_KINDS: frozenset[str] = frozenset(get_args(Kind))
_Said = Literal["confirmed", "rejected", "undone", "unsure"] | Kind
_PageNumber = Annotated[int | None, Query(ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class _Place:
    """The shown page of this book, its matches, and the pages before and after it."""

    page: MatchedPage
    run: int | None  # number of the page's run, from 1
    before: int | None  # number of the previous page with a match, from 1
    after: int | None
    asked: int | None  # the requested page, if it has no match


@router.get("/pairs/{book_id}/{other_id}.{form}", scope="read")
async def export_pair(
    book_id: BookId, other_id: OtherId, form: Literal["csv", "jsonld", "svg"], services: ServicesDep
) -> Response:
    """Return the evidence of a pair as a file for other programs."""
    if form == "svg":
        body = plot_file(await services.evidence.shown(book_id, other_id)).encode()
    else:
        body = written(await services.evidence.read(book_id, other_id), _FORMS[form])
    name = f'attachment; filename="pair-{book_id}-{other_id}.{form}"'
    return Response(body, headers=HEADERS | {"Content-Type": _TYPES[form], "Content-Disposition": name})


@router.get("/pairs/{book_id}/{other_id}", scope="read")
async def show_pair(
    request: Request,
    book_id: BookId,
    other_id: OtherId,
    services: ServicesDep,
    actor: ActorDep,
    run: _PageNumber = None,
    page: _PageNumber = None,
    done: bool = False,
    meanwhile: bool = False,
) -> Response:
    """Show two books side by side at the requested run or page, else at the pages that differ most."""
    wanted = HistoryFilter(pair=(min(book_id, other_id), max(book_id, other_id)))
    pair, texts, past = await asyncio.gather(
        services.evidence.shown(book_id, other_id),
        services.evidence.texts(book_id, other_id),
        services.decisions.history(wanted, None, _MOST_PAST, actor=actor),
    )
    values = shown_values(pair)
    place = _place(pair, values["plot"].runs, run, page)
    if place is not None:
        pair = await with_words(pair, texts, [place.page])

    def link(**query: int | None) -> str:
        return f"?{urlencode({name: number for name, number in query.items() if number is not None})}"

    values |= {
        "pair": pair,
        "place": place,
        "link": link,
        "pair_path": f"/pairs/{book_id}/{other_id}",
        "most_different": most_different(pair, _MOST_DIFFERENT),
        "past": past,
        "standing": next((each for each in past if each.own and each.outcome == "unsure"), None),
        "back": "" if place is None else link(run=run, page=page)[1:],
        "to_review": False,
        "done": done,
        "meanwhile": meanwhile,
    }
    return page_of(request, "pair.html", **values)


@router.post("/pairs/{book_id}/{other_id}/decision", scope="decide")
async def decide(
    request: Request,
    book_id: BookId,
    other_id: OtherId,
    services: ServicesDep,
    actor: ActorDep,
    answer: Annotated[_Said, Form()],
    note: Annotated[str, Form(max_length=LONGEST_NOTE)] = "",
    instead_of: Annotated[AwareDatetime | Literal["nothing", "anything"], Form()] = "anything",
    back: Annotated[str, Form(max_length=_LONGEST_QUERY)] = "",
    to_review: Annotated[bool, Form()] = False,
) -> Response:
    """Record a decision on two books, and return to the pair or to the queue.

    `instead_of` is the time of the decision that the person saw, or that is undone. If a newer decision
    exists, nothing is recorded, and the pair is shown with the newer decision.
    """
    if (code := control_in(note)) is not None:
        raise InvalidInput(f"A note may not contain the control character {code}.", "note")
    verdict: Said = "kind" if answer in _KINDS else answer  # type: ignore[assignment]
    kind: Kind | None = answer if answer in _KINDS else None  # type: ignore[assignment]
    decision = NewDecision(book_id, other_id, verdict, kind, on_one_line(note).strip() or None, instead_of)
    try:
        await services.decisions.decide([decision], actor=actor)
    except DecidedMeanwhile:
        return redirect(request, f"/pairs/{book_id}/{other_id}?meanwhile=1")
    query = dict(parse_qsl(back)[:10])
    if to_review:
        query = {name: value for name, value in query.items() if name not in ("done", "show")}
        query["show" if verdict == "undone" else "done"] = pair_name(book_id, other_id)
        undone = await services.decisions.place(book_id, other_id) if verdict == "undone" else None
        if undone is not None and (after := place_named(query.get("after"))) is not None:
            before = undone._replace(right=UUID(int=undone.right.int + 1))
            query["after"] = place_name(max(before, after))
        return redirect(request, f"/review?{urlencode(query)}")
    return redirect(request, f"/pairs/{book_id}/{other_id}?{urlencode(query | {'done': '1'})}")


def pair_name(left: UUID, right: UUID) -> str:
    return f"{left}.{right}"


def place_name(place: ReviewPlace) -> str:
    return f"{place.rank!r}_{place.left}_{place.right}"


def place_named(name: str | None) -> ReviewPlace | None:
    """Parse a place in the queue; raises InvalidInput."""
    if name is None:
        return None
    try:
        rank, left, right = name.split("_")
        return ReviewPlace(float(rank), UUID(left), UUID(right))
    except ValueError:
        raise InvalidInput("This is not a place in the queue. Open the queue again.", "after") from None


def most_different(pair: ShownPair, most: int) -> Sequence[MatchedPage]:
    """Return the matching pages that differ most, most different first."""
    return sorted(pair.matched, key=lambda page: page.similarity)[:most]


def _place(pair: ShownPair, runs: Sequence[ShownRun], run: int | None, page: int | None) -> _Place | None:
    """Return the place that a request names; None if no page matches."""
    if not pair.matched:
        return None
    pages = list(pair.matched)
    found = None
    if page is not None:
        found = next((each for each in pages if each.this >= page - 1), pages[-1])
    elif run is not None and run <= len(runs):
        start, end = runs[run - 1].run.this
        found = min(
            (each for each in pages if start <= each.this < end),
            key=lambda each: each.similarity,
            default=None,
        )
    found = found or most_different(pair, 1)[0]
    numbers = [
        number for number, each in enumerate(runs, 1) if each.run.this[0] <= found.this < each.run.this[1]
    ]
    index = pages.index(found)
    return _Place(
        found,
        run if run in numbers else next(iter(numbers), None),
        pages[index - 1].this + 1 if index else None,
        pages[index + 1].this + 1 if index + 1 < len(pages) else None,
        page if page not in (None, found.this + 1) else None,
    )
