"""Finding books over HTTP: within d, the k nearest, verified; by book, text, signatures and identifier."""

import pytest
from httpx import AsyncClient

from tests.api.library import prose, scanned
from tests.api.posting import Json, distance, look_up, post


@pytest.mark.parametrize("parameters", [{}, {"d": 30}, {"k": 2}])
async def test_lookup_finds_by_everything_that_describes_a_book(
    client: AsyncClient, parameters: Json
) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 2))
    unrelated = await post(client, text=prose(2))
    questions: list[Json] = [
        {"text": text, "title": "Metadata does not matter here", "external_id": "x"},
        {"pages": [text]},
        {"identifier": book["identifier"]},
        {"identifier": book["identifier"].upper()},
        {"fingerprint": book["fingerprint"]},
        {"signatures": {"fingerprint": book["fingerprint"], "word_count": 4000, "character_count": 24000}},
    ]

    for question in questions:
        answer = await look_up(client, question, **parameters)
        assert [item["id"] for item in answer["items"]] == [book["id"], copy["id"]]
        assert [item["distance"] for item in answer["items"]] == [0, distance(book, copy)]
        assert answer["query"]["id"] is None
        assert (answer["items"][0]["jaccard"] == 1) == ("text" in question or "pages" in question)
    assert unrelated["id"] not in {item["id"] for item in answer["items"]}
    assert len((await client.get("/v1/books")).json()["items"]) == 3


@pytest.mark.parametrize("recipe", ["tf-simhash128-v1", "tf-simhash64-v1", "gap-simhash128-v9"])
async def test_fingerprint_of_another_recipe_is_refused_everywhere(client: AsyncClient, recipe: str) -> None:
    fingerprint = {"recipe": recipe, "hex": "ab" * (8 if "64" in recipe else 16)}
    body = {"signatures": {"fingerprint": fingerprint, "word_count": 10, "character_count": 100}}
    book = await post(client, text=prose(1))

    responses = [
        await client.post("/v1/lookups?d=7", json={"fingerprint": fingerprint}),
        await client.post("/v1/lookups", json={"fingerprint": fingerprint}),
        await client.post("/v1/lookups", json=body),
        await client.post("/v1/books", json=body),
        await client.put(f"{book['links']['self']}/content", json=body),
    ]

    for response in responses:
        assert response.status_code == 422, response.text
        assert "recipe" in response.json()["errors"][0]["field"]
    assert len((await client.get("/v1/books")).json()["items"]) == 1
