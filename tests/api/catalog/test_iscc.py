"""ISCC Text-Codes of books, where the service is asked for them."""

import pytest
from httpx import AsyncClient

from app.catalog.iscc import text_code
from app.settings import Settings
from tests.api.library import prose
from tests.api.posting import post


class TestSwitchedOn:
    """A service that computes Text-Codes."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        pytest.importorskip("iscc_lib")
        return settings.model_copy(update={"compute": frozenset({"iscc"})})

    async def test_book_has_the_text_code_of_its_text_and_is_found_by_it(self, client: AsyncClient) -> None:
        text = prose(1)
        book = await post(client, text=text)
        await post(client, text=prose(2))
        assert book["iscc"] == text_code(text)
        assert (await client.get(f"/v1/books/{book['id']}")).json()["iscc"] == book["iscc"]
        for written in (book["iscc"], book["iscc"].lower(), f"iscc:{book['iscc']}"):
            found = (await client.get("/v1/books", params={"identifier": written})).json()["items"]
            assert [item["id"] for item in found] == [book["id"]]

    async def test_code_that_came_with_a_book_finds_it_too(self, client: AsyncClient) -> None:
        longer = "ISCC:EADSKDNZNYGUUF5AMFEJLZ5P66CP5YKCOA3X7F36RWE4CIRCBTUWXYY"
        book = await post(client, text=prose(1), identifiers=[longer])
        assert book["identifiers"] == ["iscc:EAASKDNZNYGUUF5A"]
        found = (await client.get("/v1/books", params={"identifier": longer})).json()["items"]
        assert [item["id"] for item in found] == [book["id"]]


def test_service_does_not_start_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.settings.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install .* '\.\[iscc\]'"):
        Settings(compute="iscc")
