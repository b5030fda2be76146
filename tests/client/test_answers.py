"""The types of the client's answers agree with the schemas that the service publishes."""

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from app.client.answers import books, operation, relations, similar
from app.main import create_app
from app.settings import Settings

SCHEMAS = {
    "BookAnswer": books.BookJson,
    "PostedBook": books.PostedBookJson,
    "BookList": books.BooksJson,
    "NearDuplicates": books.NearDuplicatesJson,
    "LookupAnswer": books.LookupJson,
    "SimilarBooksAnswer": similar.SimilarBooksJson,
    "MapAnswer": similar.MapJson,
    "RelationsAnswer": relations.RelationsJson,
    "PageRelation": relations.PageRelationJson,
    "ClusterAnswer": relations.ClusterJson,
    "JobAnswer": operation.JobJson,
    "ConflictList": relations.ConflictsJson,
    "ChangesAnswer": operation.ChangesJson,
    "WebhookWithSecret": operation.WebhookWithSecretJson,
    "WebhookList": operation.WebhooksJson,
}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def disagreement(schema: dict[str, Any], hint: Any, schemas: dict[str, Any], at: str) -> list[str]:
    """Where a type and a schema differ, in words."""
    if "$ref" in schema:
        return disagreement(schemas[schema["$ref"].rpartition("/")[2]], hint, schemas, at)
    if get_origin(hint) in (Union, UnionType):
        [inner] = [each for each in get_args(hint) if each is not NoneType]
        options = schema.get("anyOf", [])
        if {"type": "null"} not in options:
            return [f"{at}: never null"]
        [rest] = [each for each in options if each != {"type": "null"}]
        return disagreement(rest, inner, schemas, at)
    if "anyOf" in schema:
        return [f"{at}: may be null"]
    if is_typeddict(hint):
        hints, properties = get_type_hints(hint), schema["properties"]
        if hints.keys() != properties.keys():
            return [f"{at}: fields {sorted(hints.keys() ^ properties.keys())}"]
        return [
            each
            for name in hints
            for each in disagreement(properties[name], hints[name], schemas, f"{at}.{name}")
        ]
    if get_origin(hint) is list:
        return (
            disagreement(schema.get("items", {}), get_args(hint)[0], schemas, f"{at}[]")
            if "items" in schema
            else []
        )
    if get_origin(hint) is Literal:
        values = set(schema.get("enum", [schema.get("const")]))
        return (
            []
            if schema["type"] == "string" and values in ({None}, set(get_args(hint)))
            else [f"{at}: {values}"]
        )
    if get_origin(hint) is dict:
        return [] if schema["type"] == "object" else [f"{at}: {schema}"]
    return [] if schema.get("type") == JSON_TYPES[hint] else [f"{at}: {schema}"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_answers_have_the_fields_of_their_schema(name: str) -> None:
    schemas = create_app(Settings()).openapi()["components"]["schemas"]
    assert disagreement(schemas[name], SCHEMAS[name], schemas, name) == []
