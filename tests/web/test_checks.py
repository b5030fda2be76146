"""The page that checks a list: pasted, as a file, or one book; row by row, and as a table."""

import csv
import io
from dataclasses import dataclass

import pytest
from httpx import AsyncClient
from lxml import html

from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_pages
from tests.api.library import prose, scanned
from tests.factories import ACTOR, pages_of
from tests.open_services import OpenServices

TEXT = prose(960, 6_000)
ISBN = "9780141439600"
HOSTILE = "<script>alert(1)</script> \"' {{ 7*7 }} \u202eevil <!-- rows -->"


@pytest.fixture
async def book_id(services: OpenServices) -> str:
    """A book with a hostile title."""
    named = {"title": HOSTILE, "authors": ("Ann Onym",), "external_id": "shelf-9"}
    metadata = Metadata(**named, identifiers=(f"isbn:{ISBN}",))  # type: ignore[arg-type]
    stored = await services.ingest.post(Submission(metadata, content_from_pages(pages_of(TEXT))), actor=ACTOR)
    return str(stored.book.id)


@dataclass(frozen=True)
class Shown:
    """The rows of an answer."""

    document: html.HtmlElement

    @property
    def outcomes(self) -> list[str]:
        return [str(row.get("class")) for row in self.document.xpath("//table[@class='answers']/tbody/tr")]


async def checked(browser: AsyncClient, file: tuple[str, bytes] | None = None, **fields: str) -> Shown:
    answer = await browser.post("/check", data=fields, files={"file": file or ("", b"")})
    assert answer.status_code == 200, answer.text
    return Shown(html.document_fromstring(answer.text))


async def test_a_pasted_list_is_answered_row_by_row(browser: AsyncClient, book_id: str) -> None:
    assert (await browser.get("/check")).status_code == 200
    shown = await checked(browser, text=f"0-14-143960-2\n\nbp1:broken\nNobody has this\nisbn:{ISBN}\n")
    assert shown.outcomes == ["have", "unanswered", "no", "have"]
    [title] = {link.text_content() for link in shown.document.xpath(f"//tbody//a[@href='/books/{book_id}']")}
    assert title == HOSTILE
    rows = shown.document.xpath("//tbody//li")
    assert all("Ann Onym" in row.text_content() and "shelf-9" in row.text_content() for row in rows)
    assert not shown.document.xpath("//script[not(@src)]")
    summary = [row.text_content() for row in shown.document.xpath("//section//tbody/tr")]
    assert (summary[0], summary[-1]) == ("Yes2", "Not answered1")


async def test_a_text_and_the_file_of_a_book_are_found_by_their_words(
    browser: AsyncClient, book_id: str
) -> None:
    copy = scanned(TEXT, 1, 0.03)
    assert (await checked(browser, text=copy, **{"is": "text"})).outcomes == ["have"]
    assert (await checked(browser, ("copy.txt", copy.encode()))).outcomes == ["have"]


async def test_the_answers_are_a_table_too(browser: AsyncClient, book_id: str) -> None:
    answer = await browser.post("/check", data={"text": f"{ISBN}\n=1+1\n", "as": "csv"})
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [(row["place"], row["verdict"]) for row in rows] == [("line 1", "have"), ("line 2", "no")]
    assert rows[0]["book_id"] == book_id
