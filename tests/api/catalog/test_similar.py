"""Similar books and the map, over HTTP on real servers, against a plain computation."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from app.services.signing import read_vector_weights
from app.settings import Settings
from bookprint_core.model import Content
from bookprint_core.recipe import VECTORS
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from bookprint_core.text.normal_form import normalise
from bookprint_core.vectors import Vector, book_vector
from tests.api.conftest import asking, started
from tests.api.library import prose, scanned, sharing
from tests.api.posting import Json, get, near, post


@cache
def text_of(seed: int) -> str:
    return prose(seed)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"compute": frozenset({"vectors"})})


def vector_of(text: str) -> Vector:
    vector = book_vector(normalise(Content(text, None)), read_vector_weights())
    assert vector is not None
    return vector


def cosine(one: str, other: str) -> float:
    differing = np.unpackbits(vector_of(one) ^ vector_of(other)).mean()
    return float(np.cos(np.pi * differing))


def expected(text: str, others: dict[str, str]) -> list[tuple[str, float]]:
    """The ids of the other texts with their cosines, the most similar first; equal ones in order of ids."""
    found = [(book_id, round(cosine(text, other), 4)) for book_id, other in others.items()]
    return sorted(found, key=lambda each: (-each[1], each[0]))


async def similar(client: AsyncClient, book: Json, **parameters: Any) -> Json:
    return await get(client, book["links"]["similar"], **parameters)


async def ids_of_similar(client: AsyncClient, book: Json, **parameters: Any) -> list[str]:
    return [item["id"] for item in (await similar(client, book, **parameters))["items"]]


def pairs(answer: Json) -> list[tuple[str, float]]:
    return [(item["id"], item["similarity"]) for item in answer["items"]]


async def test_answer_is_that_of_comparing_every_book(client: AsyncClient) -> None:
    texts = {}
    for seed in range(14):
        book = await post(client, text=text_of(seed), title=f"Book {seed}", authors=["A", f"B {seed}"])
        texts[book["id"]] = text_of(seed)
    for book_id in list(texts)[::5]:
        path = f"/v1/books/{book_id}/similar"
        others = {other: text for other, text in texts.items() if other != book_id}
        wanted = expected(texts[book_id], others)
        answer = (await client.get(path, params={"k": 1000})).json()
        assert answer["recipe"] == VECTORS
        assert pairs(answer) == wanted
        assert pairs((await client.get(path)).json()) == wanted[:10]
        assert pairs((await client.get(path, params={"k": 3})).json()) == wanted[:3]
        first = answer["items"][0]
        number = list(texts).index(first["id"])
        assert (first["title"], first["authors"]) == (f"Book {number}", ["A", f"B {number}"])


async def test_copies_are_left_out_unless_they_are_asked_for(client: AsyncClient) -> None:
    text, with_its_preface = sharing(1_500)
    book = await post(client, text=text)
    copy = await post(client, text=scanned(text, 7, 0.01))
    other = await post(client, text=with_its_preface)
    assert [item["id"] for item in (await near(client, book))["items"]] == [copy["id"]]
    assert len((await near(client, book, include="common"))["items"]) == 2
    assert await ids_of_similar(client, book) == [other["id"]]
    assert await ids_of_similar(client, book, copies=True) == [copy["id"], other["id"]]


async def test_one_of_the_copies_of_another_book_stands_for_all(client: AsyncClient) -> None:
    texts = {"other": text_of(2), "copy": scanned(text_of(2), 7, 0.01), "third": text_of(3)}
    book = await post(client, text=text_of(1))
    ids = {name: (await post(client, text=text))["id"] for name, text in texts.items()}
    ranked = [
        book_id for book_id, _ in expected(text_of(1), {ids[name]: text for name, text in texts.items()})
    ]
    left_out = max(ids["other"], ids["copy"], key=ranked.index)
    assert await ids_of_similar(client, book) == ranked
    path = f"/v1/books/{ids['other']}/relations/{ids['copy']}/decision"
    assert (await client.put(path, json={"kind": "SAME_TEXT"})).status_code == 200

    assert await ids_of_similar(client, book) == [each for each in ranked if each != left_out]
    assert len(await ids_of_similar(client, book, k=2)) == 2
    assert await ids_of_similar(client, book, copies=True) == ranked


async def test_every_change_of_the_catalogue_counts_at_once(client: AsyncClient) -> None:
    book, other, third = [await post(client, text=text_of(seed)) for seed in range(3)]
    ids = {other["id"]: text_of(1), third["id"]: text_of(2)}
    assert pairs(await similar(client, book)) == expected(text_of(0), ids)
    await client.put(f"{other['links']['self']}/content", json={"text": text_of(3)})
    ids[other["id"]] = text_of(3)
    assert pairs(await similar(client, book)) == expected(text_of(0), ids)
    await client.put(f"{book['links']['self']}/content", json={"text": text_of(4)})
    assert pairs(await similar(client, book)) == expected(text_of(4), ids)
    assert (await client.delete(third["links"]["self"])).status_code == 204
    assert await ids_of_similar(client, book) == [other["id"]]
    assert (await client.get(third["links"]["similar"])).status_code == 404
    again = await post(client, text=text_of(2))
    assert pairs(await similar(client, book)) == expected(
        text_of(4), {other["id"]: text_of(3), again["id"]: text_of(2)}
    )


class TestWithoutVector:
    """Books and libraries that cannot be compared say so, and what to do."""

    async def refused(self, client: AsyncClient, path: str, **parameters: Any) -> str:
        answer = await client.get(path, params=parameters)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:bookprint:problem:no-vector")
        detail: str = answer.json()["detail"]
        return detail

    async def test_book_of_signatures(self, client: AsyncClient) -> None:
        book = await post(client, signatures=encode(sketch(content_from_text(text_of(1)))))
        assert book["links"]["similar"] is None
        assert (await client.get(book["links"]["self"])).json()["links"]["similar"] is None
        detail = await self.refused(client, f"{book['links']['self']}/similar")
        assert "text is not stored" in detail

    async def test_library_without_vectors(self, module_settings: Settings, client: AsyncClient) -> None:
        async with started(module_settings) as app, asking(app) as client:
            book = await post(client, text=text_of(1))
            detail = await self.refused(client, f"{book['links']['self']}/similar")
            assert "BOOKPRINT_COMPUTE=vectors" in detail
            assert "reindex --vectors" in detail
            await app.state.services.missing_vectors.compute(lambda done, total: None)
            read = (await client.get(book["links"]["self"])).json()
            assert pairs(await similar(client, read)) == []
