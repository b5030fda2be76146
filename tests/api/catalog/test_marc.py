"""MARC records over HTTP: sent with a book, kept, and answered with the relations of the day."""

import json
from typing import Any

import pytest
from httpx import AsyncClient

from app.api.http.deps import OFFERED, NotAcceptable, best
from app.catalog.marc import forms
from app.catalog.marc.record import DataField, MarcRecord
from app.wiring import Services
from bookprint_core.model import CatalogRecord
from tests.api.library import prose, scanned
from tests.api.posting import Json, post
from tests.api.test_bad_input import assert_problem
from tests.catalog.marc.made_records import control, data, record, without_lengths
from tests.factories import pages_of
from tests.paged_books import run_jobs
from tests.vectors import texts

TEXT = prose(1, 3000)
TYPES = {
    "marc": "application/marc",
    "marcxml": "application/marcxml+xml",
    "marc-json": "application/marc-in-json",
}

FERRY = record(
    control("001", "ocm00400866"),
    control("003", "OCoLC"),
    control("008", "721211s1913    nyu           000 0 eng  "),
    data("020", "  ", "a 0141439602", "q pbk."),
    data("020", "  ", "z 9780141439618"),
    data("100", "1 ", "6 880-01", "a Harbour, E. M.,", "d 1860-1931."),
    data("245", "14", "6 880-02", "a The ferry at dawn :", "b a novel /", "c E. M. Harbour."),
    data("300", "  ", "a 330 p. ;", "c 20 cm."),
    data("776", "08", "i Online version:", "t Ferry at dawn", "w (DLC)  2004012345"),
    data("880", "14", "6 245-02", "a Паром на рассвете /"),
)


def form(record: MarcRecord, kind: str = "marc", text: str = TEXT) -> Json:
    written = forms.write(record, kind)
    return {
        "file": ("book.txt", text.encode(), "text/plain"),
        "metadata": ("record", written, TYPES[kind]),
    }


async def exported(client: AsyncClient, book: Json, kind: str = "marcxml") -> MarcRecord:
    response = await client.get(book["links"]["self"], headers={"Accept": TYPES[kind]})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == TYPES[kind]
    assert response.headers["vary"] == "Accept"
    return forms.single(CatalogRecord(kind, response.content))


def own_fields(record: MarcRecord) -> tuple[Any, ...]:
    """The fields of a record but for those that the service adds."""
    return tuple(field for field in record.fields if not is_added(field))


def is_added(field: Any) -> bool:
    return isinstance(field, DataField) and (
        (field.tag == "024" and field.first("2") == "bookprint")
        or any(value.startswith("(bookprint)") for value in field.values("w"))
    )


def added(record: MarcRecord, tag: str) -> list[DataField]:
    return [field for field in record.data(tag) if is_added(field)]


@pytest.mark.parametrize("kind", TYPES)
async def test_record_is_the_metadata_and_comes_out_whole(client: AsyncClient, kind: str) -> None:
    response = await client.post("/v1/books", files=form(FERRY, kind))

    book = response.json()
    assert response.status_code == 201, response.text
    assert (book["title"], book["authors"]) == ("The ferry at dawn: a novel", ["Harbour, E. M."])
    assert (book["language"], book["year"]) == ("en", 1913)
    assert book["identifiers"] == ["isbn:9780141439600", "cancelled-isbn:9780141439618", "oclc:400866"]
    for out in TYPES:
        answer = await exported(client, book, out)
        assert own_fields(answer) == FERRY.fields
        assert without_lengths(answer)[0] == without_lengths(FERRY)[0]
    found = await client.get("/v1/books", params={"identifier": "isbn:0141439602"})
    assert [item["id"] for item in found.json()["items"]] == [book["id"]]


async def test_record_in_json_says_what_the_other_fields_do_not(client: AsyncClient) -> None:
    document = forms.to_document(FERRY)

    book = await post(client, text=TEXT, marc=document, title="My title")

    assert (book["title"], book["year"]) == ("My title", 1913)
    answer = await exported(client, book)
    [title] = answer.data("245")
    assert [(part.code, part.value) for part in title.subfields] == [
        ("6", "880-02"),
        ("a", "My title"),
        ("c", "E. M. Harbour."),
    ]
    line = json.dumps({"text": prose(2, 300), "marc": document}).encode()
    bulk = await client.post("/v1/books:bulk", content=line, headers={"Content-Type": "application/x-ndjson"})
    assert bulk.json()["status"] == 201
    other = (await client.get(f"/v1/books/{bulk.json()['id']}")).json()
    assert own_fields(await exported(client, other)) == FERRY.fields


async def test_record_is_replaced_and_deleted_by_a_change(client: AsyncClient) -> None:
    book = (await client.post("/v1/books", files=form(FERRY))).json()
    other = record(
        control("001", "2"), data("020", "  ", "a 0786808772"), data("245", "10", "a Another title")
    )

    changed = await client.patch(book["links"]["self"], json={"marc": forms.to_document(other)})
    answer = await exported(client, book)
    await client.patch(book["links"]["self"], json={"marc": None})
    made = await exported(client, book)

    assert (changed.json()["title"], changed.json()["year"]) == ("Another title", 1913)
    assert changed.json()["identifiers"] == ["isbn:9780786808779", "control-number:2"]
    assert own_fields(answer) == other.fields
    assert made.control("001") == book["id"]
    assert next(made.data("245")).first("a") == "Another title"
    assert made.control("008")[7:11] == "1913"
    deleted = await client.delete(book["links"]["self"])
    assert deleted.status_code == 204
    gone = await client.get(book["links"]["self"], headers={"Accept": TYPES["marc"]})
    assert_problem(gone, 404, "id")


async def test_relation_is_in_the_next_export_and_gone_when_rejected(
    client: AsyncClient, services: Services
) -> None:
    pages = pages_of(TEXT)
    book = (await client.post("/v1/books", files=form(FERRY, text="\f".join(pages)))).json()
    alone = await exported(client, book)
    reprint = await post(
        client, pages=pages_of(scanned(TEXT, 1)), title="A reprint", authors=["Harbour, E. M."], year=1920
    )
    part = await post(client, pages=pages[2:6], title="A part")
    await run_jobs(services)

    answer = await exported(client, book)
    linked_data = (await client.get(book["links"]["self"], headers={"Accept": "application/ld+json"})).json()

    assert not [field for tag in ("773", "774", "775", "787") for field in added(alone, tag)]
    [edition] = added(answer, "775")
    assert edition.first("w") == f"(bookprint){reprint['id']}"
    assert (edition.first("t"), edition.first("a"), edition.first("d")) == (
        "A reprint",
        "Harbour, E. M.",
        "1920",
    )
    assert edition.first("o") == reprint["identifier"]
    assert "Same text" in (edition.first("i") or "")
    assert "(confidence " in (edition.first("i") or "")
    [piece] = added(answer, "774")
    assert piece.first("w") == f"(bookprint){part['id']}"
    [whole] = added(await exported(client, part), "773")[:1]
    assert whole.first("w") == f"(bookprint){book['id']}"
    cluster = (await client.get(f"{book['links']['self']}/cluster")).json()
    numbers = [field.first("a") for field in added(answer, "024")]
    assert numbers == [book["id"], book["identifier"], cluster["key"]]
    assert own_fields(answer) == FERRY.fields
    assert [item["@id"] for item in linked_data["bf:otherEdition"]] == [f"urn:uuid:{reprint['id']}"]
    assert [item["@id"] for item in linked_data["hasPart"]] == [f"urn:uuid:{part['id']}"]

    decision = f"{book['links']['relations']}/{reprint['id']}/decision"
    assert (await client.put(decision, json={"verdict": "rejected"})).status_code == 200
    assert not added(await exported(client, book), "775")


async def test_books_with_a_preface_in_common_are_not_linked(client: AsyncClient, services: Services) -> None:
    preface, *works = (" ".join(texts.text("latin", 60_000, seed).split()[:1_500]) for seed in (1, 2, 3))
    plays = [await post(client, text=f"{preface} {work}") for work in works]
    await run_jobs(services)
    related = await client.get(plays[0]["links"]["relations"])
    assert [item["kind"] for item in related.json()["items"]] == ["OVERLAPPING_TEXT"]
    assert not added(await exported(client, plays[0]), "787")


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        ("*/*", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("application/marc;q=0.5, application/marcxml+xml", "application/marcxml+xml"),
        ("application/marc;q=0.5, application/marcxml+xml;q=0.4", "application/marc"),
        ("application/*;q=0.1, application/json;q=0, application/ld+json;q=0.5", "application/ld+json"),
        ("APPLICATION/MARC ; Q=1.0", "application/marc"),
    ],
)
def test_type_is_chosen_by_quality(accept: str, answered: str) -> None:
    assert best(accept, OFFERED) == answered


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "application/marc;q=high"])
def test_types_that_are_not_offered_are_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        best(accept, OFFERED)
    assert "application/marcxml+xml" in refused.value.remedy


async def test_damaged_records_are_refused_with_number_and_reason(client: AsyncClient) -> None:
    written = forms.write(FERRY, "marc")
    unimarc = forms.write(record(control("001", "1"), data("200", "1 ", "a Orgueil")), "marc")
    for part, reason in [
        (written.replace(b"dawn", b"dusky"), "Record 1 is refused: its leader says"),
        (written + written, "More than one MARC record was sent. "),
        (b"nothing", "Record 1 is refused: it does not begin with a leader"),
        (unimarc, "it is UNIMARC"),
    ]:
        files: Json = {"file": ("a.txt", TEXT.encode()), "metadata": ("r.mrc", part, "application/marc")}
        response = await client.post("/v1/books", files=files)
        assert_problem(response, 422, "metadata")
        assert reason in response.json()["detail"]
        assert "as MARC 21" in response.json()["errors"][0]["remedy"]
    response = await client.post("/v1/books", json={"text": TEXT, "marc": {"leader": "", "fields": []}})
    assert_problem(response, 422, "marc")
    listed = await client.get("/v1/books")
    assert listed.json()["items"] == []


async def test_a_record_with_more_values_than_any_book_needs_is_refused(client: AsyncClient) -> None:
    field = {"500": {"ind1": " ", "ind2": " ", "subfields": [{"a": "x" * 5_000}]}}
    marc = {"leader": "00000nam a2200000 i 4500", "fields": [field] * 60}
    assert_problem(await client.post("/v1/books", json={"text": "a", "marc": marc}), 422, "marc")
    marc["fields"] = [{"500": {"ind1": " ", "ind2": " ", "subfields": [{"a": "x"}]}}] * 8_000
    assert_problem(await client.post("/v1/books", json={"text": "a", "marc": marc}), 422, "marc")
