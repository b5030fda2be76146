"""Finding books over HTTP: within d, the k nearest, verified; by book, text, signatures and identifier."""

from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from app.api.answers import NearDuplicates
from app.core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH
from app.core.simhash import hamming
from tests.api.library import prose, scanned
from tests.making import flipped

Json = dict[str, Any]


def signatures(bits: bytes, rng: np.random.Generator) -> Json:
    return {
        "fingerprint": {"recipe": DEFAULT_FINGERPRINT, "hex": bits.hex()},
        "minhash": {
            "recipe": DEFAULT_MINHASH,
            "values": b64encode(rng.bytes(512)).decode(),
            "shingle_count": 900,
        },
        "word_count": 1000,
        "character_count": 6000,
    }


async def post(client: AsyncClient, **body: Any) -> Json:
    response = await client.post("/v1/books", json=body)
    assert response.status_code == 201, response.text
    book: Json = response.json()
    return book


async def near(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    response = await client.get(book["links"]["near_duplicates"], params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


async def look_up(client: AsyncClient, body: Json, **parameters: Any) -> Json:
    response = await client.post("/v1/lookups", json=body, params=parameters)
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


@pytest.fixture
async def cluster(client: AsyncClient) -> list[Json]:
    """Forty books at distances 0 to 39 from the first, and forty strangers."""
    rng = np.random.default_rng(7)
    centre = rng.bytes(16)
    books = []
    for distance in range(40):
        bits = flipped(centre, *rng.choice(128, distance, replace=False).tolist())
        books.append(await post(client, signatures=signatures(bits, rng), title=f"at {distance}"))
    for _ in range(40):
        await post(client, signatures=signatures(rng.bytes(16), rng))
    return books


def distance(a: Json, b: Json) -> int:
    return hamming(bytes.fromhex(a["fingerprint"]["hex"]), bytes.fromhex(b["fingerprint"]["hex"]))


async def test_near_duplicates_answer_what_the_contract_names(client: AsyncClient) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 2), title="A scan")

    answer = await near(client, book, d=30)

    [item] = answer.pop("items")
    assert answer == {
        "query": {"id": book["id"], "d": 30},
        "exact": True,
        "total": 1,
        "next_cursor": None,
    }
    assert set(item) == {"id", "identifier", "title", "distance", "jaccard", "containment", "relation"}
    assert {name: item[name] for name in ("id", "identifier", "title", "distance", "relation")} == {
        "id": copy["id"],
        "identifier": copy["identifier"],
        "title": "A scan",
        "distance": distance(book, copy),
        "relation": None,
    }
    shares = [item["jaccard"], *item["containment"].values()]
    assert all(0 < share < 1 and share == round(share, 4) for share in shares)
    assert set(item["containment"]) == {"this_in_other", "other_in_this"}


@pytest.mark.parametrize("query", ["", "?d=9", "?d=9&limit=3", "?k=4", "?d=0"])
async def test_answer_is_written_as_its_model_writes_it(
    client: AsyncClient, cluster: list[Json], query: str
) -> None:
    await post(client, text="far too short")
    text = prose(1)
    book = await post(client, text=text, title='“Ünïcode”, "quoted"\n')
    await post(client, text=scanned(text, 2), title="A scan")
    for asked in (cluster[0], book):
        response = await client.get(asked["links"]["near_duplicates"] + query)

        written = NearDuplicates.model_validate_json(response.content).model_dump_json()
        assert response.content == written.encode()
        assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("d", [0, 3, 7, 10, 15, 20, 23, 28, 40, 128])
async def test_books_within_d_are_exactly_those_that_brute_force_finds(
    client: AsyncClient, cluster: list[Json], d: int
) -> None:
    everyone = (await client.get("/v1/books", params={"limit": 1000})).json()["items"]
    for book in cluster[::13]:
        answer = await near(client, book, d=d, limit=1000)
        expected = {
            (other["id"], distance(book, other))
            for other in everyone
            if other["id"] != book["id"] and distance(book, other) <= d
        }
        distances = [item["distance"] for item in answer["items"]]
        assert {(item["id"], item["distance"]) for item in answer["items"]} == expected
        assert distances == sorted(distances)
        assert answer["exact"] is True
        assert answer["total"] == len(expected)


@pytest.mark.parametrize("k", [1, 5, 1000])
async def test_k_nearest_are_the_k_smallest_distances(
    client: AsyncClient, cluster: list[Json], k: int
) -> None:
    everyone = (await client.get("/v1/books", params={"limit": 1000})).json()["items"]

    answer = await near(client, cluster[0], k=k, limit=1000)

    expected = sorted(distance(cluster[0], other) for other in everyone)[1 : k + 1]
    assert [item["distance"] for item in answer["items"]] == expected
    assert answer["exact"] is True
    assert answer["total"] == len(expected)
    assert answer["query"] == {"id": cluster[0]["id"], "d": None, "k": k}


async def test_without_d_and_k_the_answer_is_verified_and_not_exact(client: AsyncClient) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 2))
    part = await post(client, text=text[: len(text) // 2])
    await post(client, text=prose(2))

    answer = await near(client, book)

    assert {item["id"] for item in answer["items"]} == {copy["id"], part["id"]}
    assert answer["exact"] is False
    assert answer["query"] == {"id": book["id"], "d": None}
    [half] = [item for item in answer["items"] if item["id"] == part["id"]]
    assert half["containment"]["other_in_this"] > half["containment"]["this_in_other"]


@pytest.mark.parametrize("parameters", [{"d": 40}, {"k": 30}])
@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_pages_of_an_answer_show_every_item_once_in_order(
    client: AsyncClient, cluster: list[Json], parameters: Json, limit: int
) -> None:
    whole = await near(client, cluster[3], **parameters, limit=1000)

    items: list[Json] = []
    cursor: str | None = None
    while True:
        page = await near(
            client, cluster[3], **parameters, limit=limit, **({"cursor": cursor} if cursor else {})
        )
        assert page["total"] == whole["total"]
        assert len(page["items"]) <= limit
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert items == whole["items"]
    assert len(items) >= 30


async def test_limit_may_change_from_page_to_page(client: AsyncClient, cluster: list[Json]) -> None:
    first = await near(client, cluster[0], d=20, limit=3)
    second = await near(client, cluster[0], d=20, limit=1000, cursor=first["next_cursor"])

    whole = await near(client, cluster[0], d=20)
    assert first["items"] + second["items"] == whole["items"]


async def test_page_continues_where_it_ended_when_books_before_it_are_deleted(
    client: AsyncClient, cluster: list[Json]
) -> None:
    first = await near(client, cluster[0], d=20, limit=3)
    for item in first["items"]:
        await client.delete(f"/v1/books/{item['id']}")

    second = await near(client, cluster[0], d=20, limit=3, cursor=first["next_cursor"])

    assert [item["distance"] for item in second["items"]] == [4, 5, 6]


async def test_cursor_of_another_query_is_refused(client: AsyncClient, cluster: list[Json]) -> None:
    cursor = (await near(client, cluster[0], d=20, limit=3))["next_cursor"]
    of_list = (await client.get("/v1/books", params={"limit": 1})).json()["next_cursor"]
    of_lookup = (await look_up(client, {"fingerprint": cluster[0]["fingerprint"]}, d=20, limit=1))[
        "next_cursor"
    ]
    path, other = cluster[0]["links"]["near_duplicates"], cluster[1]["links"]["near_duplicates"]

    refused = [
        await client.get(path, params={"d": 21, "cursor": cursor}),
        await client.get(path, params={"k": 20, "cursor": cursor}),
        await client.get(path, params={"cursor": cursor}),
        await client.get(other, params={"d": 20, "cursor": cursor}),
        await client.get(path, params={"d": 20, "cursor": of_list}),
        await client.get(path, params={"d": 20, "cursor": of_lookup}),
        await client.get("/v1/books", params={"cursor": cursor}),
        await client.get("/v1/books", params={"title": "at", "cursor": of_list}),
        await client.post(
            f"/v1/lookups?d=20&cursor={of_lookup}", json={"fingerprint": cluster[1]["fingerprint"]}
        ),
        *[
            await client.get(path, params={"d": 20, "cursor": text})
            for text in ("", "x", "ü", "\0", cursor[:-2], cursor + "AA", cursor[:-1] + "!", "A" * 5000)
        ],
    ]

    for response in refused:
        assert response.status_code == 422, response.request.url
        assert response.json()["errors"][0]["field"] == "cursor"


@pytest.mark.parametrize("parameters", [{}, {"d": 30}, {"k": 2}])
async def test_lookup_finds_by_everything_that_describes_a_book(
    client: AsyncClient, parameters: Json
) -> None:
    text = prose(1)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 2))
    stranger = await post(client, text=prose(2))
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
    assert stranger["id"] not in {item["id"] for item in answer["items"]}
    assert len((await client.get("/v1/books")).json()["items"]) == 3


async def test_book_without_a_fingerprint_is_near_to_nothing(client: AsyncClient) -> None:
    book = await post(client, text="Nice day.")
    await post(client, text=prose(1))

    for parameters in ({"d": 128}, {"k": 10}):
        answer = await near(client, book, **parameters)
        assert (answer["items"], answer["total"], answer["exact"]) == ([], 0, True)
        assert await look_up(client, {"text": "Nice day."}, **parameters) == answer | {
            "query": answer["query"] | {"id": None}
        }


async def test_pages_of_a_lookup_continue_with_the_same_body(
    client: AsyncClient, cluster: list[Json]
) -> None:
    body = {"identifier": cluster[0]["identifier"]}

    first = await look_up(client, body, d=20, limit=5)
    second = await look_up(client, body, d=20, limit=1000, cursor=first["next_cursor"])

    assert [item["distance"] for item in first["items"] + second["items"]] == list(range(21))


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
