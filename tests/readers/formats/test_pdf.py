"""PDF with a text layer."""

import pytest

from bookprint_core.errors import BrokenFile
from bookprint_core.model import Metadata
from bookprint_readers.formats import pdf
from bookprint_readers.source import Source
from tests.readers.made_files import pdf_of

XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
 xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/" pdf:Producer="LaTeX">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Die Räuber</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Friedrich Schiller</rdf:li><rdf:li>Another</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>de</rdf:li></rdf:Bag></dc:language>
<dc:identifier>doi:10.1234/abc</dc:identifier>
<prism:publicationDate>1781-05</prism:publicationDate><prism:isbn>978-0-14-143960-0</prism:isbn>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>"""


def a_pdf(*pages: bytes, information: bytes = b"", between: bytes = b"") -> bytes:
    """A document whose pages have these streams of content."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%b]/Count %d>>"
        % (b" ".join(b"%d 0 R" % (5 + 2 * index) for index in range(len(pages))), len(pages)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<<%b>>" % information,
    ]
    for index, page in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>"
            % (6 + 2 * index)
        )
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(page), page))
    return pdf_of(objects, between, b"/Info 4 0 R")


def lines(*texts: bytes) -> bytes:
    return b"BT /F 12 Tf 14 TL 72 720 Td " + b" ".join(b"(%b) Tj T*" % text for text in texts) + b" ET"


def source(data: bytes) -> Source:
    return Source.of_bytes(data, "book.pdf")


def test_every_page_gives_its_lines_and_a_page_without_text_is_blank() -> None:
    book = pdf.read(source(a_pdf(lines(b"one", b"two"), b"", lines(b"three"))))
    assert (book.format, book.paginated, book.printed_lines) == ("pdf", True, True)
    assert list(book.pages) == ["one\ntwo", "", "three"]


def test_a_divided_word_keeps_its_mark_and_its_line_break() -> None:
    (page,) = pdf.read(source(a_pdf(lines(b"a cucum-", b"ber frame", b"and more")))).pages
    assert page == "a cucum\ufffe\nber frame\nand more"


def test_the_licence_of_project_gutenberg_leaves_blank_pages() -> None:
    book = pdf.read(
        source(
            a_pdf(
                lines(
                    b"The Project Gutenberg EBook of Emma, by Jane Austen",
                    b"Title: Emma",
                    b"Author: Jane Austen",
                ),
                lines(b"*** START OF THIS PROJECT GUTENBERG EBOOK EMMA ***", b"", b"Emma Woodhouse"),
                lines(b"handsome", b"*** END OF THIS PROJECT GUTENBERG EBOOK EMMA ***"),
                lines(b"the licence"),
                information=b"/Title(emma.doc)/Author(scanner)",
            )
        )
    )
    assert [page.strip() for page in book.pages] == ["", "Emma Woodhouse", "handsome", ""]
    assert (book.metadata.title, book.metadata.authors) == ("Emma", ("Jane Austen",))


def test_a_pdf_is_known_by_its_mark_even_behind_other_bytes() -> None:
    assert pdf.recognises(b"%PDF-1.4\n")
    assert pdf.recognises(b"HTTP/1.0 200 OK\r\n\r\n%PDF-1.4\n")
    assert not pdf.recognises(b"A chapter on %PDF-1.4 and what it means")
    assert not pdf.recognises(b"\n" * 2000 + b"%PDF-1.4")


def test_xmp_outranks_the_document_information() -> None:
    data = a_pdf(lines(b"x"), information=b"/Title(raeuber.dvi)/Author(scanner)", between=XMP.encode())
    assert pdf.read(source(data)).metadata == Metadata(
        title="Die Räuber",
        authors=("Friedrich Schiller", "Another"),
        language="de",
        year=1781,
        identifiers=("isbn:9780141439600", "doi:10.1234/abc"),
    )


@pytest.mark.parametrize(
    "title",
    [
        b"untitled",
        b"Microsoft Word - emma.doc",
        b"C:\\\\books\\\\emma",
        b"",
        b"452114306",
    ],
)
def test_what_a_program_fills_in_is_no_title(title: bytes) -> None:
    assert pdf.read(source(a_pdf(lines(b"x"), information=b"/Title(%b)" % title))).metadata.title is None


@pytest.mark.parametrize("data", [b"%PDF-1.4\n", b"%PDF-1.7\n" + bytes(1000), a_pdf()])
def test_a_file_without_pages_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenFile, match=r"book\.pdf is a damaged PDF"):
        pdf.read(source(data))
