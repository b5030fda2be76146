"""Items of the Internet Archive."""

import gzip
from collections.abc import Mapping

from bookprint_core.model import Metadata
from bookprint_readers.formats import archive_item
from bookprint_readers.package import Package
from bookprint_readers.recognition import read_package
from bookprint_readers.source import Source

META = """<metadata><identifier>emma00aust</identifier><title>Emma</title><creator>Austen, Jane</creator>
<date>1815</date><language>eng</language><volume>1</volume><isbn>9780141439600</isbn>
<external-identifier>urn:oclc:record:1234</external-identifier>
<description>not the title</description></metadata>"""


def djvu(*pages: str) -> bytes:
    objects = "".join(f"<OBJECT><HIDDENTEXT><WORD>{page}</WORD></HIDDENTEXT></OBJECT>" for page in pages)
    return f"<DjVuXML><BODY>{objects}</BODY></DjVuXML>".encode()


def hocr(*pages: str) -> bytes:
    return gzip.compress("".join(f"<div class='ocr_page'>{page}</div>" for page in pages).encode())


def scandata(*shown: str) -> bytes:
    leaves = "".join(
        f"<page leafNum='{n}'><addToAccessFormats>{value}</addToAccessFormats></page>"
        for n, value in enumerate(shown)
    )
    return f"<book><pageData>{leaves}</pageData></book>".encode()


def package(files: Mapping[str, bytes]) -> Package:
    return Package("item.zip", {path: Source.of_bytes(data, path) for path, data in files.items()})


def test_leaves_that_are_not_shown_are_no_objects_and_so_no_pages() -> None:
    found = package({"x_djvu.xml": djvu("one", "two"), "x_scandata.xml": scandata("false", "true", "true")})
    book = read_package(found)
    assert (book.format, list(book.pages), list(book.warnings)) == ("djvu", ["one", "two"], [])


def test_a_text_of_all_leaves_loses_those_that_are_not_shown() -> None:
    found = package(
        {"x_chocr.html.gz": hocr("card", "one", "two"), "x_scandata.xml": scandata("false", "true", "true")}
    )
    assert list(read_package(found).pages) == ["one", "two"]


def test_the_items_record_names_the_book() -> None:
    book = read_package(package({"x/x_djvu.xml": djvu("one"), "x/x_meta.xml": META.encode()}))
    assert book.metadata == Metadata(
        title="Emma",
        authors=("Austen, Jane",),
        language="eng",
        year=1815,
        volume="1",
        identifiers=("ia:emma00aust", "isbn:9780141439600", "oclc:1234"),
    )


def test_damaged_files_beside_the_text_are_passed_over() -> None:
    found = package({"x_djvu.xml": djvu("one"), "x_meta.xml": b"<metadata", "x_scandata.xml": b"<book"})
    assert list(read_package(found).pages) == ["one"]


def test_a_text_alone_is_no_item() -> None:
    assert not archive_item.recognises(package({"x_djvu.xml": djvu("one")}))
    assert not archive_item.recognises(package({"x_scandata.xml": scandata("true")}))
