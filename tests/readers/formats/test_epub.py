"""EPUB files."""

from collections.abc import Mapping

import pytest

from bookprint_core.errors import EncryptedFile, NoText, SeveralBooks
from bookprint_readers.extraction import Extraction
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.readers.made_files import zipped

CONTAINER = '<container xmlns="urn:c"><rootfiles><rootfile full-path="{}"/></rootfiles></container>'
CHAPTER = '<?xml version="1.0"?><html xmlns:epub="urn:e"><head><title/></head><body>{}</body></html>'


def opf(*hrefs: str, metadata: str = "", items: str = "", spine: str = "") -> str:
    """A package document with these chapters."""
    manifest = "".join(
        f'<item id="i{n}" href="{href}" media-type="application/xhtml+xml"/>' for n, href in enumerate(hrefs)
    )
    references = "".join(f'<itemref idref="i{n}"/>' for n in range(len(hrefs)))
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        f'xmlns:opf="http://www.idpf.org/2007/opf"><metadata>{metadata}</metadata>'
        f'<manifest>{manifest}{items}</manifest><spine toc="ncx" page-map="map">'
        f"{references}{spine}</spine></package>"
    )


def read(files: Mapping[str, str | bytes], path: str = "OPS/book.opf") -> Extraction:
    members = {"META-INF/container.xml": CONTAINER.format(path), **files}
    return read_book(Source.of_bytes(zipped(members), "book.epub"))


def text(book: Extraction) -> list[str]:
    return [" ".join(page.split()) for page in book.pages]


def test_chapters_come_in_the_order_of_the_spine_each_once() -> None:
    package = opf("b.xhtml", "a.xhtml", spine='<itemref idref="i0"/><itemref idref="i1" linear="no"/>')
    book = read(
        {"OPS/a.xhtml": CHAPTER.format("one"), "OPS/book.opf": package, "OPS/b.xhtml": CHAPTER.format("two")}
    )
    assert (book.format, text(book), book.paginated) == ("epub", ["two one"], False)


def test_metadata_are_those_of_the_book_not_of_the_file() -> None:
    metadata = (
        '<dc:title id="s">A Tale</dc:title><dc:title id="m">Emma</dc:title>'
        '<meta refines="#m" property="title-type">main</meta>'
        '<dc:creator opf:role="trl">A Translator</dc:creator><dc:creator id="c">Jane Austen</dc:creator>'
        '<meta refines="#c" property="role">aut</meta><dc:language>en</dc:language>'
        "<dc:publisher>Murray</dc:publisher>"
        '<dc:date opf:event="modification">2020</dc:date><dc:date opf:event="publication">1815-12</dc:date>'
        "<dc:identifier>urn:uuid:12345678-1234-1234-1234-123456789abc</dc:identifier>"
        '<dc:identifier opf:scheme="ISBN">978-0-14-143958-7</dc:identifier>'
        "<dc:identifier>https://www.gutenberg.org/ebooks/158</dc:identifier><dc:identifier>NOID</dc:identifier>"
    )
    found = read(
        {"OPS/book.opf": opf("a.xhtml", metadata=metadata), "OPS/a.xhtml": CHAPTER.format("a")}
    ).metadata
    assert (found.title, found.authors, found.language) == ("Emma", ("Jane Austen",), "en")
    assert (found.year, found.identifiers) == (1815, ("isbn:9780141439587", "gutenberg:158"))
    assert found.publisher is None  # that of a transcription


@pytest.mark.parametrize(
    ("identifier", "released"),
    [
        ("https://standardebooks.org/ebooks/a/b", (None, None)),
        ("https://gutenberg.org/ebooks/1", (None, None)),
        ("isbn:9780141439587", (2017, "A site")),
    ],
)
def test_the_release_of_a_transcription_is_not_that_of_the_book(
    identifier: str, released: tuple[int | None, str | None]
) -> None:
    metadata = (
        f"<dc:identifier>{identifier}</dc:identifier><dc:date>2017-03-01T00:00:00Z</dc:date>"
        "<dc:publisher>A site</dc:publisher>"
    )
    book = read({"OPS/book.opf": opf("a.xhtml", metadata=metadata), "OPS/a.xhtml": CHAPTER.format("a")})
    assert (book.metadata.year, book.metadata.publisher) == released


MARKED = CHAPTER.format(
    '<p>before</p><p id="x">one <span epub:type="pagebreak" id="p1">1</span>two</p><p id="y">three</p>'
)
TARGETS = ("a.xhtml#x", "a.xhtml#y", "b.xhtml")
LISTS = {
    "navigation document": (
        "nav.xhtml",
        "application/xhtml+xml",
        '<html xmlns:epub="urn:e"><nav epub:type="page-list"><ol>{}</ol></nav></html>',
        '<li><a href="{}">n</a></li>',
    ),
    "NCX": ("toc.ncx", "application/x-dtbncx+xml", "<ncx><pageList>{}</pageList></ncx>",
            '<pageTarget><content src="{}"/></pageTarget>'),
    "page map": ("map.xml", "application/oebps-page-map+xml", "<page-map>{}</page-map>", '<page href="{}"/>'),
}  # fmt: skip


@pytest.mark.parametrize("kind", LISTS)
def test_pages_are_those_of_a_page_list(kind: str) -> None:
    name, media_type, whole, part = LISTS[kind]
    item_id = {"NCX": "ncx", "page map": "map"}.get(kind, "nav")
    item = f'<item id="{item_id}" href="{name}" media-type="{media_type}" properties="{item_id}"/>'
    book = read(
        {
            "OPS/book.opf": opf("a.xhtml", "b.xhtml", items=item, spine=f'<itemref idref="{item_id}"/>'),
            "OPS/a.xhtml": MARKED,
            "OPS/b.xhtml": CHAPTER.format("<p>four</p>"),
            f"OPS/{name}": whole.format("".join(map(part.format, TARGETS))),
        }
    )
    assert text(book)[:3] == ["before", "one two", "three"]
    assert text(book)[3].startswith("four")
    assert book.paginated


def test_pages_are_those_of_the_marks_where_there_is_no_list() -> None:
    book = read({"OPS/book.opf": opf("a.xhtml"), "OPS/a.xhtml": MARKED})
    assert text(book) == ["before one", "two three"]


@pytest.mark.parametrize(
    ("path", "pages"),
    [
        ("/6/2!/4/4/1:0", ["seven", "eight nine"]),
        ("/6/2[i0]!/4/4[e]/3:1[,x]", ["seven eight", "nine"]),
        ("/6/2!/4/4,/1:1,/1:2", ["seven eight", "nine"]),
        ("/6/2!/4/40/1:1", ["seven eight nine"]),
        ("/6/80!/4/2/1:1", ["seven eight nine"]),
    ],
)
def test_pages_may_be_named_by_canonical_fragment_identifiers(path: str, pages: list[str]) -> None:
    _, media_type, whole, part = LISTS["navigation document"]
    item = f'<item id="nav" href="nav.xhtml" media-type="{media_type}" properties="nav"/>'
    book = read(
        {
            "OPS/book.opf": opf("a.xhtml", items=item),
            "OPS/a.xhtml": CHAPTER.format('<p>seven</p><p id="e">eight<br/> nine</p>'),
            "OPS/nav.xhtml": whole.format(part.format(f"book.opf#epubcfi({path})")),
        }
    )
    assert text(book) == pages


def encryption(algorithm: str, uri: str) -> str:
    return (
        f'<encryption><EncryptedData><EncryptionMethod Algorithm="{algorithm}"/><CipherData>'
        f'<CipherReference URI="{uri}"/></CipherData></EncryptedData></encryption>'
    )


def test_encrypted_chapters_are_refused() -> None:
    listing = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OPS/a.xhtml")
    with pytest.raises(EncryptedFile, match="protected"):
        read(
            {"OPS/book.opf": opf("a.xhtml"), "OPS/a.xhtml": b"\x9c\x12\0", "META-INF/encryption.xml": listing}
        )
    with pytest.raises(EncryptedFile, match="protected"):
        read(
            {
                "OPS/book.opf": opf("a.xhtml"),
                "OPS/a.xhtml": bytes(range(256)) * 9,
                "META-INF/rights.xml": "<r/>",
            }
        )


def test_pictures_alone_are_no_text() -> None:
    with pytest.raises(NoText):
        read({"OPS/book.opf": opf("a.xhtml"), "OPS/a.xhtml": CHAPTER.format('<img src="a.png" alt="a"/>')})


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (opf("a.xhtml", metadata="<dc:title>Salt & Road</dc:title>"), "Salt & Road"),
        (opf("a.xhtml", metadata="<dc:title>Salt&nbsp;Road</dc:title>"), "Salt Road"),
        (opf("a.xhtml", metadata="<dc:title>Sa\x0blt</dc:title>"), "Salt"),
        (opf("a.xhtml", metadata='<dc:title>Salt</dc:title><calibre:x y="z"/>'), "Salt"),
        (opf("a.xhtml", metadata="<dc:title>Salt</dc:title>").replace(" xmlns:dc=", " xmlns:ab="), "Salt"),
        ('\n <?xml version="1.0"?>' + opf("a.xhtml", metadata="<dc:title>Salt</dc:title>"), "Salt"),
        (
            b'<?xml version="1.0" encoding="utf-8"?>'
            + opf("a.xhtml", metadata="<dc:title>Die alte M\u00fchle</dc:title>").encode("cp1252"),
            "Die alte M\u00fchle",
        ),
        (opf("a.xhtml", metadata="<dc:title>Salt</dc:title><p><b></p>"), "Salt"),
        (opf("a.xhtml", metadata="<dc:title>Salt</dc:title>").removesuffix("</package>"), "Salt"),
    ],
)
def test_a_package_document_that_is_not_well_formed_is_mended(written: str | bytes, title: str) -> None:
    book = read({"OPS/book.opf": written, "OPS/a.xhtml": CHAPTER.format("here")})
    assert (text(book), book.metadata.title) == (["here"], title)
    [warning] = book.warnings
    assert warning.startswith("OPS/book.opf is not well-formed XML")


def folder(files: Mapping[str, str | bytes]) -> Source:
    return Source.of_bytes(zipped(files), "folder.zip")


def test_an_epub_may_be_packed_with_its_folder() -> None:
    files: dict[str, str | bytes] = {
        "my/road.epub/META-INF/container.xml": CONTAINER.format("OPS/book.opf"),
        "my/road.epub/OPS/old.opf": opf("no.xhtml"),
        "my/road.epub/OPS/book.opf": opf("a.xhtml"),
        "my/road.epub/OPS/a.xhtml": CHAPTER.format("here"),
    }
    assert text(read_book(folder(files))) == ["here"]
    protected = '<e><CipherReference URI="OPS/a.xhtml"/></e>'
    for listing in ("my/road.epub/META-INF/encryption.xml", "my/road.epub/meta-inf/encryption.xml"):
        with pytest.raises(EncryptedFile):
            read_book(folder({**files, listing: protected, "my/road.epub/OPS/a.xhtml": b"\0\1"}))
    del files["my/road.epub/META-INF/container.xml"], files["my/road.epub/OPS/old.opf"]
    with pytest.raises(EncryptedFile):
        read_book(folder({**files, "my/road.epub/META-INF/encryption.xml": protected}))
    with pytest.raises(SeveralBooks):
        read_book(folder({"a/META-INF/container.xml": "<c/>", "b/META-INF/container.xml": "<c/>"}))


@pytest.mark.parametrize("name", ["a road.epub", "a road.txt", "a road.html"])
def test_an_opf_without_spine_describes_the_book_beside_it(name: str) -> None:
    whole = folder(
        {
            "META-INF/container.xml": CONTAINER.format("book.opf"),
            "book.opf": opf("a.xhtml", metadata="<dc:title>old</dc:title><dc:language>en</dc:language>"),
            "a.xhtml": CHAPTER.format("The road goes on."),
        }
    ).read()
    content = {"epub": whole, "html": CHAPTER.format("The road goes on.")}.get(name[7:], "The road goes on.")
    metadata = "<dc:title>Road & Salt</dc:title><dc:creator>A. Field</dc:creator>"
    described = opf(metadata=metadata).replace('<spine toc="ncx" page-map="map"></spine>', "")
    book = read_book(
        folder({"x/metadata.opf": described, "x/cover.jpg": b"\xff\xd8\xff", f"x/{name}": content})
    )
    assert text(book) == ["The road goes on."]
    assert (book.metadata.title, book.metadata.authors) == ("Road & Salt", ("A. Field",))
    assert len(book.warnings) == 1
