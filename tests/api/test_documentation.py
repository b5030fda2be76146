"""The OpenAPI document and the page that shows it."""

import re
from typing import TYPE_CHECKING

import pytest
from httpx import AsyncClient

from app.api.changes import ActivityStream
from app.api.http.deps import OFFERED, OFFERED_EVIDENCE, OFFERED_TEXTS
from app.settings import Settings
from app.stores.postgres.connections import SQL
from tests.api.conftest import asking, started
from tests.api.example_requests import Json, document, example_requests, make_present, naming, operations
from tests.api.library import prose, scanned
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

WEBHOOK = {"url": "https://93.184.215.14/changes"}


def schemas() -> Json:
    found: Json = document()["components"]["schemas"]
    return found


def validator(schema: Json, components: Json) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # late, as it takes seconds to load

    return Draft202012Validator(schema | {"components": components})


def test_every_body_and_every_answer_has_an_example_that_fits_it() -> None:
    named = set(re.findall(r"#/components/schemas/(\w+)'", str(document()["paths"])))
    assert len(named) > 35
    for name in named:
        with naming(name):
            fitting = validator(schemas()[name], {"schemas": schemas()})
            assert [error.message for error in fitting.iter_errors(schemas()[name]["example"])] == []


def test_every_operation_is_described_with_its_answers_and_parameters() -> None:
    single = [
        "text/plain",
        "text/html",
        "application/x-ndjson",
        "application/json",
        ActivityStream.media_type,
    ]
    offered = [*({kind} for kind in single), set(OFFERED), set(OFFERED_TEXTS), set(OFFERED_EVIDENCE)]
    for key, operation in operations().items():
        with naming(key):
            assert operation["summary"]
            assert operation["description"]
            assert all(parameter["description"] for parameter in operation.get("parameters", []))
            for status, response in operation["responses"].items():
                media_types = set(response.get("content", {}))
                if int(status) >= 400:
                    assert media_types == {"application/problem+json"}
                elif int(status) == 308:
                    assert (media_types, set(response["headers"])) == (set(), {"Location"})
                elif int(status) != 204:
                    assert media_types in offered


async def test_what_the_page_shows_can_be_sent(module_settings: Settings, services: OpenServices) -> None:
    """Asked of a service that computes all that is asked for."""
    settings = module_settings.model_copy(update={"compute": frozenset({"vectors"})})
    async with started(settings) as app, asking(app) as client:
        present: dict[str, str] = {}
        for number, example in enumerate(example_requests()):
            if example.method != "GET" or not present:
                present = await make_present(client, number)
            [job] = await services.database.rows(SQL("SELECT max(id) AS id FROM procrastinate_jobs"))

            answer = await client.send(example.on(client, present | {"job_id": str(job["id"])}))
            if example.method == "DELETE":
                present = {}

            still_starts = example.path == "/health/ready" and answer.status_code == 503
            assert answer.status_code < 400 or still_starts, f"{example}: {answer.text}"


@pytest.mark.parametrize("path", ["/v1/books", "/v1/lookups"])
async def test_a_file_that_is_tried_on_the_page_brings_its_own_metadata_alone(
    path: str, client: AsyncClient
) -> None:
    [example] = [each for each in example_requests() if (each.path, each.name) == (path, "file")]

    answer = (await client.send(example.on(client, {}))).json()

    assert answer["format"] == "txt"
    if path == "/v1/books":
        assert (answer["title"], answer["authors"], answer["external_id"]) == (None, [], None)


async def test_answers_are_what_the_document_says(services: OpenServices, client: AsyncClient) -> None:
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
        ("GET", "/health/started"): await client.get("/health/started"),
        ("GET", "/health/ready"): await client.get("/health/ready"),
        ("DELETE", path): await client.get(f"/v1/books/{book['id'][:-12]}000000000000"),
    }

    for operation, response in answers.items():
        described = operations()[operation]["responses"][str(response.status_code)]
        schema = described["content"][response.headers["content-type"]]["schema"]
        assert [
            error.message
            for error in validator(schema, document()["components"]).iter_errors(response.json())
        ] == [], operation
        # Only keys with limits are told what is left of them.
        required = {name for name, header in described.get("headers", {}).items() if "$ref" not in header}
        assert [name for name in required if name not in response.headers] == [], operation


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
