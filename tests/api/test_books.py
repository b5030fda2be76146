"""The life of a book over HTTP: posted, read, changed, replaced, deleted, listed."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import AsyncClient

from bookprint_core.recipe import DEFAULT_FINGERPRINT
from bookprint_core.signatures import identifier
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.api.library import prose, scanned

METADATA: dict[str, Any] = {
    "title": "Die Leiden des jungen Werthers",
    "authors": ["Johann Wolfgang von Goethe", "某人"],
    "language": "de",
    "year": 1774,
    "volume": "Erster Teil",
    "publisher": "Weygand",
    "external_id": "gut:2407",
    "identifiers": ["isbn:9783150000670", "oclc:1234", "htid:mdp.39015"],
}


OF_THE_POST = ("created", "format", "warnings")
"""Fields that only the answer to a post has."""


async def test_what_a_post_gives_anew_of_a_known_book_is_told_and_not_stored(client: AsyncClient) -> None:
    body = {"text": prose(90), **METADATA, "external_id": "told-1"}
    first = await posted(client, body)
    assert (await client.post("/v1/books", json=body)).json()["warnings"] == []
    again = (await client.post("/v1/books", json=body | {"title": "Werther", "year": 1787})).json()
    assert (again["created"], again["title"]) == (False, METADATA["title"])
    [warning] = again["warnings"]
    assert "title, year" in warning
    assert f"PATCH /v1/books/{first['id']}" in warning


async def posted(client: AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post("/v1/books", json=body)
    assert response.status_code == 201, response.text
    book: dict[str, Any] = response.json()
    return book


async def test_posted_book_answers_what_the_contract_names(client: AsyncClient) -> None:
    text = prose(1)

    response = await client.post("/v1/books", json={"text": text, **METADATA})

    book = response.json()
    signed = sketch(content_from_text(text))
    assert signed.fingerprint is not None
    assert response.status_code == 201
    assert response.headers["content-type"] == "application/json"
    assert response.headers["location"] == f"/v1/books/{book['id']}"
    assert response.headers["etag"] == '"1"'
    assert UUID(book["id"]).version == 7
    assert {name: book[name] for name in METADATA} == METADATA
    expected = {
        "identifier": identifier.encode(signed.fingerprint, signed.word_count),
        "created": True,
        "status": "indexed",
        "page_count": None,
        "word_count": 4000,
        "fingerprint": {"recipe": DEFAULT_FINGERPRINT, "hex": signed.fingerprint.hex},
        "links": {
            "self": f"/v1/books/{book['id']}",
            "near_duplicates": f"/v1/books/{book['id']}/near-duplicates",
            "relations": f"/v1/books/{book['id']}/relations",
            "similar": None,
        },
        "version": 1,
    }
    assert {name: book[name] for name in expected} == expected


@pytest.mark.parametrize("with_pages", [True, False])
async def test_signatures_stand_for_the_text(client: AsyncClient, with_pages: bool) -> None:
    pages = [prose(1), prose(2)]
    signatures = encode(sketch(content_from_pages(pages)), pages=with_pages)

    from_signatures = await posted(client, {"signatures": signatures, "title": "Signed elsewhere"})
    from_text = await posted(client, {"pages": pages})
    again = await client.post("/v1/books", json={"signatures": signatures})

    for name in ("identifier", "fingerprint", "word_count", "page_count"):
        assert from_signatures[name] == from_text[name]
    assert again.status_code == 200
    assert again.json()["id"] == from_signatures["id"]
    near = (await client.get(from_text["links"]["near_duplicates"])).json()
    assert [item["title"] for item in near["items"]] == ["Signed elsewhere"]


async def test_other_content_under_an_external_id_conflicts_and_names_the_put(client: AsyncClient) -> None:
    book = await posted(client, {"text": prose(1), "external_id": "mine"})

    response = await client.post("/v1/books", json={"text": prose(2), "external_id": "mine"})

    assert response.status_code == 409
    problem = response.json()
    assert problem["book_id"] == book["id"]
    assert f"PUT /v1/books/{book['id']}/content" in problem["detail"]
    assert problem["errors"][0]["field"] == "external_id"


async def test_patch_sets_what_is_sent_empties_nulls_and_leaves_the_rest(client: AsyncClient) -> None:
    book = await posted(client, {"text": prose(1), **METADATA})

    response = await client.patch(
        book["links"]["self"], json={"title": "Werther", "year": None, "authors": None}
    )

    assert response.status_code == 200
    assert response.headers["etag"] == '"2"'
    changed = book | {"title": "Werther", "year": None, "authors": [], "version": 2}
    for name in OF_THE_POST:
        del changed[name]
    assert response.json() == changed
    assert (await client.get(book["links"]["self"])).json() == changed


@pytest.mark.parametrize(
    ("if_match", "status"),
    [
        ('"1"', 200),
        ("1", 200),
        ("*", 200),
        ('"7", "1"', 200),
        ('W/"1"', 412),
        ('"99999999999999999999999"', 412),
        ("", 412),
    ],
)
async def test_change_happens_only_to_a_version_that_if_match_names(
    client: AsyncClient, if_match: str, status: int
) -> None:
    path = (await posted(client, {"text": prose(1, 300)}))["links"]["self"]
    headers = {"If-Match": if_match}

    patched = await client.patch(path, json={"title": "New"}, headers=headers)
    assert patched.status_code == status
    if status == 412:
        replaced = await client.put(f"{path}/content", json={"text": prose(2, 300)}, headers=headers)
        deleted = await client.delete(path, headers=headers)
        assert (replaced.status_code, deleted.status_code) == (412, 412)
        assert patched.headers["etag"] == '"1"'
        assert patched.json()["errors"][0]["field"] == "If-Match"
        assert (await client.get(path)).json()["version"] == 1


async def test_deleted_book_is_gone_from_everywhere_and_its_names_are_free(client: AsyncClient) -> None:
    body = {"text": prose(1), "external_id": "mine"}
    book = await posted(client, body)
    near = await posted(client, {"text": scanned(prose(1), 1)})

    response = await client.delete(book["links"]["self"])

    assert (response.status_code, response.content) == (204, b"")
    assert (await client.get(book["links"]["self"])).status_code == 404
    assert (await client.delete(book["links"]["self"])).status_code == 404
    assert (await client.get(book["links"]["near_duplicates"])).status_code == 404
    for question in ("", "?d=128", "?k=10"):
        assert (await client.get(near["links"]["near_duplicates"] + question)).json()["total"] == 0
    assert (await posted(client, body))["id"] != book["id"]


async def test_unknown_book_is_404_on_every_path(client: AsyncClient) -> None:
    for book_id in (str(uuid4()), "x", "%00", "a" * 5000, "0193508e7a3c7c199b542f1d6a0e4c11"):
        path = f"/v1/books/{book_id}"
        responses = [
            await client.get(path),
            await client.patch(path, json={"title": "x"}),
            await client.put(f"{path}/content", json={"text": "x"}),
            await client.delete(path),
            await client.get(f"{path}/near-duplicates"),
        ]
        for response in responses:
            assert response.status_code == 404
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["errors"][0]["field"] == "id"
            assert len(response.content) < 2000
