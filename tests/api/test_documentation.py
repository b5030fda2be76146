"""The OpenAPI document and the page that shows it."""

import json
import re
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from jsonschema import Draft202012Validator

from app.api.http.negotiation import OFFERED, OFFERED_TEXTS
from app.api.routes.changes import ActivityStream
from app.main import create_app
from app.settings import Settings
from app.wiring import Services
from tests.api.library import prose, scanned
from tests.paged_books import run_jobs

Json = dict[str, Any]

APP = create_app(Settings(database_url="postgresql://nowhere/none", redis_url="redis://nowhere"))
DOCUMENT: Json = APP.openapi()
SCHEMAS: Json = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    (method.upper(), path): operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
WEBHOOK = {"url": "https://93.184.215.14/changes"}
EXAMPLES = [
    (method, path, example["value"])
    for (method, path), operation in OPERATIONS.items()
    for example in operation.get("requestBody", {})
    .get("content", {})
    .get("application/json", {})
    .get("examples", {})
    .values()
]


def validator(schema: Json) -> Draft202012Validator:
    return Draft202012Validator(schema | {"components": DOCUMENT["components"]})


def with_nulls_optional(schema: Json) -> Json:
    """The schema where a property that may be null need not be there."""
    nullable = {
        name
        for name, value in schema.get("properties", {}).items()
        if {"type": "null"} in value.get("anyOf", ())
    }
    return schema | {"required": [name for name in schema.get("required", ()) if name not in nullable]}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_has_an_example_that_fits_it(name: str) -> None:
    example = SCHEMAS[name]["example"]

    # FastAPI leaves nulls out of examples.
    components = {"schemas": {other: with_nulls_optional(schema) for other, schema in SCHEMAS.items()}}
    fitting = Draft202012Validator(components["schemas"][name] | {"components": components})
    assert [error.message for error in fitting.iter_errors(example)] == []


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=[" ".join(key) for key in OPERATIONS])
def test_every_operation_is_described_with_its_answers_and_parameters(operation: Json) -> None:
    assert operation["summary"]
    assert operation["description"]
    for parameter in operation.get("parameters", []):
        assert parameter["description"]
    for status, response in operation["responses"].items():
        media_types = set(response.get("content", {}))
        if int(status) >= 400:
            assert media_types == {"application/problem+json"}
        elif int(status) == 308:
            assert (media_types, set(response["headers"])) == (set(), {"Location"})
        elif int(status) != 204:
            others = [
                {kind}
                for kind in ("text/plain", "text/html", "application/x-ndjson", ActivityStream.media_type)
            ]
            assert media_types in ({"application/json"}, set(OFFERED), set(OFFERED_TEXTS), *others)


def test_every_reference_leads_somewhere() -> None:
    references = set(re.findall(r"#/components/schemas/(\w+)", str(DOCUMENT)))

    assert references <= SCHEMAS.keys()


@pytest.mark.parametrize(("method", "path", "example"), EXAMPLES)
async def test_every_example_of_a_request_works(
    client: AsyncClient, method: str, path: str, example: Json
) -> None:
    book = (await client.post("/v1/books", json={"text": prose(1, 50)})).json()

    other = (await client.post("/v1/books", json={"text": prose(2, 50)})).json()
    path = path.replace("{book_id}", book["id"]).replace("{other_id}", other["id"])

    response = await client.request(method, path, json=example)

    creates = method == "POST" and path in {"/v1/books", "/v1/webhooks"}
    assert response.status_code == (201 if creates else 200), response.text


async def test_examples_of_a_request_work_one_after_the_other(client: AsyncClient) -> None:
    for method, path, example in EXAMPLES:
        if "{" not in path:
            response = await client.request(method, path, json=example)
            assert response.status_code in {200, 201}, response.text


async def test_answers_are_what_the_document_says(services: Services, client: AsyncClient) -> None:
    text = prose(1)
    posted = await client.post("/v1/books", json={"text": text})
    book = posted.json()
    scan = {"text": scanned(text, 1), "year": 1813, "authors": ["A", "B"]}
    other = (await client.post("/v1/books", json=scan)).json()
    await run_jobs(services)
    related = f"{book['links']['relations']}/{other['id']}"
    path = "/v1/books/{book_id}"
    relation = f"{path}/relations/{{other_id}}"
    one = "/v1/webhooks/{webhook_id}"
    answers = {
        ("POST", "/v1/books"): posted,
        ("GET", "/v1/books"): await client.get("/v1/books"),
        ("GET", path): await client.get(book["links"]["self"]),
        ("PATCH", path): await client.patch(book["links"]["self"], json={"title": "A"}),
        ("GET", f"{path}/near-duplicates"): await client.get(book["links"]["near_duplicates"]),
        ("GET", relation): await client.get(related),
        ("PUT", f"{relation}/decision"): await client.put(
            f"{related}/decision", json={"verdict": "confirmed"}
        ),
        ("GET", f"{path}/relations"): await client.get(book["links"]["relations"]),
        ("DELETE", f"{relation}/decision"): await client.delete(f"{related[:-12]}000000000000/decision"),
        ("GET", f"{path}/cluster"): await client.get(f"{book['links']['self']}/cluster"),
        ("GET", "/v1/clusters/{cluster_id}"): await client.get(f"/v1/clusters/related-{book['id']}"),
        ("GET", "/v1/changes"): await client.get("/v1/changes"),
        ("GET", "/changes/collection"): await client.get("/changes/collection"),
        ("GET", "/changes/pages/{number}"): await client.get("/changes/pages/0"),
        ("POST", "/v1/webhooks"): (webhook := await client.post("/v1/webhooks", json=WEBHOOK)),
        ("GET", "/v1/webhooks"): await client.get("/v1/webhooks"),
        ("GET", one): await client.get(one.format(webhook_id=webhook.json()["id"])),
        ("POST", f"{one}/rotate"): await client.post(f"{one.format(webhook_id=webhook.json()['id'])}/rotate"),
        ("POST", "/v1/lookups"): await client.post("/v1/lookups?d=30", json={"text": text}),
        ("PUT", f"{path}/content"): await client.put(
            f"{book['links']['self']}/content", json={"pages": ["one", "two"]}
        ),
        ("GET", "/health/live"): await client.get("/health/live"),
        ("GET", "/health/ready"): await client.get("/health/ready"),
        ("DELETE", path): await client.get(f"/v1/books/{book['id'][:-12]}000000000000"),
    }

    for operation, response in answers.items():
        described = OPERATIONS[operation]["responses"][str(response.status_code)]
        schema = described["content"][response.headers["content-type"]]["schema"]
        assert [error.message for error in validator(schema).iter_errors(response.json())] == [], operation
        # Only keys with limits are told what is left of them.
        required = {name for name, header in described.get("headers", {}).items() if "$ref" not in header}
        assert [name for name in required if name not in response.headers] == [], operation


@pytest.mark.parametrize("path", ["/v1/books", "/v1/lookups"])
def test_operations_on_books_take_json_and_files(path: str) -> None:
    content = OPERATIONS["POST", path]["requestBody"]["content"]

    assert set(content) == {"application/json", "multipart/form-data"}
    form = content["multipart/form-data"]["schema"]
    assert form["properties"]["file"]["format"] == "binary"  # by which the page shows a button
    assert (form["required"], form["additionalProperties"]) == (["file"], False)
    assert "MetadataBody" in str(form["properties"]["metadata"])


async def test_example_of_lines_works(client: AsyncClient) -> None:
    [(media_type, body)] = OPERATIONS["POST", "/v1/books:bulk"]["requestBody"]["content"].items()
    lines = body["examples"]["lines"]["value"]

    response = await client.post("/v1/books:bulk", content=lines, headers={"Content-Type": media_type})

    assert [json.loads(line)["status"] for line in response.text.splitlines()] == [201, 201]


async def test_root_leads_to_the_page_below_any_path(client: AsyncClient) -> None:
    response = await client.get("/")

    assert (response.status_code, response.headers["location"]) == (307, "docs")
    assert (await client.get("/", follow_redirects=True)).headers["content-type"].startswith("text/html")


async def test_page_needs_nothing_but_this_service(client: AsyncClient) -> None:
    page = await client.get("/docs")

    assert page.status_code == 200
    assert "://" not in page.text
    assets = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(assets) == 3
    for asset in [*assets, "/openapi.json"]:
        response = await client.get(asset)
        assert response.status_code == 200
        assert response.content


async def test_document_is_served_as_it_is(application: FastAPI, client: AsyncClient) -> None:
    assert (await client.get("/openapi.json")).json() == DOCUMENT
