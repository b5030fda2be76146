"""Finding books over HTTP: within d, the k nearest, verified; by book, text, signatures and identifier."""

import pytest
from httpx import AsyncClient

from tests.api.library import prose, scanned, sharing
from tests.api.posting import Json, distance, look_up, near, post


async def test_without_d_and_k_the_answer_is_verified_and_not_exact(client: AsyncClient) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 2))
    part = await post(client, text=text[: len(text) // 2])
    await post(client, text=prose(2))

    answer = await near(client, book)

    assert {item["id"] for item in answer["items"]} == {copy["id"], part["id"]}
    assert answer["exact"] is False
    assert answer["query"] == {"id": book["id"], "max_distance": None, "nearest": None, "jaccard": None}
    [half] = [item for item in answer["items"] if item["id"] == part["id"]]
    assert half["containment"]["other_in_this"] > half["containment"]["this_in_other"]
    assert {item["verdict"] for item in answer["items"]} == {"near_duplicate"}


async def test_books_with_a_preface_in_common_are_named_where_common_matter_is_asked_for(
    client: AsyncClient,
) -> None:
    plays = [await post(client, text=text) for text in sharing(1_500)]
    assert (await near(client, plays[0]))["total"] == 0

    [item] = (await near(client, plays[0], include="common"))["items"]
    assert (item["id"], item["verdict"]) == (plays[1]["id"], "common_matter")
    assert item["where"]["this"] == pytest.approx([0, 0.3], abs=0.05)

    path = f"/v1/books/{plays[0]['id']}/relations/{plays[1]['id']}/decision"
    assert (await client.put(path, json={"kind": "OVERLAPPING_TEXT"})).status_code == 200
    [item] = (await near(client, plays[0]))["items"]  # a person's word outranks the places
    assert item["id"] == plays[1]["id"]


async def test_a_chapter_in_common_is_named_and_told_from_a_copy(client: AsyncClient) -> None:
    books = [await post(client, text=text) for text in sharing(5_500)]
    [item] = (await near(client, books[0]))["items"]
    assert (item["id"], item["verdict"]) == (books[1]["id"], "overlap")


async def test_what_a_person_rejected_is_not_named(client: AsyncClient) -> None:
    books = [await post(client, text=text) for text in (prose(1), scanned(prose(1), 2))]
    path = f"/v1/books/{books[0]['id']}/relations/{books[1]['id']}/decision"
    assert (await client.put(path, json={"verdict": "rejected"})).status_code == 200
    assert (await near(client, books[0]))["total"] == 0
    [item] = (await near(client, books[0], include="common"))["items"]
    assert item["relation"]["kind"] == "UNRELATED"


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
