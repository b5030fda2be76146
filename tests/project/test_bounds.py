"""The bounds in docs/reference/bounds.md against the code, and no parameter or field without a bound."""

import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.api.schemas.reconciliation import ExtensionQuery, ReconciliationQuery
from app.main import create_app
from app.settings import Settings
from tests.project.test_documents import source_of

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reference" / "bounds.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\|[^|]+\| *([\d,.]+) *\|[^|]*\| *`([^`]+)` *\|$", DOCUMENT, re.MULTILINE)

BOUNDED_BY_THE_HEAD = {
    *("header Accept", "header if-match"),
    *("path cluster_id", "path job_id", "path number"),
    *("query queries", "query extend"),
}
"""Parts of the head of a request, whose length is bounded as a whole."""

BOUNDED_BY_THE_BODY = {
    *("BookBody.text", "BookBody.pages[]", "ContentBody.text", "ContentBody.pages[]"),
    *("LookupBody.text", "LookupBody.pages[]"),
    *("BookBody.marc.fields", "MetadataBody.marc.fields", "LookupBody.marc.fields"),
    *("multipart/form-data.file", "application/x-ndjson"),
    *("application/x-www-form-urlencoded.queries", "application/x-www-form-urlencoded.extend"),
    *("PropertyBody.v", "PropertyBody.v[]", "extend.ids"),
}
"""Texts, files and records: as long as a body may be, or a line of it. Of ids too many are 413."""

MORE_IS_PASSED_OVER = {"queries.limit"}


FORMS = {"queries": ReconciliationQuery, "extend": ExtensionQuery}
"""The models of JSON in forms, which the OpenAPI document does not show."""


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
        return float(_constants(owner)[name])
    if owner:
        return _largest(document["components"]["schemas"][owner]["properties"][name])
    found = {
        bound
        for parameter in _parameters(document)
        if parameter["name"] == name and (bound := _largest(parameter["schema"])) is not None
    }
    return max(found, default=None)


@cache
def _constants(module: str) -> dict[str, Any]:
    """The names of a module, read anew: the tests' own has them wait longer than a client would."""
    return runpy.run_path(str(source_of(module) if "/" in module else ROOT / "app" / f"{module}.py"))


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


def test_every_parameter_and_field_is_bounded(document: dict[str, Any]) -> None:
    found = set(_unbounded(document)) | set(_unbounded(_forms()))
    known = BOUNDED_BY_THE_HEAD | BOUNDED_BY_THE_BODY | MORE_IS_PASSED_OVER
    assert found - known == set(), "bound it, and list it in the document"
    assert found >= known, "these have a bound, or are no more"


def _forms() -> dict[str, Any]:
    schemas = {
        name: model.model_json_schema(ref_template="#/components/schemas/{model}")
        for name, model in FORMS.items()
    }
    parts = {part: each for schema in schemas.values() for part, each in schema["$defs"].items()}
    content = {name: {"schema": schema} for name, schema in schemas.items()}
    return {"paths": {"/": {"post": {"requestBody": {"content": content}}}}, "components": {"schemas": parts}}


def _unbounded(document: dict[str, Any]) -> Iterator[str]:
    """The parameters, and the fields of bodies, that may be as long, as many or as great as you like."""
    schemas = document["components"]["schemas"]
    seen: set[str] = set()

    def within(schema: dict[str, Any], place: str) -> Iterator[str]:
        name = schema.get("$ref", "").rpartition("/")[2]
        if name:
            if name not in seen:
                seen.add(name)
                yield from within(schemas[name], name)
            return
        # Parts of an `allOf` narrow what stands beside them, and so they need no bounds.
        for part in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
            yield from within(part, place)
        if _lacks_bound(schema):
            yield place
        if "items" in schema:
            yield from within(schema["items"], f"{place}[]")
        more = schema.get("additionalProperties")
        fields = schema.get("properties", {}) | ({"*": more} if isinstance(more, dict) else {})
        for field, part in fields.items():
            yield from within(part, f"{place}.{field}")

    for parameter in _parameters(document):
        yield from within(parameter["schema"], f"{parameter['in']} {parameter['name']}")
    for path in document["paths"].values():
        for operation in path.values():
            for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
                yield from within(body["schema"], media_type)


def _lacks_bound(schema: dict[str, Any]) -> bool:
    if schema.keys() & {"enum", "const"}:
        return False
    match schema.get("type"):
        case "string":
            ends = re.fullmatch(r"\^[^*+]+\$", schema.get("pattern", "").replace("+/]", "]"))
            return not ("maxLength" in schema or ends or schema.get("format") in {"uuid", "date-time"})
        case "array":
            return "maxItems" not in schema
        case "integer" | "number":
            return not (
                schema.keys() & {"maximum", "exclusiveMaximum"}
                and schema.keys() & {"minimum", "exclusiveMinimum"}
            )
        case _:
            return isinstance(schema.get("additionalProperties"), dict) and "maxProperties" not in schema
