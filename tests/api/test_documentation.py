"""The OpenAPI document and the page that shows it."""

import re
from typing import TYPE_CHECKING

from httpx import AsyncClient

from app.api.changes import ActivityStream
from app.api.http.deps import OFFERED, OFFERED_EVIDENCE, OFFERED_TEXTS
from app.settings import Settings
from app.stores.postgres.connections import SQL
from tests.api.conftest import asking, started
from tests.api.example_requests import Json, document, example_requests, make_present, naming, operations
from tests.open_services import OpenServices

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


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
            described = operations()[example.method, example.path]["responses"][str(answer.status_code)]
            # Only keys with limits are told what is left of them.
            headers = {name for name, each in described.get("headers", {}).items() if "$ref" not in each}
            with naming(example):
                assert [name for name in headers - {"Link"} if name not in answer.headers] == []
                kind = answer.headers.get("content-type", "")
                schema = described.get("content", {}).get(kind, {}).get("schema", {})
                if "$ref" in schema:
                    fitting = validator(schema, document()["components"])
                    assert [error.message for error in fitting.iter_errors(answer.json())] == []


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
