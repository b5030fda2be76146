"""Books that are known by their identifiers alone: posted, found as `compare` decides, and what they lack."""

import pytest
from httpx import AsyncClient

from app.wiring import Services
from bookprint_core.matching.identifier_comparison import compare
from bookprint_core.signatures.identifier import decode
from tests.api.library import prose, scanned
from tests.api.posting import Json, look_up, near, post

ISBN = "9780141439600"
RATES = (0.0, 0.02, 0.05, 0.1, 0.15)


async def identifiers(client: AsyncClient) -> list[Json]:
    """Books that are gone but for their identifiers: copies at several rates of errors, and strangers."""
    texts = [scanned(prose(70, 5_000), number, rate) for number, rate in enumerate(RATES)]
    texts += [prose(seed, 5_000) for seed in range(80, 90)]
    books = [await post(client, text=text) for text in texts]
    for book in books:
        assert (await client.delete(f"/v1/books/{book['id']}")).status_code == 204
    return books


@pytest.mark.parametrize("kind", ["identifier", "long_identifier"])
async def test_texts_find_them_as_the_comparison_decides(client: AsyncClient, kind: str) -> None:
    books = await identifiers(client)
    posted = {(await post(client, identifier=book[kind]))["id"]: book[kind] for book in books}
    for rate in RATES:
        text = scanned(prose(70, 5_000), 99, rate)
        query = await post(client, text=text)
        found = {item["id"] for item in (await look_up(client, {"text": text}))["items"]} - {query["id"]}
        same = {
            book_id
            for book_id, other in posted.items()
            if compare(decode(query["long_identifier"]), decode(other)).verdict == "same"
        }
        assert found == same
        assert found == {item["id"] for item in (await near(client, query))["items"]}
        await client.delete(f"/v1/books/{query['id']}")
    assert same


async def test_a_book_says_what_its_identifier_does_and_finds_texts(client: AsyncClient) -> None:
    text = prose(71, 5_000)
    known = await post(client, text=text)
    foreign = await post(client, identifier=f"{known['long_identifier']}.{ISBN}", title="Foreign")
    assert {name: foreign[name] for name in ("identifier", "long_identifier", "page_count")} == {
        "identifier": known["identifier"],
        "long_identifier": known["long_identifier"],
        "page_count": None,
    }
    assert (foreign["identifiers"], foreign["title"]) == ([f"isbn:{ISBN}"], "Foreign")
    again = await client.post("/v1/books", json={"identifier": known["long_identifier"]})
    assert (again.status_code, again.json()["id"]) == (200, foreign["id"])
    [item] = (await near(client, foreign))["items"]
    assert (item["id"], item["distance"], item["jaccard"]) == (known["id"], 0, 1.0)
    assert (await near(client, foreign, d=0))["total"] == 1


async def test_a_rebuilt_index_knows_them(client: AsyncClient, services: Services) -> None:
    text = prose(73, 5_000)
    known = await post(client, text=text)
    foreign = await post(client, identifier=known["identifier"])
    for _ in range(2):
        assert (await services.upkeep.verify(lambda done, total: None)).clean
        await services.upkeep.rebuild()
    found = (await look_up(client, {"text": scanned(text, 1, 0.05)}))["items"]
    assert {item["id"] for item in found} == {known["id"], foreign["id"]}
