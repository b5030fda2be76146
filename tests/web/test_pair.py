"""The page of two books: valid, of one file, readable without colours, and deaf to what titles say."""

import re
from functools import cache
from itertools import pairwise

import pytest
from lxml import html

from app.services.pairs.evidence import shown_pair
from app.web.pair import self_contained_page
from bookprint_core.model import Metadata, Submission
from bookprint_core.text.content import content_from_pages, content_from_text
from tests.api.library import prose, scanned
from tests.factories import pages_of

PAGES = pages_of(prose(1, 9000))
HOSTILE = "<script>alert(1)</script>\" onload='x' &amp; {{ 7*7 }} \u202eevil"


def paged(pages: list[str], **metadata: str) -> Submission:
    return Submission(Metadata(**metadata), content=content_from_pages(pages))  # type: ignore[arg-type]


def read_back(page: str) -> html.HtmlElement:
    return html.document_fromstring(page)


@cache
def moved_page() -> str:
    """Of a book whose last third is bound first in a bad scan, with hostile texts."""
    moved = [*PAGES[20:], *PAGES[:20]]
    bad = [scanned(page, place, 0.05) for place, page in enumerate(moved)]
    bad[3] += f" {HOSTILE}"
    return self_contained_page(shown_pair(paged(PAGES, title=HOSTILE, language="en"), paged(bad, title="b")))


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = moved_page()
    document = read_back(page)
    assert not document.xpath("//script | //link | //iframe | //object | //embed | //img | //a")
    attributes = [(name, value) for element in document.iter() for name, value in element.attrib.items()]
    assert not [name for name, _ in attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert not re.search(r"@import|url\((?!#)|https?:", page)
    [policy] = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_titles_and_texts_are_shown_as_text() -> None:
    document = read_back(moved_page())
    assert HOSTILE in document.findtext(".//h1/bdi")
    assert "<script>" not in moved_page()
    assert "49" not in document.findtext(".//h1/bdi")


def test_page_can_be_read_without_a_picture() -> None:
    document = read_back(moved_page())
    assert len(document.xpath("//h1")) == 1
    levels = [int(element.tag[1]) for element in document.xpath("//h1 | //h2 | //h3 | //h4")]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert document.xpath("//svg[@role='img']/title")
    assert document.xpath("//svg/desc")
    ids = document.xpath("//@id")
    assert len(ids) == len(set(ids))
    for name in " ".join(document.xpath("//@aria-labelledby")).split():
        assert name in ids
    assert not document.xpath("//th[not(@scope)]")
    for table in document.xpath("//table"):
        assert {
            len(row.xpath("th | td")) + len(row.xpath("td[@colspan='2']")) for row in table.iter("tr")
        } == {len(table.xpath("thead/tr/th"))}
    rows = [[cell.text_content() for cell in row] for row in document.xpath("//table[caption][1]/tbody/tr")]
    runs = [row for row in rows if row[-1] in ("moved", "in order")]
    assert [(row[1], row[2], row[5]) for row in runs] == [
        ("1–20", "11–30", "in order"),
        ("21–30", "1–10", "moved"),
    ]
    assert all(mark.get("title") for mark in document.xpath("//article//mark"))
    assert all(text.get("dir") == "auto" for text in document.xpath("//div[@class='text']"))


def test_books_without_pages_are_shown_in_windows() -> None:
    text = prose(3, 4000)
    sent = [Submission(content=content_from_text(each)) for each in (text, scanned(text, 1, 0.02))]
    pair = shown_pair(*sent)
    assert pair.finding.summary.kind == "SAME_TEXT"
    document = read_back(self_contained_page(pair))
    assert "pieces of about 300 words stand for pages" in document.text_content()
    assert document.xpath("//article")


@pytest.mark.parametrize("other", [["a few words"], ["one word", ""], pages_of(prose(77, 3000))])
def test_books_with_nothing_in_common_have_a_page(other: list[str]) -> None:
    document = read_back(self_contained_page(shown_pair(paged(PAGES), paged(other))))
    assert "No pages match." in document.text_content()
    assert not document.xpath("//article")
