"""The page that takes books in from files."""

from httpx import AsyncClient
from lxml import html

from app.services.books import BookFilter
from tests.api.library import prose, scanned
from tests.open_services import OpenServices

TEXT = prose(41, 5_000)
HOSTILE = "<script>alert(1)</script> \"' {{ 7*7 }} \u202eevil"
RECORD = (
    '<record xmlns="http://www.loc.gov/MARC21/slim"><leader>00000nam a2200000 a 4500</leader>'
    '<datafield tag="245" ind1="1" ind2="0"><subfield code="a">By the record</subfield></datafield></record>'
)


def sent(*texts: str) -> list[tuple[str, tuple[str, bytes]]]:
    return [("file", (f"book{n}.txt", text.encode())) for n, text in enumerate(texts)]


async def items(browser: AsyncClient, files: list[tuple[str, tuple[str, bytes]]], **fields: str) -> list[str]:
    """What the page tells of each file."""
    answer = await browser.post("/add", data=fields, files=files)
    assert answer.status_code == 200, answer.text
    document = html.document_fromstring(answer.text)
    assert not document.xpath("//script[not(@src)]")
    return [" ".join(item.text_content().split()) for item in document.xpath("//ul[@id='found']/li")]


async def test_a_book_is_added_with_what_is_said_of_it(browser: AsyncClient, services: OpenServices) -> None:
    assert (await browser.get("/add")).status_code == 200
    said = {"title": HOSTILE, "authors": "Ann\nBea\n", "year": "1913", "collection": "lent"}
    [first] = await items(browser, sent(TEXT), **said)
    assert first.startswith(f"book0.txt Added {HOSTILE}")
    assert "The library has no near-duplicate" in first
    [book] = await services.books.search(BookFilter(), None, 2)
    metadata = book.metadata
    assert (metadata.title, metadata.authors, metadata.year) == (HOSTILE, ("Ann", "Bea"), 1913)
    [again] = await items(browser, sent(TEXT), title="Other")
    assert "Already here" in again
    [near] = await items(browser, sent(scanned(TEXT, 1)), title="Copy")
    assert f"Near-duplicates: {HOSTILE}" in near


async def test_of_several_files_one_that_is_broken_spoils_no_other(
    browser: AsyncClient, services: OpenServices
) -> None:
    told = await items(browser, sent(TEXT, "\0\1\2", prose(42)), collection="gift")
    assert ["Not added" in each for each in told] == [False, True, False]
    assert {book.metadata.collection for book in await services.books.search(BookFilter(), None, 9)} == {
        "gift"
    }


async def test_a_record_says_what_the_fields_do_not(browser: AsyncClient, services: OpenServices) -> None:
    files = [*sent(TEXT), ("record", ("record.xml", RECORD.encode()))]
    [told] = await items(browser, files, year="1850")
    assert "By the record" in told
    [book] = await services.books.search(BookFilter(), None, 2)
    assert book.metadata.year == 1850
