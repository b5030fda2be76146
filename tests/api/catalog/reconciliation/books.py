"""Books and requests for the tests of reconciliation."""

import json
from typing import Any

from httpx import AsyncClient, Response

from tests.api.library import prose

Json = dict[str, Any]

NOVELS: list[Json] = [
    {"title": "Pride and Prejudice", "authors": ["Austen, Jane, 1775-1817"], "year": 1813},
    {"title": "Pride and prejudice : a novel", "authors": ["Jane Austen"], "year": 1894},
    {"title": "Emma", "authors": ["Austen, Jane"], "year": 1816, "identifiers": ["isbn:0141439602"]},
    {"title": "Wuthering Heights", "authors": ["Brontë, Emily"], "year": 1847, "language": "en"},
    {"title": "L’Éducation sentimentale", "authors": ["Gustave Flaubert"], "year": 1869, "language": "fr"},
    {"title": "The Works. Vol. 1", "authors": ["Scott, Walter"], "year": 1821, "volume": "1"},
    {"title": "The Works. Vol. 2", "authors": ["Scott, Walter"], "year": 1821, "volume": "2"},
]


async def post_novels(client: AsyncClient) -> list[str]:
    """The ids of the novels, in their order."""
    return [await post(client, prose(seed, 1_500), **novel) for seed, novel in enumerate(NOVELS)]


async def post(client: AsyncClient, text: str, **metadata: Any) -> str:
    """The id of a new book."""
    response = await client.post("/v1/books", json={"text": text} | metadata)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def send(client: AsyncClient, field: str, value: Any) -> Response:
    """The answer to JSON in a field of a form, as OpenRefine sends it."""
    return await client.post("/reconcile", data={field: json.dumps(value)})


async def results(client: AsyncClient, batch: Json) -> dict[str, Json]:
    """The results of a batch."""
    response = await send(client, "queries", batch)
    assert response.status_code == 200, response.text
    answer: dict[str, Json] = response.json()
    return answer


async def result(client: AsyncClient, query: str = "", limit: int = 10, **properties: Any) -> list[Json]:
    """The candidates of one query."""
    asked: Json = {"limit": limit, "properties": [{"pid": p, "v": v} for p, v in properties.items()]}
    answer = await results(client, {"q0": asked | ({"query": query} if query else {})})
    assert "error" not in answer["q0"]
    found: list[Json] = answer["q0"]["result"]
    return found


def matches(candidates: list[Json]) -> list[str]:
    """The ids of the candidates called a match."""
    return [each["id"] for each in candidates if each["match"]]
