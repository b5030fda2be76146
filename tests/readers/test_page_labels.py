"""What is printed on pages as their numbers, as each format says it."""

import gzip
from collections.abc import Callable

import pytest

from bookprint_core.book_rules import LONGEST_LABEL
from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.readers.made_files import mets, pdf_of, tarred, zipped

MORE = "and a few more words"


def read(data: str | bytes, name: str = "book") -> Extraction:
    return read_book(Source.of_bytes(data.encode() if isinstance(data, str) else data, name))


def a_pdf(labels: str, pages: int = 4) -> bytes:
    """A PDF of pages with the number tree of labels given (ISO 32000-1, section 12.4.2)."""
    kids = " ".join(f"{4 + number} 0 R" for number in range(pages))
    stream = "BT /F 12 Tf 72 720 Td (word) Tj ET"
    objects = [
        f"<</Type/Catalog/Pages 2 0 R{labels}>>",
        f"<</Type/Pages/Count {pages}/Kids[{kids}]/MediaBox[0 0 99 99]/Resources<</Font<</F<</Type/Font"
        "/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        *["<</Type/Page/Parent 2 0 R/Contents 3 0 R>>"] * pages,
    ]
    return pdf_of([each.encode() for each in objects])


def alto(label: str | None = None, text: str = "word") -> str:
    printed = "" if label is None else f' PRINTED_IMG_NR="{label}"'
    return f'<alto><Page{printed}><TextLine><String CONTENT="{text}"/></TextLine></Page></alto>'


def labelled_mets(labels: list[str | None], suffix: str = "xml") -> str:
    files = {f"f{number}": f"{number:08}.{suffix}" for number in range(1, len(labels) + 1)}
    divs = "".join(
        f'<div TYPE="page" ORDER="{n}"{"" if label is None else f" ORDERLABEL={chr(34)}{label}{chr(34)}"}>'
        f'<fptr FILEID="f{n}"/></div>'
        for n, label in enumerate(labels, start=1)
    )
    structure = f'<structMap TYPE="physical"><div TYPE="volume">{divs}</div></structMap>'
    return mets(structure, {"OCR": files})


def an_epub(chapter: str, navigation: str, ncx: str = "") -> bytes:
    return zipped(
        {
            "book.opf": b'<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
            b'<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            b'<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
            b'<item id="x" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
            b'</manifest><spine toc="x"><itemref idref="a"/></spine></package>',
            "a.xhtml": f'<html xmlns:epub="urn:e"><body>{chapter}</body></html>'.encode(),
            "nav.xhtml": f'<html xmlns:epub="urn:e"><body>{navigation}</body></html>'.encode(),
            "toc.ncx": f"<ncx>{ncx}</ncx>".encode(),
        }
    )


def test_a_pdf_has_roman_and_other_labels() -> None:
    labels = "/PageLabels<</Nums[0<</S/r/St 11>>2<</S/D>>3<</P(A-)/S/D/St 9>>]>>"
    assert read(a_pdf(labels)).labels == ("xi", "xii", "1", "A-9")
    assert read(a_pdf("")).labels == ()


def test_an_alto_file_says_what_is_printed_on_its_image() -> None:
    assert read(alto("[xii]")).labels == ("[xii]",)
    pages = {"1.xml": alto("1").encode(), "2.xml": b"", "10.xml": alto("3").encode()}
    assert read(zipped(pages)).labels == ("1", None, "3")


def test_a_mets_labels_the_pages_of_its_physical_structure() -> None:
    names = ["i", None, " - ", "uncounted", "[4]"]
    files = {f"{n:08}.xml": alto("own", "word").encode() for n in range(1, 6)}
    # What a page file says of itself counts where the METS says nothing.
    assert read(zipped({**files, "mets.xml": labelled_mets(names).encode()})).labels == (
        "i",
        "own",
        None,
        "own",
        "[4]",
    )


def test_pages_that_were_not_sent_take_their_labels_along() -> None:
    files = {f"{n:08}.xml": alto().encode() for n in (1, 3)}
    assert read(zipped({**files, "mets.xml": labelled_mets(["1", "2", "3"]).encode()})).labels == ("1", "3")


def test_leaves_of_the_internet_archive_have_page_numbers() -> None:
    leaves = (("false", ""), ("true", ""), ("true", "<pageNumber>1</pageNumber>"))
    said = "".join(f"<page><addToAccessFormats>{shown}</addToAccessFormats>{n}</page>" for shown, n in leaves)
    ocr = "".join(f"<div class='ocr_page' title='ppageno {n}'>leaf {n}</div>" for n in range(3))
    scandata = f"<book><pageData>{said}</pageData></book>".encode()
    all_leaves = {"x_hocr.html.gz": gzip.compress(ocr.encode()), "x_scandata.xml": scandata}
    assert read(zipped(all_leaves)).labels == (None, "1")
    objects = "<OBJECT><HIDDENTEXT><WORD>word</WORD></HIDDENTEXT></OBJECT>" * 2
    shown = {"x_djvu.xml": f"<DjVuXML>{objects}</DjVuXML>".encode(), "x_scandata.xml": scandata}
    assert read(zipped(shown)).labels == (None, "1")
    assert read(ocr).labels == ()


def test_page_breaks_of_tei_are_numbered() -> None:
    body = (
        f'<pb n="[I]"/><p>one wo<pb/>rd {MORE}</p><pb n="3" break="no"/><choice><orig>a<pb n="4"/>b</orig>'
        '<reg>a<pb n="4"/>b</reg></choice><figDesc>no<pb n="5"/></figDesc><pb n="6" ed="B"/><p>end</p>'
    )
    book = read(f'<TEI><text><body><pb n="0" ed="A"/>{body}</body></text></TEI>')
    assert book.labels == ("0", "[I]", None, "3", "4", "5")
    assert len(book.pages) == 6
    front = read(f'<TEI><text><p>{MORE * 20}</p><pb n="1"/><p>one</p></text></TEI>')
    assert front.labels == (None, "1")


@pytest.mark.parametrize(
    "mark",
    [
        '<span epub:type="pagebreak" id="p{0}" title="{0}"/>',
        '<span role="doc-pagebreak" aria-label=" page {0}. "></span>',
        '<span role="doc-pagebreak" id="p{0}">[Pg {0}]</span>',
        '<span role="doc-pagebreak"></span><span class="pagenum">{0}</span>',
    ],
)
def test_marks_of_page_breaks_say_labels(mark: str) -> None:
    text = f"<p>one {mark.format('xii')}two wo{mark.format('1')}rd</p>"
    book = read(f"<!DOCTYPE html><html><body>{text}</body></html>")
    assert [" ".join(page.split()) for page in book.pages] == ["one", "two word", ""]
    assert book.labels == (None, "xii", "1")
    assert read(an_epub(text, "")).labels == (None, "xii", "1")


def test_labels_that_are_too_long_are_left_out_with_a_warning() -> None:
    long = "x" * (LONGEST_LABEL + 1)
    book = read(f'<TEI><text><pb n="{long}"/>one<pb n=" 2\n "/>two<pb n="--"/>three</text></TEI>')
    assert book.labels == (None, "2", None)
    assert list(book.warnings) == [
        "Page labels of more than 32 characters were left out: 1, the first on page 1."
    ]


VOLUME = {
    "39015078560292/00000001.txt": b"first page",
    "39015078560292/00000002.txt": b"second page",
    "39015078560292/00000001.jp2": b"\0",
}


@pytest.mark.parametrize("folder", ["", "obj/39015078560292/"])
@pytest.mark.parametrize("packed", [zipped, tarred])
def test_a_hathitrust_volume_beside_its_mets_is_one_book(folder: str, packed: Callable[..., bytes]) -> None:
    pair = {
        f"{folder}39015078560292.zip": zipped(VOLUME),
        f"{folder}39015078560292.mets.xml": labelled_mets(["xii", "1"], "txt").encode(),
    }
    book = read(packed(pair), "delivery.zip")
    assert (book.format, list(book.pages), book.labels) == (
        "hathi",
        ["first page", "second page"],
        ("xii", "1"),
    )
    assert book.metadata.identifiers == ("htid:mdp.39015078560292",)
