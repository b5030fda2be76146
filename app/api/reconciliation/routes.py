"""The reconciliation API 0.2 of the W3C community group, which OpenRefine and others speak."""

import asyncio
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from typing import Annotated, Any, Literal

import orjson
from fastapi import HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError

from app.api.http import examples
from app.api.http.bodies import UnparsableJson, parsed, validated
from app.api.http.deps import BookId, ServicesDep
from app.api.http.openapi import problems
from app.api.http.routes import SubjectRouter
from app.api.http.usage import count_lookups
from app.api.reconciliation.answers import (
    ExtensionAnswer,
    Flyout,
    Manifest,
    ProposedProperties,
    ResultBatch,
    Suggestions,
    described,
    extension_of,
    failed,
    manifest_at,
    result_of,
    suggested,
)
from app.api.reconciliation.forms import MEDIA_TYPE, form_fields
from app.api.reconciliation.pages import POLICY, book_fragment, book_page
from app.api.reconciliation.queries import (
    BATCH_SIZE,
    BOOK_TYPE,
    WIDER_TYPE,
    ExtensionQuery,
    ReconciliationQuery,
    SuggestQuery,
)
from app.catalog.reconciliation import (
    PROPERTIES,
    RELATIONS,
    BookDescription,
    BookFacts,
    book_id_of,
    book_name,
)
from app.core.errors import BookprintError, InvalidInput, UnknownBook
from app.core.text.names import folded
from app.services.access.keys import Caller
from app.wiring import Services

router = SubjectRouter(
    "/reconcile",
    tag="reconciliation",
    description="Match the rows of a table with books, as OpenRefine does it.",
)

Suggested = Annotated[SuggestQuery, Query()]
Described = tuple[ReconciliationQuery, BookDescription] | Exception

_MOST_FIELDS = 100_000
"""Names of an object in a batch; an object with more is refused before it is read."""

_SUGGESTIONS = 20
_TYPES: list[dict[str, Any]] = [BOOK_TYPE | {"broader": [WIDER_TYPE]}, WIDER_TYPE]

_BATCH, _BATCH_EXAMPLE = "A batch of queries as JSON.", '{"q0": {"query": "Emma"}}'
# Without an example, because only one of the two fields is sent, and tools fill in all examples.
_EXTENSION = (
    "Instead a data extension query as JSON, as "
    f'{{"ids": ["{examples.BOOK_ID}"], "properties": [{{"id": "isbn"}}]}}.'
)
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            MEDIA_TYPE: {
                "schema": {
                    "type": "object",
                    "properties": {
                        "queries": {"type": "string", "description": _BATCH, "example": _BATCH_EXAMPLE},
                        "extend": {"type": "string", "description": _EXTENSION, "example": ""},
                    },
                },
            }
        },
    }
}


@router.get(
    "",
    summary="Read the manifest of the reconciliation service",
    response_model=Manifest | ResultBatch | ExtensionAnswer,
    responses=problems(413, 422, 503),
    scope="read",
)
async def manifest(
    request: Request,
    services: ServicesDep,
    queries: Annotated[str | None, Query(description=_BATCH, examples=[_BATCH_EXAMPLE])] = None,
    extend: Annotated[str | None, Query(description=_EXTENSION)] = None,
) -> Response:
    """Answers what the service can do; with `queries` or `extend`, the same as POST."""
    if not queries and not extend:
        address = request.app.state.public_url or str(request.base_url)
        return _written(manifest_at(address.rstrip("/"), version("bookprint")))
    return await _answered(request, services, queries, extend)


@router.post(
    "",
    summary="Find the books that the rows of a table mean",
    response_model=ResultBatch | ExtensionAnswer,
    responses=problems(413, 415, 422, 503),
    scope="read",
    openapi_extra=_FORM,
)
async def reconcile(request: Request, services: ServicesDep) -> Response:
    """Answers candidates for each of up to 1,000 `queries`, or with `extend` what is known of books.

    Scores go from 0 to 100; the features of a candidate show why. A wrong query has an `error` beside its
    empty result, and spoils no other. Each query counts as a lookup.
    """
    fields = await form_fields(request, "queries", "extend")
    return await _answered(request, services, fields.get("queries"), fields.get("extend"))


@router.get(
    "/suggest/entity",
    summary="Suggest books",
    response_model=Suggestions,
    responses=problems(422, 503),
    scope="read",
)
async def suggest_entity(query: Suggested, services: ServicesDep) -> Response:
    """Answers books whose titles start so, in alphabetical order, or the one with this id or identifier."""
    books = await services.reconciliation.suggest(query.prefix, query.cursor, _SUGGESTIONS)
    suggestions = [
        {
            "id": book.id,
            "name": book_name(book.metadata.title, book.id),
            "description": described(book.metadata, book.page_count),
            "notable": [BOOK_TYPE],
        }
        for book in books
    ]
    return _written({"result": suggestions})


@router.get(
    "/suggest/property",
    summary="Suggest properties",
    response_model=Suggestions,
    responses=problems(422),
    scope="read",
)
async def suggest_property(query: Suggested) -> Response:
    """Answers the properties whose names or ids start so."""
    return _written(_starting(query, [suggested(each) for each in PROPERTIES]))


@router.get(
    "/suggest/type",
    summary="Suggest types",
    response_model=Suggestions,
    responses=problems(422),
    scope="read",
)
async def suggest_type(query: Suggested) -> Response:
    """Answers the types whose names or ids start so."""
    return _written(_starting(query, _TYPES))


@router.get(
    "/flyout/{kind}",
    summary="Describe what is suggested",
    response_model=Flyout,
    responses=problems(404, 422),
    scope="read",
)
async def flyout(
    kind: Annotated[Literal["entity", "property", "type"], Path(description="What was suggested.")],
    services: ServicesDep,
    suggestion: Annotated[str, Query(alias="id", max_length=1_000, description="The id that was suggested.")],
) -> Response:
    """Answers a fragment of HTML about a book, a property or a type."""
    if kind == "entity":
        html = book_fragment(await _facts(services, suggestion, with_relations=False))
    else:
        described = (
            {each["id"]: each["name"] for each in _TYPES}
            if kind == "type"
            else {each.id: each.description for each in PROPERTIES}
        )
        if suggestion not in described:
            raise InvalidInput(f"There is no such {kind}. /reconcile/suggest/{kind} lists them.", "id")
        html = f"<p>{escape(described[suggestion])}</p>"
    return _written({"id": suggestion, "html": html})


@router.get(
    "/preview/{book_id}",
    summary="Show a book on a small page",
    response_class=Response,
    responses=problems(404, 422, 503) | {200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    scope="read",
)
async def preview(book_id: BookId, services: ServicesDep) -> Response:
    """Answers a page for people, to be shown in a frame: title, authors, identifiers and relations."""
    page = book_page(await _facts(services, str(book_id), with_relations=True))
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": POLICY})


@router.get(
    "/properties",
    summary="Propose properties to fetch",
    response_model=ProposedProperties,
    responses=problems(422),
    scope="read",
)
async def propose_properties(
    of_type: Annotated[
        str | None, Query(alias="type", max_length=1_000, description="The type of the entities.")
    ] = None,
    limit: Annotated[int | None, Query(ge=1, le=1_000, description="How many to answer at most.")] = None,
) -> Response:
    """Answers the properties that a column can be filled with."""
    proposed = [suggested(each) for each in PROPERTIES if each.extends]
    answer: dict[str, Any] = {"properties": proposed[:limit]}
    asked = {"type": of_type, "limit": limit}
    return _written(answer | {name: value for name, value in asked.items() if value is not None})


async def _answered(
    request: Request, services: Services, queries: str | None, extend: str | None
) -> Response:
    if queries and not extend:
        return _written(await _results(request, services, queries))
    if extend and not queries:
        return _written(await _extension(services, extend))
    raise InvalidInput("Send one of the fields queries and extend, with a JSON object in it.", "queries")


async def _results(request: Request, services: Services, text: str) -> dict[str, Any]:
    described = await asyncio.to_thread(_read_batch, text)
    await _count_lookups(request, len(described))
    asked = {
        name: each for name, each in described.items() if isinstance(each, tuple) and each[0].wants_books()
    }
    found = await services.reconciliation.candidates([description for _, description in asked.values()])
    answers = dict(zip(asked, found, strict=True))
    return {
        name: failed(each) if isinstance(each, Exception) else result_of(each[0], answers.get(name, []))
        for name, each in described.items()
    }


async def _count_lookups(request: Request, queries: int) -> None:
    """Count each query of a batch as a lookup; raises HTTPException, also for more than may ever be sent."""
    caller: Caller = request.state.caller
    most = caller.limits.lookups_per_minute
    if most is not None and queries > most:
        raise HTTPException(
            413, f"The batch has {queries:,} queries, and this key may send {most:,} in a minute"
        )
    await count_lookups(request.scope, queries)


def _read_batch(text: str) -> dict[str, Described]:
    """Each query of the batch, or what is wrong with it; raises where that is true of all of them."""
    batch = _json_object(text, "queries")
    if len(batch) > BATCH_SIZE:
        raise HTTPException(
            413, f"The batch has {len(batch):,} queries; send at most {BATCH_SIZE:,} at a time"
        )
    described = {name: _read_query(name, value) for name, value in batch.items()}
    wrong = [each for each in described.values() if isinstance(each, Exception)]
    if wrong and len(wrong) == len(described):
        raise wrong[0]
    return described


def _read_query(name: str, value: object) -> Described:
    try:
        query = validated(ReconciliationQuery, value, name)
        return query, query.to_description()
    except (RequestValidationError, BookprintError) as error:
        return error


async def _extension(services: Services, text: str) -> dict[str, Any]:
    value = await asyncio.to_thread(_json_object, text, "extend")
    query = validated(ExtensionQuery, value)
    if len(query.ids) > BATCH_SIZE:
        raise HTTPException(413, f"There are {len(query.ids):,} ids; send at most {BATCH_SIZE:,} at a time")
    ids = list({book_id for text in query.ids if (book_id := book_id_of(text)) is not None})
    facts = await services.reconciliation.facts(ids, with_relations=RELATIONS in query.property_ids)
    return extension_of(query, facts)


def _json_object(text: str, field: str) -> Mapping[str, Any]:
    try:
        value = parsed(text.encode("utf-8", "replace"), _MOST_FIELDS)
    except UnparsableJson as error:
        raise UnparsableJson(str(error), error.remedy, 422, field) from None
    if not isinstance(value, dict):
        raise InvalidInput("This is no JSON object. Send one.", field)
    return value


async def _facts(services: Services, text: str, *, with_relations: bool) -> BookFacts:
    """What is known of the book with this id; raises UnknownBook."""
    if (book_id := book_id_of(text)) is not None:
        facts = await services.reconciliation.facts([book_id], with_relations=with_relations)
        if book_id in facts:
            return facts[book_id]
    raise UnknownBook(text[:100])


def _starting(query: SuggestQuery, every: list[dict[str, Any]]) -> dict[str, Any]:
    start = folded(query.prefix)
    found = [
        each
        for each in every
        if folded(each["name"]).startswith(start) or each["id"].startswith(query.prefix)
    ]
    return {"result": found[query.cursor :]}


def _written(document: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")
