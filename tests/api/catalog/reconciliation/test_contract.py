"""The schemas and examples of the reconciliation API 0.2: what is answered fits, what is wrong is refused."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from httpx import AsyncClient

from app.api.reconciliation.answers import (
    ExtensionAnswer,
    Flyout,
    ProposedProperties,
    Suggestions,
)
from tests.api.catalog.reconciliation.books import Json, post_novels, send

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

FOLDER = Path(os.environ.get("BOOKPRINT_CATALOGS", "/nowhere")) / "reconciliation"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_CATALOGS has no reconciliation")


def examples(kind: str, sort: str = "valid") -> Iterator[Any]:
    for path in sorted((FOLDER / "examples" / kind / sort).glob("*.json")):
        yield pytest.param(json.loads(path.read_text()), id=f"{kind}-{path.stem}")


def all_examples(sort: str) -> Iterator[Any]:
    for schema in sorted((FOLDER / "schemas").glob("*.json")):
        for example in examples(schema.stem, sort):
            yield pytest.param(schema.stem, *example.values, id=example.id)


def validator(name: str) -> "Draft7Validator":
    from jsonschema import Draft7Validator  # late, as it takes seconds to load
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    schemas = {path.name: json.loads(path.read_text()) for path in (FOLDER / "schemas").glob("*.json")}
    resources = {name: Resource.from_contents(schema, DRAFT7) for name, schema in schemas.items()}
    registry: Registry[Any] = Registry().with_resources(
        [(schema.get("$id", name), resources[name]) for name, schema in schemas.items()]
        + [("http://swagger.io/v2/schema.json", resources["openapi.json"])]
        # Schemas refer to types by a name that is relative to one of several places.
        + [
            (re.sub(r"[^/]+$", "type.json", s.get("$id", "type.json")), resources["type.json"])
            for s in schemas.values()
        ]
    )
    return Draft7Validator(schemas[f"{name}.json"], registry=registry)


def wrong(name: str, document: Any) -> list[str]:
    return [error.message for error in validator(name).iter_errors(document)]


@pytest.mark.parametrize(("name", "example"), list(all_examples("valid")))
def test_the_schemas_accept_their_valid_examples(name: str, example: Json) -> None:
    assert wrong(name, example) == []


@pytest.mark.parametrize(("name", "example"), list(all_examples("invalid")))
def test_the_schemas_refuse_their_invalid_examples(name: str, example: Json) -> None:
    assert wrong(name, example) != []


async def test_the_manifest_fits_its_schema(client: AsyncClient) -> None:
    manifest = (await client.get("/reconcile")).json()

    assert wrong("manifest", manifest) == []
    assert manifest["versions"] == ["0.2"]
    assert manifest["batchSize"] == 1_000


@pytest.mark.parametrize("batch", list(examples("reconciliation-query-batch")))
async def test_valid_batches_are_answered(client: AsyncClient, batch: Json) -> None:
    assert wrong("reconciliation-query-batch", batch) == []

    response = await send(client, "queries", batch)

    assert response.status_code == 200, response.text
    assert wrong("reconciliation-result-batch", response.json()) == []
    assert response.json().keys() == batch.keys()
    assert all("error" not in each for each in response.json().values())


@pytest.mark.parametrize("batch", list(examples("reconciliation-query-batch", "invalid")))
async def test_invalid_batches_are_refused(client: AsyncClient, batch: Json) -> None:
    response = await send(client, "queries", batch)

    assert response.status_code == 422
    assert response.json()["errors"][0]["remedy"]


async def test_invalid_queries_of_a_batch_spoil_no_other(client: AsyncClient) -> None:
    await post_novels(client)
    invalid = {
        f"{number}-{name}": query
        for number, example in enumerate(examples("reconciliation-query-batch", "invalid"))
        for name, query in example.values[0].items()
    }

    answer = (await send(client, "queries", invalid | {"good": {"query": "Emma"}})).json()

    assert wrong("reconciliation-result-batch", answer) == []
    assert [each["name"] for each in answer.pop("good")["result"]][:1] == ["Emma"]
    assert answer.keys() == invalid.keys()
    assert all(each["result"] == [] and each["error"]["status"] == 422 for each in answer.values())


async def test_results_fit_their_schema_and_the_example_of_a_candidate(client: AsyncClient) -> None:
    await post_novels(client)
    batch = {"q1": {"query": "Emma", "properties": [{"pid": "year", "v": 1816}]}, "q2": {"query": "Pride"}}

    answer = (await send(client, "queries", batch)).json()

    assert wrong("reconciliation-result-batch", answer) == []
    [example] = examples("reconciliation-candidate")
    candidate = answer["q1"]["result"][0]
    assert example.values[0].keys() <= candidate.keys()
    assert {type(feature["value"]) for feature in candidate["features"]} <= {float, int, bool}


@pytest.mark.parametrize("query", list(examples("data-extension-query")))
async def test_valid_data_extensions_are_answered(client: AsyncClient, query: Json) -> None:
    ids = await post_novels(client)
    ours = ["author", "year", "isbn", "relations"]
    named = json.loads(json.dumps(query))
    for each, name in zip(named["properties"], ours, strict=False):
        each["id"] = name

    strange = await send(client, "extend", query)
    answer = await send(client, "extend", named | {"ids": [*query["ids"], *ids]})

    assert strange.status_code == answer.status_code == 200, answer.text
    assert wrong("data-extension-response", strange.json()) == []
    assert wrong("data-extension-response", answer.json()) == []
    assert strange.json()["rows"].keys() == set(query["ids"])
    assert answer.json()["rows"].keys() == {*query["ids"], *ids}
    assert all(each["author"] for row, each in answer.json()["rows"].items() if row in ids)


@pytest.mark.parametrize("kind", ["entity", "property", "type"])
async def test_suggestions_and_flyouts_fit_their_schemas(client: AsyncClient, kind: str) -> None:
    await post_novels(client)
    name = {"entity": "suggest-entities", "property": "suggest-properties", "type": "suggest-types"}[kind]
    manifest = (await client.get("/reconcile")).json()["suggest"][kind]
    [metadata] = examples("suggest-metadata")
    assert metadata.values[0].keys() <= manifest.keys()

    start = {"entity": "pride", "property": "y", "type": "b"}[kind]
    response = await client.get(manifest["service_url"] + manifest["service_path"], params={"prefix": start})

    found = response.json()["result"]
    assert found
    assert wrong(f"{name}-response", response.json()) == []
    path = manifest["flyout_service_path"].replace("${id}", found[0]["id"])
    flyout = (await client.get(manifest["service_url"] + path)).json()
    [example] = examples("flyout-response")
    assert flyout.keys() == example.values[0].keys()
    assert flyout["id"] == found[0]["id"]


async def test_the_preview_is_a_page_under_the_address_in_the_manifest(client: AsyncClient) -> None:
    book_id, *_ = await post_novels(client)
    preview = (await client.get("/reconcile")).json()["preview"]
    [example] = examples("preview-metadata")
    assert preview.keys() == example.values[0].keys()

    page = await client.get(preview["url"].replace("{{id}}", book_id))

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<html" in page.text
    assert "Pride and Prejudice" in page.text


async def test_proposed_properties_and_metadata_of_data_extension_fit(client: AsyncClient) -> None:
    extend = (await client.get("/reconcile")).json()["extend"]
    [metadata] = examples("data-extension-metadata")
    assert extend.keys() == metadata.values[0].keys()
    [example] = examples("data-extension-property-proposal")
    place = extend["propose_properties"]

    proposed = await client.get(
        place["service_url"] + place["service_path"], params={"type": "Book", "limit": 5}
    )

    assert wrong("data-extension-property-proposal", proposed.json()) == []
    assert proposed.json().keys() == example.values[0].keys()
    assert len(proposed.json()["properties"]) == 5


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("suggest-entities-response", Suggestions),
        ("suggest-properties-response", Suggestions),
        ("suggest-types-response", Suggestions),
        ("data-extension-response", ExtensionAnswer),
        ("data-extension-property-proposal", ProposedProperties),
        ("flyout-response", Flyout),
    ],
)
def test_our_description_of_answers_has_room_for_the_examples(kind: str, model: Any) -> None:
    for example in examples(kind):
        model.model_validate(example.values[0])
