"""The reconciliation API 0.2 of the W3C community group, used by OpenRefine and other tools."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

import orjson
from fastapi import HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError

from app.api.http import examples
from app.api.http.bodies import (
    BodyRequest,
    UnparsableJson,
    UnsupportedMediaType,
    media_type,
    parsed,
    require_uncompressed,
    validated,
)
from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.http.usage import count_lookups
from app.api.schemas.reconciliation import (
    BATCH_SIZE,
    BOOK_TYPE,
    POLICY,
    ExtensionQuery,
    ReconciliationQuery,
    SuggestQuery,
    book_page,
    described,
    extension_of,
    failed,
    manifest_at,
    property_named,
    result_of,
)
from app.catalog.reconciliation import PROPERTIES, RELATIONS, BookDescription, book_id_of, book_name
from app.services.access.keys import Caller
from app.wiring import Services
from bookprint_core.errors import BookprintError, InvalidInput, UnknownBook

router = SubjectRouter(
    "/reconcile",
    tag="reconciliation",
    description="Match the rows of a table with books, as in OpenRefine. The [reconciliation API "
    "0.2](https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/) describes "
    "queries and answers.",
)

_Answer = dict[str, Any]
Described = tuple[ReconciliationQuery, BookDescription] | Exception

_MOST_NAMES = 100_000
"""Maximum number of names of an object in a batch."""

_MOST_FIELDS = 20
"""Maximum number of fields of a form."""

_PART = 1 << 16
"""Bytes of a form to decode at once, so that other threads run between the parts."""

_SUGGESTIONS = 20

_FORM_TYPE = "application/x-www-form-urlencoded"
_BATCH, _BATCH_EXAMPLE = "A batch of queries as JSON.", '{"q0": {"query": "Emma"}}'
# No OpenAPI example, because tools would send both fields, and only one is allowed.
_EXTENSION = (
    "Instead of queries, a data extension query as JSON, such as "
    f'{{"ids": ["{examples.BOOK_ID}"], "properties": [{{"id": "isbn"}}]}}.'
)
_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _FORM_TYPE: {
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
    response_model=_Answer,
    scope="read",
    also=(413, 422),
)
async def manifest(
    request: Request,
    services: ServicesDep,
    queries: Annotated[str | None, Query(description=_BATCH, examples=[_BATCH_EXAMPLE])] = None,
    extend: Annotated[str | None, Query(description=_EXTENSION)] = None,
) -> Response:
    """Returns the manifest of the service; with `queries` or `extend`, the same answer as POST."""
    if not queries and not extend:
        address = request.app.state.public_url or str(request.base_url)
        return _written(manifest_at(address.rstrip("/"), version("bookprint")))
    return await _answered(request, services, queries, extend)


@router.post(
    "",
    summary="Match the rows of a table with books",
    response_model=_Answer,
    scope="read",
    openapi_extra=_FORM,
    also=(413, 415, 422),
)
async def reconcile(request: Request, services: ServicesDep) -> Response:
    """Returns candidates for each of up to 1,000 `queries`, or properties of books for `extend`.

    Scores range from 0 to 100; the features of a candidate explain its score. An invalid query returns an
    `error` and an empty result, and does not affect other queries. Each query counts as a lookup.
    """
    fields = await _form_fields(request, "queries", "extend")
    return await _answered(request, services, fields.get("queries"), fields.get("extend"))


@router.get("/suggest/entity", summary="Suggest books", response_model=_Answer, scope="read")
async def suggest_entity(query: Annotated[SuggestQuery, Query()], services: ServicesDep) -> Response:
    """Returns books whose titles start with `prefix`, by title, or the book with this id or identifier."""
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
    "/preview/{book_id}",
    summary="Show a book on a small page",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    scope="read",
)
async def preview(book_id: BookId, services: ServicesDep) -> Response:
    """Returns a page for people, to show in a frame: title, authors, identifiers and relations."""
    books = await services.reconciliation.read_books([book_id])
    if book_id not in books:
        raise UnknownBook(book_id)
    page = book_page(books[book_id], await services.reconciliation.related(book_id))
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": POLICY})


@router.get("/properties", summary="Propose properties to fetch", response_model=_Answer, scope="read")
async def propose_properties() -> Response:
    """Returns the properties that can fill a column."""
    proposed = [
        {"id": name, "name": each.name, "description": each.description}
        for name, each in PROPERTIES.items()
        if each.extends
    ]
    return _written({"properties": proposed})


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
    """Count each query of a batch as a lookup; raises HTTPException for more than the limit per minute."""
    caller: Caller = request.state.caller
    most = caller.limits.lookups_per_minute
    if most is not None and queries > most:
        raise HTTPException(
            413, f"The batch has {queries:,} queries, and this key may send {most:,} in a minute"
        )
    await count_lookups(request.scope, queries)


def _read_batch(text: str) -> dict[str, Described]:
    """Return each query of the batch, or its error; raises the first error if all queries are invalid."""
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
    books = await services.reconciliation.read_books(ids)
    related = {}
    if RELATIONS in {property_named(each.id) for each in query.properties}:
        related = {book_id: await services.reconciliation.related(book_id) for book_id in books}
    return extension_of(query, books, related)


def _json_object(text: str, field: str) -> Mapping[str, Any]:
    try:
        value = parsed(text.encode("utf-8", "replace"), _MOST_NAMES)
    except UnparsableJson as error:
        raise UnparsableJson(str(error), error.remedy, 422, field) from None
    if not isinstance(value, dict):
        raise InvalidInput("This is not a JSON object. Send one.", field)
    return value


async def _form_fields(request: Request, *names: str) -> Mapping[str, str]:
    """Return the fields of a form; raises UnsupportedMediaType, or InvalidInput if one of `names` repeats.

    Starlette's parser is not used: it decodes on the event loop and replaces bytes that are not UTF-8.
    """
    require_uncompressed(request.headers)
    if (declared := media_type(request.headers)) not in {"", _FORM_TYPE}:
        raise UnsupportedMediaType(
            f"The body is declared as {declared[:80]}.", remedy=f"Send a form as {_FORM_TYPE}."
        )
    try:
        fields = await asyncio.to_thread(_fields, await BodyRequest(request).body())
    except ValueError:
        raise InvalidInput("The form cannot be read. Percent-encode its fields as UTF-8.", "body") from None
    sent = [name for name, _ in fields]
    for name in names:
        if sent.count(name) > 1:
            raise InvalidInput("This field was sent more than once. Send it once.", name)
    return dict(fields)


def _fields(body: bytes) -> list[tuple[str, str]]:
    parts = body.split(b"&", _MOST_FIELDS)
    if len(parts) > _MOST_FIELDS:
        raise ValueError("too many fields")
    named = (part.partition(b"=") for part in parts if part)
    return [(_decoded(name), _decoded(value)) for name, _, value in named]


def _decoded(text: bytes) -> str:
    decoded, start = bytearray(), 0
    while start < len(text):
        end = start + _PART
        if (escape := text.rfind(b"%", end - 2, end)) >= 0:
            end = escape  # the escape ends in the next part
        decoded += unquote_to_bytes(text[start:end].replace(b"+", b" "))
        start = end
    return decoded.decode()


def _written(document: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")
