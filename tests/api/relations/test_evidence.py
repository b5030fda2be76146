"""The relation of two books in the forms that other tools read, over HTTP."""

import csv
from io import StringIO

from httpx import AsyncClient

from app.catalog.evidence import Form
from app.wiring import Services
from tests.api.library import prose
from tests.api.posting import Json, post
from tests.factories import pages_of
from tests.paged_books import run_jobs

PAGES = pages_of(prose(1, 3000))
TYPES: dict[Form, str] = {
    "annotations": "application/ld+json",
    "csv": "text/csv",
}


async def pair_of(client: AsyncClient, services: Services) -> tuple[Json, Json]:
    """A book whose canvases are known, and a reprint with one leaf more in front."""
    canvas = "canvas:https://iiif.example.org/a/canvas/{page}"
    book = await post(client, pages=PAGES, title="A <book>", identifiers=[canvas])
    reprint = await post(client, pages=pages_of(prose(3, 600)) + PAGES, title="A reprint")
    await run_jobs(services)
    return book, reprint


async def test_each_form_says_what_the_json_says(client: AsyncClient, services: Services) -> None:
    book, reprint = await pair_of(client, services)
    path = f"{book['links']['relations']}/{reprint['id']}"
    relation = (await client.get(path)).json()
    pages = [(i, j) for i, j, _ in relation["page_map"]]
    assert len(pages) == len(PAGES)
    answers = {}
    for form, media_type in TYPES.items():
        response = await client.get(path, headers={"Accept": media_type})
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"].startswith(media_type)
        assert response.headers["Vary"] == "Accept"
        answers[form] = response
    items = answers["annotations"].json()["first"]["items"]
    assert [item["target"]["source"]["id"].rpartition("/")[2] for item in items] == [
        str(i + 1) for i, _ in pages
    ]
    assert [item["body"][0]["selector"]["value"] for item in items] == [f"page={j + 1}" for _, j in pages]
    rows = list(csv.DictReader(StringIO(answers["csv"].text)))
    assert [int(row["this_start"]) for row in rows] == [run["left"][0] for run in relation["runs"]]
