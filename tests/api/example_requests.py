"""Requests as the page of the API fills them in, made of the examples of the OpenAPI document."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from httpx import AsyncClient, Request

from app.main import create_app
from app.settings import Settings
from tests.api.library import prose

Json = dict[str, Any]

Operation = tuple[str, str]
"""Method and path of an operation."""


@cache
def document(auth: Literal["off", "keys"] = "off") -> Json:
    """The OpenAPI document, which takes long to make."""
    nowhere = {"database_url": "postgresql://nowhere/none", "redis_url": "redis://nowhere"}
    return create_app(Settings(**nowhere, BOOKPRINT_AUTH=auth)).openapi()


@cache
def operations(auth: Literal["off", "keys"] = "off") -> dict[Operation, Json]:
    """Operations of the OpenAPI document."""
    return {
        (method.upper(), path): operation
        for path, described in document(auth)["paths"].items()
        for method, operation in described.items()
    }


@contextmanager
def naming(subject: object) -> Iterator[None]:
    """Have a failure say which of many it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This was {subject}.")
        raise


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


@cache
def example_requests() -> list[ExampleRequest]:
    """One request for each example of a body, and one for each operation without a body."""
    return list(_example_requests())


def _example_requests() -> Iterator[ExampleRequest]:
    for (method, path), operation in operations().items():
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
        field = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]] | field
    return field.get("example", "string")


def _bodies(media_type: str, described: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    named = {name: example["value"] for name, example in described.get("examples", {}).items()}
    properties = described["schema"].get("properties", {})
    fields = {
        name: _filled_in(field) for name, field in properties.items() if field.get("format") != "binary"
    }
    match media_type:
        case "application/json":
            schema = described["schema"]["$ref"].rpartition("/")[2]
            yield "", {"json": document()["components"]["schemas"][schema]["example"]}
        case "application/x-www-form-urlencoded":
            yield "form", {"data": fields}
        case "multipart/form-data":
            parts = {name: (None, json.dumps(value), "application/json") for name, value in fields.items()}
            yield "file", {"files": {"file": ("a book.txt", prose(1, 50).encode()), **parts}}
        case _:
            yield from ((name, {"content": value}) for name, value in named.items())
