"""Digests of books: by these a library that runs Nutch joins its own."""

import pytest
from httpx import AsyncClient

from app.settings import Settings
from bookprint_core.recipe import DIGESTS
from bookprint_core.signatures.digests import digests
from bookprint_core.signatures.json_codec import encode
from bookprint_core.signatures.sketch import sketch
from bookprint_core.text.content import content_from_text
from tests.api.library import prose
from tests.api.posting import Json, look_up, post

TEXT_PROFILE = DIGESTS[1]


def of(text: str) -> dict[str, str]:
    return {digest.recipe: digest.hex for digest in digests(text)}


def signed(text: str) -> Json:
    content = content_from_text(text)
    return encode(sketch(content)) | {"digests": of(text)}


async def found(client: AsyncClient, name: str, digits: str, **others: str) -> list[str]:
    answer = await client.get("/v1/books", params={"digest": f"{name}:{digits}"} | others)
    assert answer.status_code == 200, answer.text
    return [book["id"] for book in answer.json()["items"]]


class TestSwitchedOn:
    """A service that computes digests."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"compute": frozenset({"digests"})})

    async def test_book_has_the_digests_of_its_text_and_is_found_by_each(self, client: AsyncClient) -> None:
        text = prose(1)
        book = await post(client, text=text)
        await post(client, text=prose(2))
        assert book["digests"] == of(text)
        assert list(book["digests"]) == list(DIGESTS)
        assert (await client.get(f"/v1/books/{book['id']}")).json()["digests"] == book["digests"]
        for name, digits in of(text).items():
            assert await found(client, name, digits) == [book["id"]]
            assert await found(client, name, digits.upper()) == [book["id"]]
        assert await found(client, DIGESTS[0], of(text)[TEXT_PROFILE]) == []

    async def test_new_content_has_other_digests(self, client: AsyncClient) -> None:
        book = await post(client, text=prose(1))
        changed = await client.put(f"/v1/books/{book['id']}/content", json={"text": prose(2)})
        assert changed.json()["digests"] == of(prose(2))
        assert await found(client, TEXT_PROFILE, of(prose(1))[TEXT_PROFILE]) == []
        assert await found(client, TEXT_PROFILE, of(prose(2))[TEXT_PROFILE]) == [book["id"]]


async def test_digests_that_came_with_signatures_are_kept(client: AsyncClient) -> None:
    book = await post(client, signatures=signed(prose(1)))
    assert book["digests"] == of(prose(1))
    assert await found(client, TEXT_PROFILE, of(prose(1))[TEXT_PROFILE]) == [book["id"]]
    looked_up = await look_up(client, {"signatures": signed(prose(1))})
    assert [item["id"] for item in looked_up["items"]] == [book["id"]]


@pytest.mark.parametrize(
    "digests",
    [
        {"sha1": "0" * 32},
        {"md5-text": "0" * 31},
        {"md5-text": 1},
        {"md5-text": "0" * 32, "textprofile-md5-v1": "x" * 32},
        ["md5-text"],
        "md5-text",
    ],
)
async def test_wrong_digests_are_refused_with_their_place(client: AsyncClient, digests: object) -> None:
    answer = await client.post("/v1/books", json={"signatures": signed(prose(1)) | {"digests": digests}})
    assert answer.status_code == 422
    assert "digests" in answer.text
