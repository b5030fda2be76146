"""Lookups: bodies, queries, and the answer.

The answer is a TypedDict: it defines the schema, and orjson writes it directly. Writing a page of 100 books
with pydantic would take longer than the lookup.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

import orjson
from fastapi import Query, Request, Response
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from app.api.http.bodies import validated
from app.api.http.deps import BookId, MetricsDep, ServicesDep, book_id_of
from app.api.http.files import SentFileDep
from app.api.http.metrics import Metrics
from app.api.http.openapi import with_file
from app.api.http.routes import SubjectRouter
from app.api.schemas.documents import CollectionFilter, Cursors, Format, PageQuery, Warnings, file_fields
from app.api.schemas.signatures import FingerprintBody
from app.api.schemas.submissions import BookBody
from app.services.index.questions import Alike, Match, Nearest, Position, Question, Verified, Within
from app.services.lookups import Answer, query_entry
from app.wiring import Services
from bookprint_core.errors import InvalidInput
from bookprint_core.matching.places import Where
from bookprint_core.matching.verification import MatchVerdict, verdict
from bookprint_core.model import Entry, Fingerprint, Submission
from bookprint_core.recipe import DEFAULT_FINGERPRINT
from bookprint_core.relations.related import RelationSummary
from bookprint_core.signatures import identifier

_SHARE_DIGITS = 4
"""Decimals of similarities; 128 MinHash values are accurate to about two."""


class LookupBody(BookBody):
    """A book to look up: exactly one of text, pages, signatures, datasketch, identifier and fingerprint."""

    one_of: ClassVar[dict[str, str]] = BookBody.one_of | {"fingerprint": "object"}

    fingerprint: FingerprintBody | None = Field(default=None, description="A fingerprint alone.")

    def to_fingerprint(self) -> Fingerprint | None:
        return None if self.fingerprint is None else self.fingerprint.to_fingerprint("fingerprint")


class NearnessQuery(PageQuery):
    """The books to find: within d bits, the k nearest, by similarity, or by default near-duplicates."""

    d: int | None = Field(
        default=None, ge=0, le=128, description="Largest distance in bits; returns all such books, exact."
    )
    k: int | None = Field(
        default=None, ge=1, le=1_000, description="Number of nearest books, exact; not with d."
    )

    jaccard: float | None = Field(
        default=None,
        ge=0.3,
        le=1,
        description="Least Jaccard similarity, estimated from MinHash values; not with d or k. `recall` in "
        "the answer is the share that is found.",
    )

    include: Literal["common"] | None = Field(
        default=None,
        description="`common`: also returns books that share only common matter, and books found unrelated; "
        "not with d, k or jaccard.",
    )
    collection: CollectionFilter = None

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        asked = ("d", "k", "jaccard", "include")
        first, *others = [name for name in asked if getattr(self, name) is not None] or [""]
        for other in others:
            raise PydanticCustomError("not_together", f"{first} and {other} were both sent", {"field": other})
        return self

    def to_question(self) -> Question:
        if self.d is not None:
            return Within(self.d)
        if self.jaccard is not None:
            return Alike(self.jaccard)
        return Verified(self.include is not None) if self.k is None else Nearest(self.k)


class Containment(TypedDict):
    """Share of each book that the other book contains, estimated from their MinHash signatures."""

    this_in_other: Annotated[
        float | None, Field(description="Share of the query found in this item, 0 to 1.")
    ]
    other_in_this: Annotated[
        float | None, Field(description="Share of this item found in the query, 0 to 1.")
    ]


class SharedPlaces(TypedDict):
    """The range of each book from the first to the last hash that both samples contain."""

    this: Annotated[list[float], Field(description="First and last place in the query, 0 to 1.")]
    other: Annotated[list[float], Field(description="First and last place in this item, 0 to 1.")]
    even: Annotated[
        float, Field(description="Spread of the hashes: 1, all over a book; near 0, in one place of both.")
    ]


class RelationBrief(TypedDict):
    """The relation of two books by a person's decision, otherwise computed from their pages."""

    kind: str
    confidence: Annotated[float, Field(description="Confidence, 0 to 1; 1 for a person's decision.")]


class NearDuplicate(TypedDict):
    """A book near the query, with figures of nearness; null if a signature is missing."""

    id: UUID
    identifier: str | None
    title: str | None
    distance: Annotated[int | None, Field(description="Bits in which the fingerprints differ, 0 to 128.")]
    jaccard: Annotated[float | None, Field(description="Estimated share of common shingles, 0 to 1.")]
    containment: Containment
    verdict: Annotated[
        MatchVerdict | None,
        Field(
            description="`near_duplicate`: a copy, an edition, a part or a whole. `overlap`: a work or a "
            "chapter in common. `common_matter`: little more than a preface, a privilege or an advertisement "
            "at the same edge of both books. `none`: a few scattered phrases. Null with d, k or jaccard."
        ),
    ]
    where: Annotated[
        SharedPlaces | None,
        Field(description="Null within 23 bits, with d, k or jaccard, or if places are unknown."),
    ]
    relation: Annotated[RelationBrief | None, Field(description="Null until the pages have been compared.")]


class NearnessQuestion(TypedDict):
    """The query that is answered."""

    id: Annotated[UUID | None, Field(description="Id of the book in the path; null for a lookup.")]
    max_distance: Annotated[int | None, Field(description="The parameter `d`; null if not sent.")]
    nearest: Annotated[int | None, Field(description="The parameter `k`; null if not sent.")]
    jaccard: Annotated[float | None, Field(description="The parameter `jaccard`; null if not sent.")]


class NearDuplicates(TypedDict):
    """One page of the books near the query, nearest first."""

    query: NearnessQuestion
    exact: Annotated[bool, Field(description="True: the result provably contains every requested book.")]
    recall: Annotated[
        float | None,
        Field(
            description="Probability to find a book whose similarity is exactly `jaccard`; it is higher for "
            "more similar books. Null if `jaccard` was not sent."
        ),
    ]
    total: Annotated[int, Field(description="Number of books on all pages.")]
    items: list[NearDuplicate]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


class LookupAnswer(NearDuplicates):
    """One page of the books near the query, nearest first, with format and warnings of a sent file."""

    format: Format
    warnings: Warnings


def near_duplicates_of(
    answer: Answer, query: NearnessQuery, next_cursor: str | None, book_id: UUID | None = None
) -> NearDuplicates:
    """Return the document of an answer about the book `book_id`, or about a book that is not stored."""
    verified = query.d is None and query.k is None and query.jaccard is None
    return {
        "query": {"id": book_id, "max_distance": query.d, "nearest": query.k, "jaccard": query.jaccard},
        "exact": answer.exact,
        "recall": _rounded(answer.recall),
        "total": answer.total,
        "items": [
            _item(match, name, answer.relations.get(match.book.book_id), verified=verified)
            for match, name in zip(answer.matches, _identifiers(answer.matches), strict=True)
        ],
        "next_cursor": next_cursor,
    }


def _item(
    match: Match, name: str | None, relation: RelationSummary | None, *, verified: bool
) -> NearDuplicate:
    evidence = match.evidence
    # A book found by an identifier alone is the same book, and has no sample.
    found = "near_duplicate" if evidence.shared is None else verdict(evidence)
    return {
        "id": match.book.book_id,
        "identifier": name,
        "title": match.book.title,
        "distance": evidence.distance,
        "jaccard": _rounded(evidence.jaccard),
        "containment": {
            "this_in_other": _rounded(evidence.this_in_other),
            "other_in_this": _rounded(evidence.other_in_this),
        },
        "verdict": found if verified else None,
        "where": _places(evidence.where) if verified and evidence.where is not None else None,
        "relation": None
        if relation is None
        else {"kind": relation.kind, "confidence": round(relation.confidence, _SHARE_DIGITS)},
    }


def _places(where: Where) -> SharedPlaces:
    this, other = ([round(place, _SHARE_DIGITS) for place in span] for span in (where.this, where.other))
    return {"this": this, "other": other, "even": round(where.even, _SHARE_DIGITS)}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, _SHARE_DIGITS)


def _identifiers(matches: Sequence[Match]) -> list[str | None]:
    fingerprints = [match.book.entry.fingerprint for match in matches]
    with_fingerprint = [
        (fingerprint, match.book.word_count)
        for match, fingerprint in zip(matches, fingerprints, strict=True)
        if fingerprint is not None
    ]
    encoded = iter(identifier.encode_each(with_fingerprint))
    return [None if fingerprint is None else next(encoded) for fingerprint in fingerprints]


router = SubjectRouter("/v1", tag="lookups", description="Find the books near a stored book or near a text.")


def _arguments_of(request: Request) -> dict[str, Any]:
    state = request.app.state
    return {
        "book_id": book_id_of(request.path_params["book_id"]),
        "query": validated(NearnessQuery, dict(request.query_params)),
        "services": state.services,
        "metrics": state.metrics,
    }


@router.get(
    "/books/{book_id}/near-duplicates",
    summary="Find the books near a book",
    response_model=NearDuplicates,
    scope="read",
    is_lookup=True,
    arguments_of=_arguments_of,
)
async def near_duplicates(
    book_id: BookId, query: Annotated[NearnessQuery, Query()], services: ServicesDep, metrics: MetricsDep
) -> Response:
    """Returns the books near this book, nearest first, without the book itself.

    `d` returns every book at Hamming distance at most d, and `k` the k nearest books; both are provably
    complete. `jaccard` returns books at least that similar, the most similar first; MinHash bands propose
    them. Without a parameter, fingerprint and sample propose books, and the signatures confirm
    near-duplicates and books with a work or a chapter in common.
    """
    question = query.to_question()
    asked = (query.d, query.k, query.jaccard, query.include, query.collection)
    cursors = Cursors("near", book_id.bytes, DEFAULT_FINGERPRINT, *asked)
    metrics.count_lookup(question)
    position = cursors.place(query.cursor, Position)
    answer = await services.lookup.near_duplicates(book_id, question, position, query.limit, query.collection)
    return _written(near_duplicates_of(answer, query, cursors.at(answer.next), book_id))


async def look_up_file(
    sent: SentFileDep, query: Annotated[NearnessQuery, Query()], services: ServicesDep, metrics: MetricsDep
) -> Response:
    return await _answer_entry(lambda: query_entry(sent.content), query, services, metrics, sent)


@router.post(
    "/lookups",
    summary="Find the books near a text",
    response_model=LookupAnswer,
    scope="read",
    is_lookup=True,
    of_file=look_up_file,
    openapi_extra=with_file(),
)
async def look_up(
    body: LookupBody,
    query: Annotated[NearnessQuery, Query()],
    services: ServicesDep,
    metrics: MetricsDep,
) -> Response:
    """Returns the books near the text, signatures, identifier, fingerprint or file; nothing is stored.

    Without `d`, `k` or `jaccard`, an identifier finds the books that `bookprint compare` would call the same.
    Length and MinHash bits decide, and a common ISBN helps.
    """
    if query.jaccard is not None and (body.identifier is not None or body.fingerprint is not None):
        raise InvalidInput(
            "An identifier or a fingerprint has no MinHash values. Send the text or its signatures.",
            field="jaccard",
        )
    if (identifier := body.to_identifier()) is None:
        return await _answer_entry(
            lambda: query_entry(body.to_content(), body.to_sketch(), body.to_fingerprint()),
            query,
            services,
            metrics,
        )
    fingerprint, minhash = identifier.fingerprint, identifier.minhash
    asked = (
        (fingerprint.recipe, fingerprint.bits),
        minhash and (minhash.recipe, minhash.bits, minhash.shingle_count),
        (identifier.word_count, identifier.isbn),
    )
    return await _answer(asked, query, partial(services.lookup.look_up_identifier, identifier), metrics)


async def _answer_entry(
    to_entry: Callable[[], Entry],
    query: NearnessQuery,
    services: Services,
    metrics: Metrics,
    sent: Submission | None = None,
) -> Response:
    """Return an answer with the books near a book's signatures; `sent` is the book read from a file."""
    entry = await asyncio.to_thread(to_entry)
    fingerprint, minhash, sample = entry.fingerprint, entry.minhash, entry.sample
    asked = (
        fingerprint and (fingerprint.recipe, fingerprint.bits),
        minhash and (minhash.recipe, minhash.values.tobytes(), minhash.shingle_count),
        sample and (sample.recipe, sample.hashes.tobytes(), sample.level),
    )
    return await _answer(asked, query, partial(services.lookup.look_up, entry), metrics, sent)


async def _answer(
    asked: tuple[object, ...],
    query: NearnessQuery,
    look_up: Callable[[Question, Position | None, int, str | None], Awaitable[Answer]],
    metrics: Metrics,
    sent: Submission | None = None,
) -> Response:
    question = query.to_question()
    nearness = (query.d, query.k, query.jaccard, query.include, query.collection)
    cursors = Cursors("look-up", *asked, *nearness)
    metrics.count_lookup(question)
    position = cursors.place(query.cursor, Position)
    answer = await look_up(question, position, query.limit, query.collection)
    found = near_duplicates_of(answer, query, cursors.at(answer.next))
    return _written({**found, **file_fields(sent)})


def _written(document: NearDuplicates | LookupAnswer) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")
