"""Markup made to cost a parser the square of its length: each is read or refused within bounds."""

from collections.abc import Callable

import pytest

from tests.readers.limits import outcome_within_limits
from tests.readers.made_files import MADE_FILES, zipped

GUTENBERG = b"\n***START OF THE PROJECT GUTENBERG EBOOK X***\n"


def epub(
    spine: bytes, navigation: bytes = b"", text: bytes = b"<html><body><p id='a'>word</p></body></html>"
) -> bytes:
    """An EPUB with this spine; its only document is "t", its page list stands in n.xhtml."""
    opf = (
        b'<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        b'<item id="t" href="t.xhtml" media-type="application/xhtml+xml" fallback="u"/>'
        b'<item id="u" href="u.svg" media-type="image/svg+xml" fallback="v"/>'
        b'<item id="v" href="v.svg" media-type="image/svg+xml" fallback="u"/>'
        b'<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        b"<spine>" + spine + b"</spine></package>"
    )
    nav = (
        b'<html xmlns:e="http://www.idpf.org/2007/ops"><nav e:type="page-list">'
        + navigation
        + b"</nav></html>"
    )
    return zipped({"a.opf": opf, "t.xhtml": text, "n.xhtml": nav})


HOSTILE: dict[str, Callable[[], bytes]] = {
    # HTML, hOCR
    "style that is opened anew": lambda: b"<html>" + b"".join(b"<i id=%d><p>" % n for n in range(50_000)),
    "the same in hOCR": lambda: b"<p class=ocr_page>" + b"".join(b"<i id=%d><p>" % n for n in range(50_000)),
    "tags that do not end": lambda: b"<html>word" + b"<a " * 500_000,
    "entities that do not end": lambda: b"<html>" + b"&lt" * 100_000 + b"word",
    "ends without a start": lambda: b"<html>" + b"</p>" * 100_000 + b"word",
    "quotes that do not end": lambda: b"<html>word" + b"<a b=\"<a b='" * 200_000,
    "comments that do not end": lambda: b"<html>word" + b"<!--" * 500_000,
    "comments before the start": lambda: b"<!---->" * 9_000 + b"word",
    "scripts that do not end": lambda: b"<html>word" + b"<script>" * 300_000,
    "an attribute of 20 MB": lambda: b"<html><p page='" + b"a" * 20_000_000 + b"'>word",
    "a number of 10,000 digits": lambda: b"<html>word &#" + b"9" * 10_000 + b";",
    "blanks where an encoding is": lambda: b"<p class=ocr_page><meta charset" + b" " * 60_000,
    # EPUB, packages
    "fallbacks in a circle": lambda: epub(b'<itemref idref="t"/>' + b'<itemref idref="v"/>' * 10_000),
    "folders in folders": lambda: zipped({"a/" * 15_000 + f"{n}.txt": b"word" for n in range(5)}),
    "an EPUB in itself": lambda: zipped({"a.opf": MADE_FILES["a.epub"], "b.epub": MADE_FILES["a.epub"]}),
    # XML
    "attributes of an element": lambda: b"<alto " + b" ".join(b"a%d=''" % n for n in range(300_000)) + b"/>",
    "depth of XML": lambda: b"<alto>" * 300_000,
    "a header without end": lambda: b"<TEI><teiHeader>" + b"<x/>" * 250_000,
    "choices within one another": lambda: (
        b"<TEI><text>"
        + b"<choice><sic>" * 100
        + b"word" * 200_000
        + b"</sic></choice>" * 100
        + b"</text></TEI>"
    ),
    # patterns
    "a title of marks": lambda: b"The Project Gutenberg " + b"!" * 20_000 + b"x" + GUTENBERG + b"word",
    "a title of authors": lambda: b"The Project Gutenberg x" + b" by" * 12_000 + GUTENBERG + b"word",
    "a caption of 160 kB": lambda: b"<html><title>The Project Gutenberg " + b" by !" * 32_000,
    "a field of blank lines": lambda: b"Title: " + b"\n " * 19_000 + GUTENBERG + b"word",
    "a string in JSON": lambda: b'{"' + b"\\a" * 30_000,
    "packets in a PDF": lambda: b"%PDF-1.4\n" + b"<?xpacket begin ns.adobe.com/pdf/" * 300_000,
}

COSTLY: dict[str, Callable[[], bytes]] = {
    # HTML, hOCR
    "list items in definitions": lambda: b"<html>" + b"<dd><li>" * 100_000 + b"</b>" * 100_000,
    "tables in tables": lambda: b"<html>" + b"<table><tr><td>" * 100_000 + b"word",
    "pictures in formulas": lambda: b"<html>" + b"<svg><math>" * 100_000 + b"word",
    "depth": lambda: b"<html>" + b"<div>" * 400_000,
    "what is left out within itself": lambda: b"<html>word" + b"<svg>" * 300_000,
    "page numbers within one another": lambda: b"<html>word" + b"<span class=pagenum>" * 200_000,
    "attributes without end": lambda: b"<html><p page " + b"a=b " * 500_000,
    "too many tags": lambda: b"<html>" + b"<b>" * 2_100_000,
    "references": lambda: b"<html>" + b"&#65;" * 500_000,
    "classes of a page": lambda: b"<p class=ocr_page>word" + (b'<p class="' + b"ocr_page " * 400) * 500,
    "a page without end": lambda: b"<p class=ocr_page>" + b"word " * 7_000_000,
    # EPUB, packages
    "a spine of one document": lambda: epub(b'<itemref idref="t"/>' * 100_000),
    "a page list of 200,000": lambda: epub(b'<itemref idref="t"/>', b'<a href="t.xhtml#a"/>' * 200_000),
    "places of pages in one document": lambda: epub(
        b'<itemref idref="t"/>', b'<a href="#epubcfi(/6/2!/4/2/1:1)"/>' * 100_000
    ),
    "places deep in a document": lambda: epub(
        b'<itemref idref="t"/>', b"".join(b'<a href="#epubcfi(/6/2!%s)"/>' % (b"/4" * n) for n in range(600))
    ),
    "places among many elements": lambda: epub(
        b'<itemref idref="t"/>',
        b'<a href="#epubcfi(/6/2!/4/199998)"/>' * 50_000,
        b"<html><head/><body>" + b"<p/>a<!---->" * 100_000 + b"</body></html>",
    ),
    "members without text": lambda: zipped({f"{n}.bin": b"" for n in range(20_000)}),
    "members of one letter": lambda: zipped({f"{n}.txt": b"a" for n in range(20_000)}),
    # XML
    "elements of no page": lambda: b"<alto>" + b"<x/>" * 5_000_000 + b"</alto>",
    "pages without end": lambda: b"<alto>" + b"<Page/>" * 200_000 + b"</alto>",
    "regions of one name": lambda: (
        b"<PcGts><Page>" + b"<TextRegion id='r'><TextLine/></TextRegion>" * 50_000 + b"</Page></PcGts>"
    ),
    "a word that goes on": lambda: (
        b"<TEI><text>" + b"<note/>" * 50_000 + b"<lb break='no'/><note/>" * 50_000 + b"</text></TEI>"
    ),
    # patterns
    "blank lines before the start": lambda: b"\n" * 39_900 + GUTENBERG + b"word",
    "carriage returns": lambda: b"\r" * 10_000_000 + b"word",
    "line feeds": lambda: b"\n" * 60_000_000,
    "form feeds": lambda: b"a\f" * 30_000_000,
    "objects in a PDF": lambda: b"%PDF-1.7\n" + b"1 0 obj << /Kids [1 0 R] >> endobj\n" * 500_000,
}
"""Files that take more than half a second of processor time."""


@pytest.mark.parametrize("name", [*HOSTILE, *(pytest.param(name, marks=pytest.mark.slow) for name in COSTLY)])
def test_it_is_read_or_refused(name: str) -> None:
    assert outcome_within_limits((HOSTILE | COSTLY)[name](), "file") in {"read", "refused"}
