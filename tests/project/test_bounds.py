"""The bounds in docs/security.md against the code, and no parameter or field without a bound."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from app.main import create_app
from app.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\|[^|]+\| *([\d,]+) *\|[^|]*\| *`([^`]+)` *\|$", DOCUMENT, re.MULTILINE)

BOUNDED_BY_THE_BODY = {"text", "pages", "queries", "extend"}
"""Texts: as long as a body may be."""

BOUNDED_BY_THEIR_DECODERS = {"LookupBody.identifier", "PageSignaturesBody.values", "SampleBody.hashes"}
"""Encoded values, whose length follows from what they say."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings()).openapi()


def test_every_constant_is_as_the_table_says(document: dict[str, Any]) -> None:
    told = {place: float(number.replace(",", "")) for number, place in ROWS if not place.endswith(".py")}
    assert len(told) > 30
    assert {place: _bound(place, document) for place in told} == told


def _bound(place: str, document: dict[str, Any]) -> float | None:
    owner, _, name = place.rpartition(".")
    if owner == "settings":
        return float(Settings.model_fields[name].default)
    if "/" in owner:
        return float(getattr(import_module("app." + owner.replace("/", ".")), name))
    if owner:
        return _largest(document["components"]["schemas"][owner]["properties"][name])
    found = {
        bound
        for parameter in _parameters(document)
        if parameter["name"] == name and (bound := _largest(parameter["schema"])) is not None
    }
    return max(found, default=None)


def _largest(schema: dict[str, Any]) -> float | None:
    for name in ("maxItems", "maxLength", "maximum"):
        if name in schema:
            return float(schema[name])
    bounds = [bound for part in schema.get("anyOf", []) if (bound := _largest(part)) is not None]
    return max(bounds, default=None)


def _parameters(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        for operation in path.values():
            yield from operation.get("parameters", [])


def test_every_parameter_in_a_query_is_bounded(document: dict[str, Any]) -> None:
    open_ended = {
        parameter["name"]
        for parameter in _parameters(document)
        if parameter["in"] == "query" and not _is_bounded(parameter["schema"])
    }
    # A query is part of the head, whose length is bounded.
    assert open_ended - BOUNDED_BY_THE_BODY <= {"limit"}


def test_every_field_of_a_body_is_bounded(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    open_ended = {
        f"{name}.{field}"
        for name in _sent(document)
        for field, schema in schemas[name].get("properties", {}).items()
        if not _is_bounded(schema) and field not in BOUNDED_BY_THE_BODY
    }
    assert open_ended - BOUNDED_BY_THEIR_DECODERS == set()


def _sent(document: dict[str, Any]) -> set[str]:
    """The schemas that bodies of requests consist of."""
    schemas = document["components"]["schemas"]
    found: set[str] = set()
    wanted = {
        name
        for path in document["paths"].values()
        for operation in path.values()
        for name in _referred(operation.get("requestBody", {}))
    }
    while wanted:
        found |= wanted
        wanted = {name for each in wanted for name in _referred(schemas[each])} - found
    return found


def _referred(part: Any) -> set[str]:
    return set(re.findall(r"'#/components/schemas/(\w+)'", repr(part)))


def _is_bounded(schema: dict[str, Any]) -> bool:
    if parts := schema.get("anyOf") or schema.get("oneOf"):
        return all(_is_bounded(part) for part in parts)
    if schema.keys() & {"enum", "const", "$ref", "allOf", "pattern", "format"}:
        return True
    match schema.get("type"):
        case "string":
            return "maxLength" in schema
        case "array":
            return "maxItems" in schema
        case "integer" | "number":
            return bool(schema.keys() & {"maximum", "exclusiveMaximum"})
        case _:
            return True
