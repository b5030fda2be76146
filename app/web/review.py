"""The queue of pairs that a person should review: one pair at a time, decided with one key press."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from app.api.http.deps import ActorDep, ServicesDep, book_id_of
from app.services.access.audit import Actor
from app.services.access.sessions import LASTING
from app.services.pairs.decisions import (
    MOST_COUNTED,
    HistoryFilter,
    PastDecision,
    QueuedRelation,
    ReviewFilter,
)
from app.services.pairs.evidence import ShownPair, with_words
from app.web.pair import ANSWERS, KINDS, OUTCOMES, shown_values
from app.web.pairs import most_different, pair_name, place_name, place_named
from app.web.rendering import page
from app.web.routes import PageRouter
from app.wiring import Services
from bookprint_core.relations.classification import Kind

router = PageRouter()

_MOST_NEXT = 5
"""Maximum number of next pairs that are listed."""

_MOST_UNDONE = 5
"""Maximum number of the person's own decisions that are listed, newest first."""

_MOST_PAST = 100
"""Maximum number of the person's own decisions that are read to find the listed ones."""

_LONGEST_WORD = 100  # characters

_Blank = BeforeValidator(lambda text: text or None)
_Word = Annotated[str | None, Query(max_length=_LONGEST_WORD, pattern=r"^[^\x00]*$"), _Blank]


@dataclass(frozen=True, slots=True)
class _Told:
    """The person's latest decision on a pair, and the computed result for the pair."""

    past: PastDecision
    pair: ShownPair


@router.get("/review", scope="read")
async def show_review(
    request: Request,
    services: ServicesDep,
    actor: ActorDep,
    kind: Annotated[Kind | None, _Blank] = None,
    collection: _Word = None,
    language: _Word = None,
    year: Annotated[int | None, Query(ge=-9999, le=9999), _Blank] = None,
    blind: Annotated[bool | None, _Blank] = None,
    after: Annotated[str | None, Query(max_length=200), _Blank] = None,
    show: Annotated[str | None, Query(max_length=_LONGEST_WORD), _Blank] = None,
    done: Annotated[str | None, Query(max_length=_LONGEST_WORD), _Blank] = None,
) -> Response:
    """Show the first pair of the queue, or the pair `show`, with the form to decide."""
    asked = {"kind": kind, "collection": collection, "language": language, "year": year}
    kept = asked | {"blind": "1" if blind else None}

    def query(**more: str | None) -> str:
        return urlencode({name: value for name, value in (kept | more).items() if value is not None})

    wanted = ReviewFilter(kind, collection, language, year)
    queue = await services.decisions.reviews(wanted, place_named(after), _MOST_NEXT + 1, actor=actor)
    named = None if show is None else _pair_named(show)
    queued = next((each for each in queue.items if named in (None, _pair_of(each))), None)
    left, right = named or (None, None) if queued is None else _pair_of(queued)
    is_first = queued is not None and queued is queue.items[0]
    then = place_name(queue.items[0].place) if is_first else after
    values: dict[str, Any] = {"pair": None}
    if left is not None and right is not None:
        pair, texts = await asyncio.gather(
            services.evidence.shown(left, right), services.evidence.texts(left, right)
        )
        pair = await with_words(pair, texts, most_different(pair, 1))
        values = shown_values(pair) | {"pair_path": f"/pairs/{left}/{right}"}
    return page(
        request,
        "review.html",
        **values
        | {
            "kinds": KINDS,
            "answers": ANSWERS,
            "outcomes": OUTCOMES,
            "asked": asked,
            "blind": blind and request.state.caller.may("decide"),
            "next": [each for each in queue.items if _pair_of(each) != (left, right)][:_MOST_NEXT],
            "more": None if queue.next is None or queue.items else place_name(queue.next),
            "query": query,
            "after": after,
            "then": then,
            "back": query(after=then),
            "to_review": True,
            "past": [],
            "standing": None,
            "told": None if done is None else await _told(services, actor, *_pair_named(done)),
            "own": await _own(services, actor),
            "progress": await services.decisions.progress(),
            "most_counted": MOST_COUNTED,
            "pair_name": pair_name,
        },
    )


async def _told(services: Services, actor: Actor, left: UUID, right: UUID) -> _Told | None:
    """Return the person's last decision on a pair; None without a decision."""
    wanted = HistoryFilter(author=actor.author, pair=(min(left, right), max(left, right)))
    for past in await services.decisions.history(wanted, None, 1, actor=actor):
        return _Told(past, await services.evidence.shown(left, right))
    return None


async def _own(services: Services, actor: Actor) -> Sequence[PastDecision]:
    """Return the decisions that the person may undo, newest first. They are no older than a session."""
    since = HistoryFilter(author=actor.author, after=datetime.now(UTC) - LASTING)
    latest: dict[tuple[UUID, UUID], PastDecision] = {}
    for past in await services.decisions.history(since, None, _MOST_PAST, actor=actor):
        if past.outcome not in ("withdrawn", "undone"):
            latest.setdefault((past.left_id, past.right_id), past)
    return list(latest.values())[:_MOST_UNDONE]


def _pair_of(queued: QueuedRelation) -> tuple[UUID, UUID]:
    return queued.place.left, queued.place.right


def _pair_named(name: str) -> tuple[UUID, UUID]:
    left, _, right = name.partition(".")
    return book_id_of(left), book_id_of(right)
