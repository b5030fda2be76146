"""Packages of page files, METS packages and HathiTrust volumes: which files are pages, and in which order."""

from collections.abc import Mapping

import pytest

from bookprint_core.errors import BrokenFile, NoText, SeveralBooks, UnsupportedFormat
from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.readers.made_files import mets, zipped

Files = Mapping[str, str | bytes]


def alto(text: str) -> str:
    strings = "".join(f'<String CONTENT="{word}"/>' for word in text.split())
    return f"<alto><Layout><Page><TextLine>{strings}</TextLine></Page></Layout></alto>"


def page(text: str) -> str:
    region = f"<TextRegion><TextEquiv><Unicode>{text}</Unicode></TextEquiv></TextRegion>"
    return f"<PcGts><Page>{region}</Page></PcGts>"


def tei(text: str) -> str:
    return f"<TEI><text><body><p>{text}</p></body></text></TEI>"


def read(files: Files, name: str = "book.zip") -> Extraction:
    return read_book(Source.of_bytes(zipped(files), name))


def words(extraction: Extraction) -> list[str]:
    return [" ".join(text.split()) for text in extraction.pages]


def test_pages_come_in_natural_order_and_an_empty_file_is_a_blank_page() -> None:
    found = read(
        {"b/p_10.xml": alto("ten"), "b/p_9.xml": "", "b/p_2.xml": alto("two"), "b/p_1.xml": page("one")}
    )
    assert found.format == "pages"
    assert found.paginated
    assert words(found)[:2] == ["two", ""]


def test_one_book_in_a_package_is_that_book() -> None:
    found = read({"book/book.xml": tei("a book"), "book/cover.png": b"\x89PNG"})
    assert found.format == "tei"
    assert not found.paginated


def test_several_books_are_refused() -> None:
    with pytest.raises(SeveralBooks, match="bulk"):
        read({"a.xml": tei("one"), "b.xml": tei("two"), "c.xml": tei("three")})


def test_archives_within_archives_are_refused() -> None:
    inner = zipped({"1.xml": alto("one")})
    with pytest.raises(UnsupportedFormat, match="archive within an archive"):
        read({"inner.zip": inner})
    with pytest.raises(UnsupportedFormat):
        read({"inner": zipped({"again": inner})})


def test_a_damaged_page_is_blank_and_named() -> None:
    cut_off, names = alto("two")[:-20], {"A": "p/1.xml", "B": "p/2.xml"}
    document = mets(physical(div(1, "A"), div(2, "B")), {"OCR": names})
    for more in ({}, {"mets.xml": document}):
        found = read({"p/1.xml": alto("one"), "p/2.xml": cut_off, **more})
        assert words(found) == ["one", ""]
        [warning] = found.warnings
        assert warning.startswith("p/2.xml is not well-formed XML: ")
        assert warning.endswith(" This page is left blank.")
    found = read({"00000001.txt": "one", "00000002.txt": b"\x89PNG\r\n" + bytes(200)})
    assert (found.format, words(found)) == ("hathi", ["one", ""])
    assert "00000002.txt" in found.warnings[0]


def test_a_package_of_which_most_pages_are_damaged_is_refused() -> None:
    files = {"p/1.xml": alto("one"), "p/2.xml": alto("two")[:-20], "p/3.xml": alto("three")[:-20]}
    document = mets(
        physical(*(div(number, f"P{number}") for number in (1, 2, 3))),
        {"OCR": {f"P{number}": f"p/{number}.xml" for number in (1, 2, 3)}},
    )
    for more in ({}, {"mets.xml": document}):
        with pytest.raises(BrokenFile, match=r"p/2\.xml"):
            read({**files, **more})


def physical(*pages: str) -> str:
    return f'<structMap TYPE="PHYSICAL"><div TYPE="physSequence">{"".join(pages)}</div></structMap>'


def div(order: int, *ids: str, kind: str = "page") -> str:
    pointers = "".join(f'<fptr FILEID="{key}"/>' for key in ids)
    return f'<div TYPE="{kind}" ORDER="{order}">{pointers}</div>'


def test_a_mets_orders_the_pages() -> None:
    names = {"T1": "ocr/uuid-z.xml", "T2": "ocr/uuid-a.xml", "T3": "ocr/uuid-m.xml"}
    structure = physical(div(10, "T3"), div(1, "T1"), div(2, "T2"))
    found = read(
        {"mets.xml": mets(structure, {"OCR": names})} | {href: alto(key) for key, href in names.items()}
    )
    assert found.format == "mets"
    assert words(found) == ["T1", "T2", "T3"]


def test_files_are_found_by_the_end_of_their_path() -> None:
    files = {"v/ALTO/00 1.xml": alto("found"), "v/2.xml": alto("other")}
    for href in (
        "file://./ALTO/00%201.xml",
        "https://library.example/data/7/ALTO/00%201.xml?download=1#top",
        "ALTO\\00 1.XML",
        "00 1.xml",
    ):
        document = mets(physical(div(1, "A")), {"OCR": {"A": href}})
        assert words(read({"v/x.mets.xml": document, **files})) == ["found"]


def test_of_several_groups_each_page_is_read_once_from_the_one_with_most_pages() -> None:
    groups = {
        "IMG": {"I1": "i/1.tif", "I2": "i/2.tif"},
        "ALTO": {"A1": "a/1.xml", "A2": "a/2.xml"},
        "PAGE": {"P1": "p/1.xml", "P2": "p/2.xml", "P3": "p/3.xml"},
    }
    structure = physical(div(1, "I1", "A1", "P1"), div(2, "I2", "A2", "P2"), div(3, "P3"))
    pages = {f"a/{n}.xml": alto(f"alto {n}") for n in (1, 2)} | {
        f"p/{n}.xml": page(f"page {n}") for n in (1, 2, 3)
    }
    assert words(read({"mets.xml": mets(structure, groups), **pages})) == ["page 1", "page 2", "page 3"]


def test_pages_without_text_are_blank_and_pages_not_sent_are_left_out() -> None:
    structure = physical(div(1, "I1"), div(2, "A"), div(3, "B"))
    document = mets(structure, {"IMG": {"I1": "1.tif"}, "OCR": {"A": "2.xml", "B": "3.xml"}})
    found = read({"mets.xml": document, "2.xml": alto("two")})
    assert words(found) == ["", "two"]
    assert found.warnings


def test_a_mets_alone_asks_for_its_pages() -> None:
    document = mets(physical(div(1, "A")), {"OCR": {"A": "1.xml"}})
    with pytest.raises(NoText, match="Send both"):
        read_book(Source.of_bytes(document.encode(), "mets.xml"))
    with pytest.raises(NoText):
        read({"mets.xml": document})


def test_two_volumes_in_one_package_are_several_books() -> None:
    files: dict[str, str] = {}
    for volume in ("v1", "v2"):
        files[f"{volume}/mets.xml"] = mets(physical(div(1, "A")), {"OCR": {"A": "ocr/1.xml"}})
        files[f"{volume}/ocr/1.xml"] = alto(volume)
    with pytest.raises(SeveralBooks, match="bulk"):
        read(files)


MODS = """<dmdSec ID="page"><mdWrap><xmlData><mods/></xmlData></mdWrap></dmdSec>
<dmdSec ID="book"><mdWrap MDTYPE="MODS"><xmlData><mods:mods xmlns:mods="http://www.loc.gov/mods/v3">
<mods:titleInfo type="alternative"><mods:title>Other</mods:title></mods:titleInfo>
<mods:titleInfo><mods:nonSort>The</mods:nonSort><mods:title>Ti=||tle</mods:title></mods:titleInfo>
<mods:name><mods:namePart type="family">Eliot</mods:namePart>
<mods:namePart type="given">George</mods:namePart>
<mods:namePart type="date">1819-1880</mods:namePart>
<mods:role><mods:roleTerm>aut</mods:roleTerm></mods:role></mods:name>
<mods:name><mods:namePart>Owner</mods:namePart>
<mods:role><mods:roleTerm>own</mods:roleTerm></mods:role></mods:name>
<mods:originInfo><mods:edition>[Electronic ed.]</mods:edition>
<mods:publisher>A site</mods:publisher><mods:dateIssued>2019</mods:dateIssued></mods:originInfo>
<mods:originInfo><mods:publisher>Blackwood</mods:publisher><mods:dateIssued>1861-01</mods:dateIssued></mods:originInfo>
<mods:language><mods:languageTerm>eng</mods:languageTerm></mods:language>
<mods:identifier type="ISBN">978-0-14-143958-7</mods:identifier>
<mods:identifier>urn:oclc:record:8521</mods:identifier>
<mods:part><mods:detail type="volume"><mods:number>2</mods:number></mods:detail></mods:part>
</mods:mods></xmlData></mdWrap></dmdSec>"""


def test_mods_describes_the_book() -> None:
    structure = physical(div(1, "A")) + '<structMap TYPE="LOGICAL"><div DMDID="missing book"/></structMap>'
    found = read({"mets.xml": mets(structure, {"OCR": {"A": "1.xml"}}, MODS), "1.xml": alto("one")}).metadata
    assert (found.title, found.authors, found.year) == ("The Title", ("George Eliot",), 1861)
    assert (found.language, found.volume, found.publisher, found.identifiers) == (
        "eng",
        "2",
        "Blackwood",
        ("isbn:9780141439587", "oclc:8521"),
    )


def test_a_hathitrust_volume_is_read_by_number() -> None:
    files = {"a b/TEXT/00000010.txt": alto("ten"), "a b/TEXT/00000002.txt": "", "c/00000001.txt": alto("one")}
    found = read({**files, "a b/meta.yml": "title: 'A: Title'\nyear: 1861 # about\nbad: [x\n\t- y\n"})
    assert found.format == "hathi"
    assert words(found) == ["one", "", "ten"]
    assert found.metadata.title == "A: Title"
    assert found.metadata.year == 1861


def test_the_name_of_a_hathitrust_package_tells_its_identifier() -> None:
    found = read({"00000001.txt": alto("one")}, "uc2.ark+=13960=t7kq2zj36.zip")
    assert found.metadata.identifiers == ("htid:uc2.ark:/13960/t7kq2zj36",)
    assert read({"00000001.txt": alto("one")}, "39015078560292.zip").metadata.identifiers == ()
