"""The OpenAPI document: bodies and answers by name, and the problems of each operation."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.http.problems import MEDIA_TYPE, Problem
from app.api.schemas.answers import Alive, BookAnswer, BookList, NearDuplicates, PostedBook, Ready
from app.api.schemas.clusters import ClusterAnswer
from app.api.schemas.jobs import JobAnswer
from app.api.schemas.relations import PageRelation, RelationsAnswer
from app.api.schemas.requests import BookBody, ContentBody, DecisionBody, LookupBody, MetadataBody

_REFERENCE = "#/components/schemas/{model}"

_MODELS: tuple[type[BaseModel], ...] = (
    Alive,
    BookAnswer,
    BookBody,
    BookList,
    ClusterAnswer,
    ContentBody,
    DecisionBody,
    JobAnswer,
    LookupBody,
    MetadataBody,
    NearDuplicates,
    PageRelation,
    PostedBook,
    Problem,
    Ready,
    RelationsAnswer,
)

_DESCRIPTIONS = {
    400: "The body is not JSON.",
    404: "There is no such book, cluster, job, relation or decision.",
    409: "Another book is in the way, `book_id` names it; or there is nothing to confirm.",
    412: "The book has changed since the version in If-Match.",
    413: "The body is larger than this service takes.",
    415: "The body is not UTF-8 JSON.",
    422: "The request is invalid; `errors` names each field and what to do about it.",
    503: "A part of the service is down or being rebuilt; try again after Retry-After seconds.",
}

Responses = dict[int | str, dict[str, Any]]


def answers(models: Mapping[int, type[BaseModel]], headers: Mapping[str, str] | None = None) -> Responses:
    """The answers of an operation that succeeded, by status, and the headers that come with them."""
    shown = {
        name: {"description": text, "schema": {"type": "string"}} for name, text in (headers or {}).items()
    }
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "headers": shown,
            "content": {"application/json": {"schema": _reference(model)}},
        }
        for status, model in models.items()
    }


def plain(description: str) -> Responses:
    """The answer of an operation that gives plain text."""
    return {200: {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}}


def moved(description: str) -> Responses:
    """The answer of an operation that leads to another path."""
    location = {"description": "Where to go on.", "schema": {"type": "string"}}
    return {308: {"description": description, "headers": {"Location": location}}}


def problems(*statuses: int) -> Responses:
    """The problems that an operation can end in."""
    content = {MEDIA_TYPE: {"schema": _reference(Problem)}}
    return {status: {"description": _DESCRIPTIONS[status], "content": content} for status in statuses}


def body(model: type[BaseModel], examples: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The request body of an operation, which reads it by itself; `examples` by their summaries."""
    shown = {
        summary.lower().replace(" ", "-"): {"summary": summary, "value": value}
        for summary, value in examples.items()
    }
    content = {"application/json": {"schema": _reference(model), "examples": shown}}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> None:
    """Make the application describe itself with the schemas of bodies that its endpoints read themselves."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            _, schemas = models_json_schema(
                [(model, "validation") for model in _MODELS], ref_template=_REFERENCE
            )
            components = described.setdefault("components", {}).setdefault("schemas", {})
            components.update(schemas["$defs"])
            app.openapi_schema = described
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
