"""Books as similar as asked by their MinHash, over HTTP."""

import pytest
from httpx import AsyncClient

from tests.api.library import prose, scanned
from tests.api.posting import Json, all_pages, look_up, near, post
from tests.factories import BANDS


async def test_books_come_with_the_recall_the_most_similar_first(client: AsyncClient) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copies = [await post(client, text=text[: len(text) * tenths // 10]) for tenths in (8, 9, 7)]
    await post(client, text=scanned(prose(2), 2))

    answer = await near(client, book, jaccard=0.5)

    similarities = [item["jaccard"] for item in answer["items"]]
    assert similarities == sorted(similarities, reverse=True)
    assert {item["id"] for item in answer["items"]} == {copy["id"] for copy in copies}
    assert min(similarities) >= 0.5
    assert answer["exact"] is False
    assert answer["recall"] == round(BANDS.chance(0.5), 4)
    assert answer["query"] == {"id": book["id"], "max_distance": None, "nearest": None, "jaccard": 0.5}
    pages = await all_pages(client, book["links"]["near_duplicates"], jaccard=0.5, limit=1)
    assert [item for page in pages for item in page["items"]] == answer["items"]
    by_text = await look_up(client, {"text": text}, jaccard=1)
    assert [item["id"] for item in by_text["items"]] == [book["id"]]
    cursor = pages[0]["next_cursor"]
    other = await client.get(book["links"]["near_duplicates"], params={"jaccard": 0.6, "cursor": cursor})
    assert other.status_code == 422


@pytest.mark.parametrize("alone", ["identifier", "fingerprint"])
async def test_what_has_no_minhash_values_is_refused(client: AsyncClient, alone: str) -> None:
    book = await post(client, text=prose(1))
    response = await client.post("/v1/lookups?jaccard=0.5", json={alone: book[alone]})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["jaccard"]
    assert "Send the text or its signatures" in response.text


@pytest.mark.parametrize("parameters", [{"d": 7, "jaccard": 0.5}, {"k": 7, "jaccard": 0.5}, {"jaccard": 0.2}])
async def test_questions_that_cannot_be_asked_are_refused(client: AsyncClient, parameters: Json) -> None:
    response = await client.post("/v1/lookups", params=parameters, json={"text": prose(1)})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["jaccard"]
