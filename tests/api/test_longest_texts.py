"""No text of up to its allowed length, in any field of any request, keeps other requests waiting."""

import http.client
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

from app.api.schemas.reconciliation import ExtensionQuery, ReconciliationQuery
from app.catalog.marc import forms
from app.catalog.marc.record import DataField, MarcRecord, Subfield
from app.catalog.reconciliation import PROPERTIES
from bookprint_core.model import CatalogRecord
from tests.api.example_requests import document
from tests.api.service_process import Server, longest_wait

Json = dict[str, Any]
Place = tuple[str | int, ...]

SECONDS = 0.2
"""Seconds of the server's processor time within which it answers another request."""

TRIES = 3
"""Other threads of the server work meanwhile, too; what keeps requests waiting does so each time."""

KINDS = {
    "blanks": "a ",
    "brackets": "([",
    "marks": "a\u0301\u0316",
    "digits": "1",
    "letter": "a",
    "ligatures": "\ufdfa",
}
"""The letters that a text of each kind is made of; of blanks and marks the first comes once."""

ONCE_MORE = ("ligatures",)
"""Kinds of text for a field of a name that an earlier request had; no other letters make more of a text."""

LONGEST = 4 << 20
"""Bytes of a text that is bounded by its body alone: enough to tell, and quick to send."""

HEAD = 60_000
"""Bytes of what the head of a request may hold in one field."""

FORM = "multipart/form-data; boundary=part"
UNKNOWN = str(UUID(int=1))
CONTENTS = {"text", "pages", "signatures", "identifier", "fingerprint"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and what it is about."""

    name: str
    method: str
    path: str
    body: bytes | None = None
    media_type: str = "application/json"


def text(kind: str, length: int) -> str:
    """So many characters of a kind."""
    letters = KINDS[kind]
    if kind in ("blanks", "marks"):
        return "a" + repeated(letters[1:], length - 2) + "x"
    return repeated(letters, length)


def repeated(letters: str, length: int) -> str:
    return (letters * (length // len(letters) + 1))[:length]


def resolved(schema: Json, schemas: Mapping[str, Any]) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return resolved(schemas[name], schemas) if name else schema


def texts(schema: Json, schemas: Mapping[str, Any], place: Place = ()) -> Iterator[tuple[Place, int | None]]:
    """The place of each text in a value of a schema, and its longest length; None: it has none."""
    schema = resolved(schema, schemas)
    for part in (*schema.get("anyOf", ()), *(each for each in schema.get("allOf", ()) if "$ref" in each)):
        yield from texts(part, schemas, place)
    if schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}:
        yield place, schema.get("maxLength")
    if "items" in schema:
        yield from texts(schema["items"], schemas, (*place, 0))
    for name, part in schema.get("properties", {}).items():
        yield from texts(part, schemas, (*place, name))


def filled(value: Any, place: Place, new: object) -> Any:
    """The value with another one at a place."""
    if not place:
        return new
    first, *rest = place
    if first == 0:
        return [filled(value[0] if isinstance(value, list) and value else None, tuple(rest), new)]
    fields = value if isinstance(value, dict) else {}
    return fields | {first: filled(fields.get(first), tuple(rest), new)}


def body_with(example: Json, place: Place, new: object) -> Json:
    """The example with a value at a place; of several fields that exclude each other, that one stays."""
    if place[0] in CONTENTS:
        example = {name: each for name, each in example.items() if name not in CONTENTS}
    return dict(filled(example, place, new))


def written(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def kinds_of(field: object, known: set[str]) -> Iterable[str]:
    """The kinds of text to send in a field: all, unless a field of its name was sent before."""
    kinds = ONCE_MORE if str(field) in known else KINDS.keys()
    known.add(str(field))
    return kinds


def bodies(
    schema: Json, schemas: Mapping[str, Any], size: int, known: set[str]
) -> Iterator[tuple[str, bytes]]:
    """Bodies with one text as long as it may be, or so many bytes, by its place."""
    example = resolved(schema, schemas).get("example", {})
    for place, length in texts(schema, schemas):
        name = ".".join(map(str, place))
        for kind in kinds_of(place[-2:] if place[-1] == 0 else place[-1], known):
            value = text(kind, length or size // len("".join(KINDS[kind]).encode()))
            prefix = "doi:" if place[0] == "identifiers" else ""
            yield f"{name}: {kind}", written(body_with(example, place, prefix + value[len(prefix) :]))
        if place[-1] == 0 and length is not None:
            several = [f"{number}:{text('brackets', length - 8)}" for number in range(1_000)]
            yield f"{name}: a thousand", written(body_with(example, place[:-1], several))


def records(size: int, known: set[str]) -> Iterator[tuple[str, Json]]:
    """MARC records with one long value, or with many."""
    leader = "00000nam a2200000 i 4500"
    for tag, code in (("245", "a"), ("100", "a"), ("020", "a"), ("035", "a"), ("490", "v"), ("260", "c")):
        for kind in kinds_of(tag, known):
            value = f"(OCoLC){text(kind, size // 8)}" if tag == "035" else text(kind, size // 8)
            record = MarcRecord(leader, (DataField(tag, "1 ", (Subfield(code, value),)),))
            yield f"{tag}: {kind}", forms.to_document(record)
    field = DataField("020", "  ", (Subfield("a", "0141439602"),))
    yield "many fields", forms.to_document(MarcRecord(leader, (field,) * (size // 80)))


def part(metadata: bytes, media_type: str, file: bytes = b"A short text.") -> bytes:
    return (
        b'--part\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + file + b"\r\n"
        b'--part\r\nContent-Disposition: form-data; name="metadata"; filename="m"\r\nContent-Type: '
        + media_type.encode()
        + b"\r\n\r\n"
        + metadata
        + b"\r\n--part--\r\n"
    )


def batches(size: int, known: set[str]) -> Iterator[tuple[str, str, Json]]:
    """Forms of the reconciliation service, each with one long text."""
    for model, field in ((ReconciliationQuery, "queries"), (ExtensionQuery, "extend")):
        schema = model.model_json_schema()
        for name, body in bodies(schema, schema["$defs"], 10_000, known):
            value = json.loads(body)
            yield f"{field}.{name}", field, {"q0": value} if field == "queries" else value
    for each in PROPERTIES:
        for kind in kinds_of(f"property {each}", known):
            length = size // 4 if each == "text" else 10_000
            query = {"query": "abc", "properties": [{"pid": each, "v": text(kind, length)}]}
            yield f"{each}: {kind}", "queries", {"q0": query}
    for kind in KINDS:
        many = {f"q{number}": {"query": text(kind, 10_000)} for number in range(size // 20_000)}
        yield f"many queries: {kind}", "queries", many


def of_operation(path: str, method: str, operation: Json, size: int, known: set[str]) -> Iterator[Request]:
    """The requests to an operation with one long text each; `known` are fields of earlier requests."""
    schemas = document()["components"]["schemas"]
    names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
    plain = path.format_map(dict.fromkeys(names, UNKNOWN))
    for parameter in operation.get("parameters", []):
        if not [*texts(parameter["schema"], schemas)] or parameter["in"] not in {"query", "path"}:
            continue
        longest = max(length or HEAD for _, length in texts(parameter["schema"], schemas))
        for kind in kinds_of(f"{parameter['in']} {parameter['name']}", known):
            value = text(kind, longest)
            while len(written_value := urlencode({parameter["name"]: value})) > HEAD:
                value = value[: len(value) // 2] + value[-1:]
            name = f"{method} {path} {parameter['name']}: {kind}"
            if parameter["in"] == "query":
                yield Request(name, method, f"{plain}?{written_value}")
            else:
                value = written_value.partition("=")[2].replace("+", "%20")
                yield Request(name, method, path.format_map(dict.fromkeys(names, value)))
    contents = operation.get("requestBody", {}).get("content", {})
    for media_type, content in contents.items():
        name = f"{method} {path} {media_type}"
        request = Request(name, method, plain, media_type=media_type)
        if media_type == "application/json":
            yield from of_json(request, content["schema"], size, known)
        elif media_type == "multipart/form-data":
            yield from of_files(replace(request, media_type=FORM), content["schema"], size, known)
        elif media_type == "application/x-ndjson":
            book = {"$ref": "#/components/schemas/BookBody"}
            for each in of_json(request, book, size, known):
                yield replace(each, body=(each.body or b"") + b"\n")
        else:
            for place, field, batch in batches(size, known):
                body = urlencode({field: written(batch)}).encode()
                yield replace(request, name=f"{name} {place}", body=body)


def of_json(request: Request, schema: Json, size: int, known: set[str]) -> Iterator[Request]:
    schemas = document()["components"]["schemas"]
    found = [*bodies(schema, schemas, size, known)]
    if "marc" in resolved(schema, schemas).get("properties", {}):
        made = records(size, known)
        found += ((f"marc {name}", written({"text": "a b", "marc": each})) for name, each in made)
    for name, body in found:
        yield replace(request, name=f"{request.name} {name}", body=body)


def of_files(request: Request, schema: Json, size: int, known: set[str]) -> Iterator[Request]:
    schemas = document()["components"]["schemas"]
    metadata = schema["properties"]["metadata"]
    for name, body in bodies(metadata, schemas, 1 << 19, known):
        yield replace(request, name=f"{request.name} {name}", body=part(body, "application/json"))
    for name, record in records(1 << 20, known):
        data = written(record)
        yield replace(request, name=f"{request.name} {name}", body=part(data, "application/marc-in-json"))
    for name, record in records(1 << 19, known):  # a record of more values is none
        xml = forms.write(forms.of_document(record), "marcxml")
        yield replace(request, name=f"{request.name} {name}", body=part(xml, "application/marcxml+xml"))
    for name, record in [*records(70_000, known)][-1:]:  # a single field of it is shorter
        data = forms.write(forms.single(CatalogRecord("marc-json", written(record))), "marc")
        yield replace(request, name=f"{request.name} {name}", body=part(data, "application/marc"))
    for kind in kinds_of("file", known):
        file = text(kind, size // 4).encode()
        yield replace(request, name=f"{request.name} {kind}", body=part(b"{}", "application/json", file))


def requests(size: int) -> Iterator[Request]:
    """Each of the requests, those first that store books, so that others find them."""
    known: set[str] = set()
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            yield from of_operation(path, method.upper(), operation, size, known)


def send(server: Server, request: Request) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {} if request.body is None else {"Content-Type": request.media_type}
    try:
        connection.request(request.method, request.path, request.body, headers)
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_text_keeps_others_waiting(server: Server) -> None:
    slow: dict[str, float] = {}
    statuses: dict[str, int] = {}

    for request in requests(LONGEST):

        def work(request: Request = request) -> None:
            statuses[request.name] = send(server, request)

        seconds = longest_wait(server, work)
        for _ in range(TRIES - 1):
            if seconds > SECONDS:
                seconds = min(seconds, longest_wait(server, work))
        if seconds > SECONDS:
            slow[request.name] = seconds

    assert slow == {}
    assert {name: status for name, status in statuses.items() if status == 500} == {}
    assert len(statuses) > 400
