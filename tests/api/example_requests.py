"""Requests as the page of the API fills them in, made of the examples of the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpx import AsyncClient, Request

from app.main import create_app
from app.settings import Settings
from tests.api.library import prose

Json = dict[str, Any]

DOCUMENT: Json = create_app(
    Settings(database_url="postgresql://nowhere/none", redis_url="redis://nowhere")
).openapi()
OPERATIONS: dict[tuple[str, str], Json] = {
    (method.upper(), path): operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}


@dataclass(frozen=True, slots=True)
class ExampleRequest:
    """A request with all parameters of an operation that have examples, and one example of its body."""

    method: str
    path: str
    name: str
    parameters: Mapping[str, Mapping[str, str]]  # by name, for each place: path, query, header
    media_type: str
    body: Mapping[str, Any]  # as httpx takes it

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.name}".rstrip()

    def on(self, client: AsyncClient, present: Mapping[str, str]) -> Request:
        """The request with the ids of what is present in place of those of examples."""
        values = {place: {**given, **_among(present, given)} for place, given in self.parameters.items()}
        path = re.sub(r"\{(\w+)\}", lambda name: values["path"][name[1]], self.path)
        request = client.build_request(
            self.method, path, params=values["query"], headers=values["header"], **self.body
        )
        if "content" in self.body:
            request.headers["Content-Type"] = self.media_type
        return request


def example_requests() -> Iterator[ExampleRequest]:
    """One request for each example of a body, and one for each operation without a body."""
    for (method, path), operation in OPERATIONS.items():
        parameters: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}}
        for parameter in operation.get("parameters", ()):
            if (value := _shown(parameter)) is not None:
                parameters[parameter["in"]][parameter["name"]] = str(value)
        bodies = operation.get("requestBody", {}).get("content", {})
        for media_type, described in bodies.items():
            for name, body in _bodies(media_type, described):
                yield ExampleRequest(method, path, name, parameters, media_type, body)
        if not bodies:
            yield ExampleRequest(method, path, "", parameters, "", {})


async def make_present(client: AsyncClient, number: int) -> dict[str, str]:
    """Two books, a decision about them and a webhook, by the names of the parameters that name them."""
    one, two = [
        (
            await client.post(
                "/v1/books",
                # Under ids of their own, so that they may get the contents of examples that were posted.
                json={"pages": [prose(1_000 * number + each, 50)], "external_id": f"shelf:{number}.{each}"},
            )
        ).json()["id"]
        for each in range(2)
    ]
    decision = {"kind": "SAME_PAGINATION"}
    await client.put(f"/v1/books/{one}/relations/{two}/decision", json=decision)
    webhook = (await client.post("/v1/webhooks", json={"url": "https://93.184.215.14/changes"})).json()
    cluster = (await client.get(f"/v1/books/{one}/cluster")).json()
    return {
        "book_id": one,
        "other_id": two,
        "id": one,
        "cluster_id": cluster["id"],
        "webhook_id": webhook["id"],
    }


def _among(present: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in present.items() if name in given}


def _shown(parameter: Json) -> Any:
    """The example of a parameter; of one that must be there and has none, a value that it may have."""
    schema = parameter["schema"]
    for described in (schema, *schema.get("anyOf", ())):
        if examples := described.get("examples"):
            return examples[0]
    return schema.get("enum", ["none"])[0] if parameter.get("required") else None


def _filled_in(field: Json) -> Any:
    """What Swagger UI puts into a field of a form."""
    for schema in field.get("allOf", ()):
        field = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]] | field
    return field.get("example", "string")


def _bodies(media_type: str, described: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    named = {name: example["value"] for name, example in described.get("examples", {}).items()}
    properties = described["schema"].get("properties", {})
    fields = {
        name: _filled_in(field) for name, field in properties.items() if field.get("format") != "binary"
    }
    match media_type:
        case "application/json":
            yield from ((name, {"json": value}) for name, value in named.items())
        case "application/x-www-form-urlencoded":
            yield "form", {"data": fields}
        case "multipart/form-data":
            parts = {name: (None, json.dumps(value), "application/json") for name, value in fields.items()}
            yield "file", {"files": {"file": ("a book.txt", prose(1, 50).encode()), **parts}}
        case _:
            yield from ((name, {"content": value}) for name, value in named.items())
