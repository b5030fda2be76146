"""What a volume contains over HTTP: its works and passages by its relations, as lists and as records."""

from typing import Any

import pytest
from httpx import AsyncClient, Response

from app.services.volumes import numbers_of
from tests.api.library import prose, scanned
from tests.api.posting import Json, get, post
from tests.api.test_bad_input import assert_problem
from tests.factories import pages_of
from tests.open_services import OpenServices
from tests.paged_books import run_jobs

FERRY, HARBOUR, LIGHT, OTHER = (pages_of(prose(seed, 3000)) for seed in (1, 2, 3, 4))
COUNT = len(FERRY)


async def contents(client: AsyncClient, book: Json) -> Json:
    return await get(client, f"{book['links']['self']}/contents")


def outline(answer: Json) -> list[tuple[Any, ...]]:
    return [
        (part["kind"], part["pages"], [book["title"] for book in part["books"]]) for part in answer["parts"]
    ]


@pytest.fixture
async def books(client: AsyncClient, services: OpenServices) -> dict[str, Json]:
    """A volume of three stories, two copies of the first, and another volume that has the last one, too."""
    labels = [str(page + 5) for page in range(3 * COUNT)]
    posted: dict[str, Json] = {
        "volume": {"pages": FERRY + HARBOUR + LIGHT, "page_labels": labels},
        "ferry": {"pages": pages_of(scanned(" ".join(FERRY), 1)), "volume": "Vol. 1 of 4", "year": 1913},
        "reprint": {"pages": pages_of(scanned(" ".join(FERRY), 2), 220)},
        "collection": {"pages": OTHER + LIGHT},
        "harbour": {"text": " ".join(HARBOUR), "volume": "Vol. 3"},
    }
    found = {name: await post(client, title=name, **body) for name, body in posted.items()}
    await run_jobs(services)
    return found


async def test_volume_lists_its_works_in_order_with_pages_and_labels(
    client: AsyncClient, books: dict[str, Json]
) -> None:
    answer = await contents(client, books["volume"])

    assert (answer["unit"], answer["page_count"], answer["part_of"]) == ("page", 3 * COUNT, [])
    ferry, harbour, light = answer["parts"]
    assert [each[:2] for each in outline(answer)] == [
        ("work", [0, COUNT]),
        ("work", [COUNT, 2 * COUNT]),
        ("passage", [2 * COUNT, 3 * COUNT]),
    ]
    assert ferry["labels"] == ["5", str(COUNT + 4)]
    [copy] = ferry["books"]
    copies = {books[name]["id"] for name in ("ferry", "reprint")}
    assert copy["book_id"] in copies
    cluster = await get(client, f"{books['ferry']['links']['self']}/cluster")
    assert copy["cluster"] == {"id": cluster["id"], "key": cluster["key"]}
    assert [(each["title"], each["pages"], each["volume"]) for each in harbour["books"]] == [
        ("harbour", None, "Vol. 3")
    ]
    assert [(each["title"], each["pages"]) for each in light["books"]] == [
        ("collection", [len(OTHER), len(OTHER) + COUNT])
    ]
    volumes = [(each["number"], each["book_id"]) for each in answer["set"]["volumes"]]
    assert volumes == [(1, books["ferry"]["id"]), (3, books["harbour"]["id"])]
    assert (answer["set"]["total"], answer["set"]["missing"]) == (4, [2, 4])


async def test_part_names_its_whole_and_its_pages_there(client: AsyncClient, books: dict[str, Json]) -> None:
    answer = await contents(client, books["ferry"])

    assert answer["part_of"] == [{"book_id": books["volume"]["id"], "title": "volume", "pages": [[0, COUNT]]}]
    assert (answer["parts"], answer["set"]) == ([], None)


async def test_rejected_part_becomes_a_gap(client: AsyncClient, books: dict[str, Json]) -> None:
    path = f"{books['volume']['links']['relations']}/{books['collection']['id']}/decision"
    assert (await client.put(path, json={"verdict": "rejected"})).status_code == 200

    answer = await contents(client, books["volume"])

    assert outline(answer)[-1] == ("gap", [2 * COUNT, 3 * COUNT], [])


async def test_unknown_book_is_a_problem(client: AsyncClient) -> None:
    assert_problem(await client.get("/v1/books/0193508e-7a3c-7c19-9b54-2f1d6a0e4c11/contents"), 404, "id")


async def test_records_tell_the_pages_of_parts(client: AsyncClient, books: dict[str, Json]) -> None:
    async def record(name: str, form: str) -> Response:
        return await client.get(books[name]["links"]["self"], headers={"Accept": f"application/{form}"})

    volume, part = [(await record(name, "ld+json")).json() for name in ("volume", "ferry")]
    marc = (await record("volume", "marcxml+xml")).text

    assert {each["name"]: each["pagination"] for each in volume["hasPart"]} == {
        "ferry": f"5-{COUNT + 4}",
        "reprint": f"5-{COUNT + 4}",
        "harbour": f"{COUNT + 1}-{2 * COUNT}",
    }
    assert [each["pagination"] for each in part["isPartOf"]] == [f"5-{COUNT + 4}"]
    assert f'<subfield code="g">p. 5-{COUNT + 4}</subfield>' in marc


@pytest.mark.parametrize(
    ("volume", "numbers"),
    [
        ("v. 2", (2, None)),
        ("Bd. IV", (4, None)),
        ("Vol. 2 of 5", (2, 5)),
        ("3/12", (3, 12)),
        ("tome premier", (None, None)),
        ("1868", (None, None)),
        ("5 of 2", (5, None)),
        ("", (None, None)),
    ],
)
def test_number_of_a_volume_is_read_from_its_metadata(
    volume: str, numbers: tuple[int | None, int | None]
) -> None:
    assert numbers_of(volume) == numbers
