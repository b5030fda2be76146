"""The schemas and examples of the reconciliation API 0.2: answers fit them, and wrong queries are refused."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from httpx import AsyncClient

from tests.api.catalog.reconciliation.books import Json, post_novels, send

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

FOLDER = Path(os.environ.get("BOOKPRINT_CATALOGS", "/nowhere")) / "reconciliation"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_CATALOGS has no reconciliation")


def examples(kind: str, sort: str = "valid") -> Iterator[Json]:
    for path in sorted((FOLDER / "examples" / kind / sort).glob("*.json")):
        yield json.loads(path.read_text())


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


async def test_valid_batches_are_answered_as_their_schema_says(client: AsyncClient) -> None:
    await post_novels(client)
    ours = {"q1": {"query": "Emma", "properties": [{"pid": "year", "v": 1816}]}, "q2": {"query": "Pride"}}

    for batch in (*examples("reconciliation-query-batch"), ours):
        response = await send(client, "queries", batch)

        assert response.status_code == 200, response.text
        assert wrong("reconciliation-result-batch", response.json()) == []
        assert response.json().keys() == batch.keys()
        assert all("error" not in each for each in response.json().values())

        if batch is ours:
            [example] = examples("reconciliation-candidate")
            candidate = response.json()["q1"]["result"][0]
            assert example.keys() <= candidate.keys()
            assert {type(feature["value"]) for feature in candidate["features"]} <= {float, int, bool}


async def test_invalid_batches_are_refused_and_invalid_queries_spoil_no_other(client: AsyncClient) -> None:
    await post_novels(client)
    invalid = list(examples("reconciliation-query-batch", "invalid"))
    for batch in invalid:
        response = await send(client, "queries", batch)
        assert response.status_code == 422
        assert response.json()["errors"][0]["remedy"]
    mixed = {f"{number}-{name}": query for number, each in enumerate(invalid) for name, query in each.items()}

    answer = (await send(client, "queries", mixed | {"good": {"query": "Emma"}})).json()

    assert wrong("reconciliation-result-batch", answer) == []
    assert [each["name"] for each in answer.pop("good")["result"]][:1] == ["Emma"]
    assert answer.keys() == mixed.keys()
    assert all(each["result"] == [] and each["error"]["status"] == 422 for each in answer.values())


async def test_data_extensions_are_answered_as_their_schema_says(client: AsyncClient) -> None:
    ids = await post_novels(client)
    for query in examples("data-extension-query"):
        named = json.loads(json.dumps(query))
        for each, name in zip(named["properties"], ["author", "year", "isbn", "relations"], strict=False):
            each["id"] = name

        strange = await send(client, "extend", query)
        answer = await send(client, "extend", named | {"ids": [*query["ids"], *ids]})

        assert wrong("data-extension-response", strange.json()) == []
        assert wrong("data-extension-response", answer.json()) == []
        assert strange.json()["rows"].keys() == set(query["ids"])
        rows = answer.json()["rows"]
        assert rows.keys() == {*query["ids"], *ids}
        assert all(rows[each]["author"] for each in ids)


async def test_the_manifest_names_what_there_is_and_all_of_it_fits(client: AsyncClient) -> None:
    book_id, *_ = await post_novels(client)
    manifest = (await client.get("/reconcile")).json()
    assert wrong("manifest", manifest) == []
    assert (manifest["versions"], manifest["batchSize"]) == (["0.2"], 1_000)
    assert manifest["suggest"].keys() == {"entity"}
    for kind, part in (("preview-metadata", "preview"), ("data-extension-metadata", "extend")):
        [example] = examples(kind)
        assert manifest[part].keys() == example.keys()

    entity, propose = manifest["suggest"]["entity"], manifest["extend"]["propose_properties"]
    found = await client.get(entity["service_url"] + entity["service_path"], params={"prefix": "pride"})
    proposed = await client.get(propose["service_url"] + propose["service_path"], params={"type": "Book"})
    page = await client.get(manifest["preview"]["url"].replace("{{id}}", book_id))

    assert wrong("suggest-entities-response", found.json()) == []
    assert len(found.json()["result"]) == 2
    assert wrong("data-extension-property-proposal", proposed.json()) == []
    assert {"title", "isbn", "relations"} <= {each["id"] for each in proposed.json()["properties"]}
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Pride and Prejudice" in page.text
