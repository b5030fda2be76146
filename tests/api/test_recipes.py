"""A change of recipes, as clients see it."""

import pytest
from httpx import AsyncClient

from app.wiring import Services
from tests.api.library import prose, scanned

OLD, NEW = "gap-simhash128-v1", "tf-simhash128-v1"


async def post(client: AsyncClient, text: str) -> dict[str, object]:
    response = await client.post("/v1/books", json={"text": text})
    assert response.status_code == 201, response.text
    body: dict[str, object] = response.json()
    return body


async def change(services: Services) -> None:
    await services.recipes.change(
        NEW, allow_missing=False, progress=lambda done, total: None, say=lambda line: None
    )


async def test_documents_and_lookups_follow_the_switch(client: AsyncClient, services: Services) -> None:
    before = await post(client, prose(1))
    copy = await post(client, scanned(prose(1), 2))
    near = f"/v1/books/{before['id']}/near-duplicates"
    await change(services)
    after = (await client.get(f"/v1/books/{before['id']}")).json()
    assert after["fingerprint"]["recipe"] == NEW
    assert after["identifier"] != before["identifier"]
    identifier = after["identifier"]
    answer = (await client.post("/v1/lookups?d=0", json={"identifier": identifier})).json()
    assert (before["id"], identifier) in [(item["id"], item["identifier"]) for item in answer["items"]]
    refused = await client.post("/v1/lookups?d=0", json={"identifier": before["identifier"]})
    assert (refused.status_code, f"those of {NEW} are" in refused.json()["detail"]) == (422, True)
    for question in (near, f"{near}?d=40", f"{near}?k=1"):
        answer = (await client.get(question)).json()
        assert [item["id"] for item in answer["items"]] == [copy["id"]]
    answer = (await client.post("/v1/lookups?d=0", json={"text": prose(1)})).json()
    assert after["identifier"] in [item["identifier"] for item in answer["items"]]


@pytest.mark.slow
async def test_a_recipe_that_is_not_indexed_is_refused_with_what_to_do(
    client: AsyncClient, services: Services
) -> None:
    book = await post(client, prose(3))
    body = {"fingerprint": {"recipe": NEW, "hex": "0" * 32}}
    refused = await client.post("/v1/lookups?d=7", json=body)
    assert refused.status_code == 422
    assert refused.json()["type"].endswith(":recipe-not-indexed")
    assert f"bookprint reindex --recipe {NEW}" in refused.json()["detail"]
    await change(services)
    assert (await client.post("/v1/lookups?d=7", json=body)).status_code == 200
    old = {
        "fingerprint": book["fingerprint"],
        "minhash": None,
        "pages": None,
        "word_count": 4000,
        "character_count": 20000,
        "page_count": None,
    }
    refused = await client.post("/v1/lookups?d=0", json={"signatures": old})
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:bookprint:problem:recipe-not-indexed")
    refused = await client.post("/v1/books", json={"signatures": old})
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:bookprint:problem:recipe-mismatch")


@pytest.mark.slow
async def test_a_cursor_does_not_lead_from_one_recipe_into_the_other(
    client: AsyncClient, services: Services
) -> None:
    ids = [(await post(client, scanned(prose(4), seed)))["id"] for seed in range(3)]
    near = f"/v1/books/{ids[0]}/near-duplicates?d=128&limit=1"
    cursor = (await client.get(near)).json()["next_cursor"]
    assert (await client.get(f"{near}&cursor={cursor}")).status_code == 200
    await change(services)
    assert (await client.get(f"{near}&cursor={cursor}")).status_code == 422
