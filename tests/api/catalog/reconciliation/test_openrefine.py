"""What OpenRefine 3.9 sends, step by step, and what it does with the answers.

Taken from its source: the browser asks for the manifest, suggestions, previews and proposed properties by
GET; its server sends guessed types, batches and data extensions by POST.
"""

import json

from httpx import AsyncClient, Response

from app.settings import Settings
from tests.api.catalog.reconciliation.books import Json, post_novels
from tests.api.conftest import asking, started

ORIGIN = {"Origin": "http://127.0.0.1:3333"}


def readable(response: Response) -> Json:
    """The answer as the browser lets a page of another origin read it."""
    assert response.status_code == 200, response.text
    assert response.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    answer: Json = response.json()
    return answer


async def test_a_table_is_reconciled_and_extended(client: AsyncClient) -> None:
    ids = await post_novels(client)

    # The user adds the service.
    service = readable(await client.get("/reconcile", headers=ORIGIN))
    assert {"name", "identifierSpace", "schemaSpace", "defaultTypes", "view"} <= service.keys()

    # Types are guessed from ten cells of the column.
    cells = ["Emma", "Wuthering Hights", "Pride and Prejudice"]
    sample = {f"q{row}": {"query": cell, "limit": 3} for row, cell in enumerate(cells)}
    guessed = (await client.post("/reconcile", data={"queries": json.dumps(sample)})).json()
    assert {kind["id"] for each in guessed.values() for one in each["result"] for kind in one["type"]} == {
        "Book"
    }

    # Ten rows make a batch, or as many as a tenth of the rows up to batchSize.
    rows = [("Emma", 1816, None), ("Wuthering Hights", "1847", None), ("Pride and Prejudice", 1813, ids[0])]
    batch = {}
    for row, (cell, year, known) in enumerate(rows):
        properties: list[Json] = [{"pid": "year", "v": year}]
        if known:
            properties.append({"pid": "identifier", "v": {"id": known, "name": cell}})
        batch[f"q{row}"] = {
            "query": cell,
            "type": "Book",
            "type_strict": "should",
            "properties": properties,
            "limit": 5,
        }
    answer = (await client.post("/reconcile", data={"queries": json.dumps(batch)})).json()
    best = [answer[f"q{row}"]["result"][0] for row in range(3)]
    assert [each["id"] for each in best] == [ids[2], ids[3], ids[0]]
    assert [each["match"] for each in best] == [True, True, True]
    assert all(type(each["score"]) is float and 0 <= each["score"] <= 100 for each in best)

    # The user looks at a candidate, and searches for another one.
    page = await client.get(service["preview"]["url"].replace("{{id}}", ids[0]), headers=ORIGIN)
    assert page.headers["content-type"].startswith("text/html")
    suggest = service["suggest"]["entity"]
    path = suggest["service_url"] + suggest["service_path"]
    found = readable(await client.get(path, params={"prefix": "pride a", "type": "Book"}, headers=ORIGIN))
    assert [each["id"] for each in found["result"]] == [ids[0], ids[1]]

    # The user adds columns from the matched books.
    propose = service["extend"]["propose_properties"]
    path = propose["service_url"] + propose["service_path"]
    proposed = readable(await client.get(f"{path}?type=Book", headers=ORIGIN))
    assert {"author", "year", "isbn", "page_count"} <= {each["id"] for each in proposed["properties"]}
    extension = {
        "ids": [ids[2], ids[3]],
        "properties": [
            {"id": "author"},
            {"id": "year"},
            {"id": "isbn", "settings": {}},
            {"id": "identifier"},
        ],
    }
    extended = (await client.post("/reconcile", data={"extend": json.dumps(extension)})).json()
    assert [column["id"] for column in extended["meta"]] == ["author", "year", "isbn", "identifier"]
    emma = extended["rows"][ids[2]]
    assert emma["author"] == [{"str": "Austen, Jane"}]
    assert emma["year"] == [{"int": 1816}]
    assert emma["isbn"] == [{"str": "9780141439600"}]
    assert emma["identifier"][0]["str"].startswith("bp1:")
    assert extended["rows"][ids[3]]["isbn"] == []


async def test_the_manifest_names_the_address_that_clients_use(
    client: AsyncClient, settings: Settings
) -> None:
    manifest = (await client.get("/reconcile", headers={"Host": "127.0.0.1:8080"})).json()
    assert manifest["view"]["url"] == "http://127.0.0.1:8080/reconcile/preview/{{id}}"

    public = settings.model_copy(update={"public_url": "https://example.org/books/"})
    async with started(public) as app, asking(app) as behind:
        manifest = (await behind.get("/reconcile")).json()
    assert manifest["suggest"]["entity"]["service_url"] == "https://example.org/books"


async def test_a_batch_may_come_by_get(client: AsyncClient) -> None:
    ids = await post_novels(client)

    batch = await client.get("/reconcile", params={"queries": '{"q": {"query": "Emma"}}'})
    extension = {"ids": [ids[2]], "properties": [{"id": "title"}]}
    extended = await client.get("/reconcile", params={"extend": json.dumps(extension)})

    assert batch.json()["q"]["result"][0]["id"] == ids[2]
    assert extended.json()["rows"][ids[2]]["title"] == [{"str": "Emma"}]
