"""The first page, and the counts that it shows, for programs too."""

import pytest
from httpx import AsyncClient
from lxml import html

from app.services import library
from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_text
from tests.api.library import prose
from tests.factories import ACTOR
from tests.open_services import OpenServices

HOSTILE = "<script>alert(1)</script> \"' {{ 7*7 }} \u202eevil"


async def store(services: OpenServices, seed: int, **metadata: object) -> None:
    book = Submission(Metadata(**metadata), content_from_text(prose(seed, 600)))  # type: ignore[arg-type]
    await services.ingest.post(book, actor=ACTOR)


async def test_an_empty_library_leads_to_the_first_book(browser: AsyncClient) -> None:
    document = html.document_fromstring((await browser.get("/")).text)
    assert document.xpath("//main//a[@href='/add']")
    for path, told in (
        ("/books", "Add the first"),
        ("/clusters", "No book has a copy yet"),
        ("/review", "wait"),
    ):
        assert told in html.document_fromstring((await browser.get(path)).text).xpath("string(//main)")
    assert not document.xpath("//table")


async def test_what_is_there_is_counted_and_leads_on(browser: AsyncClient, services: OpenServices) -> None:
    await store(services, 1, title=HOSTILE, language="en", year=1913, collection="a & b")
    await store(services, 2, title="T" * 10_000, language="en", year=1914)
    await store(services, 3, language=HOSTILE[:20], year=-5)
    counted = (await browser.get("/v1/library")).json()
    assert (counted["books"], counted["estimated"]) == (3, False)
    assert counted["languages"][0] == {"value": "en", "count": 2}
    assert {"value": None, "count": 2} in counted["collections"]

    page = (await browser.get("/")).text
    document = html.document_fromstring(page)
    rows = [" ".join(row.text_content().split()) for row in document.xpath("//table/tbody/tr")]
    assert {"1910–19191913 (1) 1914 (1) 2", "-10–-1-5 (1) 1", "en2"} <= set(rows)
    links = document.xpath("//main//a/@href")
    assert {"/books?year=1913", "/books?language=en", "/books?collection=a+%26+b"} <= set(links)
    assert not document.xpath("//script[not(@src)]")
    lately = " ".join(document.xpath("//section[h2[@id='lately']]")[0].text_content().split())
    assert HOSTILE in lately
    assert "T" * 100 not in lately
    assert len(page) < 40_000


async def test_large_libraries_are_counted_by_a_sample(
    browser: AsyncClient, services: OpenServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4):
        await store(services, seed, language="la")
    monkeypatch.setattr(library, "_ALL_COUNTED", 2)
    monkeypatch.setattr(library, "_SAMPLED", 4)
    counted = (await browser.get("/v1/library")).json()
    assert (counted["books"], counted["estimated"]) == (4, True)
    assert counted["languages"] == [{"value": "la", "count": 4}]
