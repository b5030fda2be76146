"""XML that is not well-formed: what is mended in files of recognised text, and what is refused."""

import pytest

from bookprint_core.errors import BrokenFile
from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source

ABBYY = "http://www.abbyy.com/FineReader_xml/FineReader10-schema-v1.xml"
FORMATS = {
    "alto": ('<alto xmlns:x="u">{}</alto>', '<Page><TextLine><String CONTENT="{}"/></TextLine></Page>'),
    "djvu": (
        "<DjVuXML><BODY>{}</BODY></DjVuXML>",
        "<OBJECT><HIDDENTEXT><LINE>{}</LINE></HIDDENTEXT></OBJECT>",
    ),
    "abbyy": (
        f'<document xmlns="{ABBYY}">{{}}</document>',
        "<page><block><line><formatting>{}</formatting></line></block></page>",
    ),
    "page": (
        "<PcGts>{}</PcGts>",
        "<Page><TextRegion><TextLine><TextEquiv><Unicode>{}</Unicode></TextEquiv></TextLine></TextRegion></Page>",
    ),
    "tei": ("<TEI><text><body>{}</body></text></TEI>", "<pb/><p>{}</p>"),
}


def file_of(form: str, *pages: str, before: str = "") -> str:
    document, page = FORMATS[form]
    return before + document.format("".join(map(page.format, pages)))


def read(data: str | bytes) -> Extraction:
    return read_book(Source.of_bytes(data if isinstance(data, bytes) else data.encode(), "scan.xml"))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("na\x1bme", "name"),
        ("na&#x1b;me", "name"),
        ("na&#27;me", "name"),
        ("na&#xffffff;me", "name"),
        ("Salt & Road", "Salt & Road"),
        ("one &amp; 1 < 2", "one & 1 < 2"),
        ("M&uuml;hle & Fluss", "M\u00fchle & Fluss"),
        ("a &nosuchname; b & c", "a &nosuchname; b & c"),
    ],
)
def test_a_page_with_a_character_that_xml_forbids_is_read(form: str, written: str, text: str) -> None:
    found = read(file_of(form, "first", written, "last"))
    assert [" ".join(page.split()) for page in found.pages] == ["first", text, "last"]
    [warning] = found.warnings
    assert warning.startswith("scan.xml is not well-formed XML: ")
    assert warning.endswith(" It was mended and read.")


@pytest.mark.parametrize("form", FORMATS)
def test_an_encoding_that_is_not_the_declared_one_is_read(form: str) -> None:
    declaration = '<?xml version="1.0" encoding="utf-8"?>'
    data = file_of(form, "die alte M\u00fchle am Flu\u00df", "zweite Seite", before=declaration)
    found = read(data.encode("cp1252"))
    assert "die alte M\u00fchle am Flu\u00df" in found.pages[0]
    assert found.warnings


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("before", ["\n ", "\ufeff\n"])
def test_blanks_may_stand_before_the_declaration(form: str, before: str) -> None:
    declaration = before + '<?xml version="1.0"?>'
    assert "one" in read(file_of(form, "one", "two", before=declaration)).pages[0]


def test_a_prefix_need_not_be_declared() -> None:
    found = read(file_of("page", "one").replace("<Page>", '<Page><my:note my:kind="x"/>'))
    assert list(found.pages) == ["one"]


@pytest.mark.parametrize("form", ["alto", "djvu", "abbyy", "page"])
def test_a_page_that_cannot_be_mended_is_blank(form: str) -> None:
    data = file_of(form, "first", "second", "third").replace("second", "<no></end>")
    found = read(data)
    assert [page.strip() for page in found.pages] == ["first", "", "third"]
    assert found.warnings[-1] == "1 pages of scan.xml are too damaged and left blank: 2."


@pytest.mark.parametrize("form", ["alto", "djvu", "abbyy", "page"])
def test_a_file_of_which_most_pages_are_damaged_is_refused(form: str) -> None:
    damaged = file_of(form, "first", "second", "third").replace("second", "<no>").replace("third", "<no>")
    with pytest.raises(BrokenFile, match="not well-formed"):
        read(damaged)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_is_cut_off_is_refused(form: str) -> None:
    whole = file_of(form, "first", "se&cond", "third")
    for end in (whole.rindex("</"), whole.index("third")):
        with pytest.raises(BrokenFile, match="not well-formed"):
            read(whole[:end])


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_with_a_hole_is_refused(form: str) -> None:
    with pytest.raises(BrokenFile, match="not well-formed"):
        read(file_of(form, "first", "se" + "\0" * 1_000 + "cond", "third " * 100))
