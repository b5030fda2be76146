"""Entities in XML of strangers: none is read from outside the file, and none is multiplied."""

import io
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bookprint_core.errors import UnusableFile
from bookprint_readers.package import open_package
from bookprint_readers.recognition import read_book
from bookprint_readers.source import Source
from tests.readers.made_files import MADE_FILES, pdf, zipped

_OPF = b"""<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>A title</dc:title></metadata><manifest>
<item id="t" href="t.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="n.ncx" media-type="application/x-dtbncx+xml"/></manifest>
<spine toc="n"><itemref idref="t"/></spine></package>"""
_NCX = b"""<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><pageList><pageTarget><navLabel><text>1</text></navLabel>
<content src="t.xhtml"/></pageTarget></pageList></ncx>"""
_MARC = b"""<record xmlns="http://www.loc.gov/MARC21/slim"><leader>00000nam a2200000 a 4500</leader>
<datafield tag="245" ind1="0" ind2="0"><subfield code="a">A title</subfield></datafield></record>"""
_XMP = b"""<x xmlns:p="http://ns.adobe.com/pdf/1.3/"><Description><title>A title</title></Description></x>"""

Spoilt = Callable[[bytes], bytes]


def _packed(data: bytes, spoilt: Spoilt, *members: str) -> bytes:
    """A zip of which some members are spoilt."""
    package = open_package(Source.of_bytes(data, "made"))
    files = {path: member.read() for path, member in package.members.items()}
    return zipped({path: spoilt(file) if path in members else file for path, file in files.items()})


def _epub(spoilt: Spoilt, spoilt_member: str) -> bytes:
    text = b"<html><body><p>word</p></body></html>"
    return _packed(zipped({"a.opf": _OPF, "n.ncx": _NCX, "t.xhtml": text}), spoilt, spoilt_member)


def _plain(name: str) -> Callable[[Spoilt], bytes]:
    return lambda spoilt: spoilt(MADE_FILES[name])


FILES: dict[str, Callable[[Spoilt], bytes]] = {
    "ABBYY": _plain("abbyy.xml"),
    "ALTO": _plain("alto.xml"),
    "DjVu XML": _plain("djvu.xml"),
    "PAGE": _plain("page.xml"),
    "TEI": _plain("tei.xml"),
    "hOCR": _plain("a.hocr"),
    "XHTML": lambda spoilt: _epub(spoilt, "t.xhtml"),
    "OPF": lambda spoilt: _epub(spoilt, "a.opf"),
    "NCX": lambda spoilt: _epub(spoilt, "n.ncx"),
    "container of an EPUB": lambda spoilt: _packed(MADE_FILES["a.epub"], spoilt, "META-INF/container.xml"),
    "METS": lambda spoilt: _packed(MADE_FILES["mets.zip"], spoilt, "mets.xml"),
    "XMP in a PDF": lambda spoilt: pdf() + b"<?xpacket begin=''?>" + spoilt(_XMP) + b"<?xpacket end='w'?>",
}


def spoilt_by(doctype: str) -> Spoilt:
    """Puts a document type before a document, and the entity x at the end of each element."""

    def spoilt(document: bytes) -> bytes:
        body = re.sub(rb"<\?xml.*?\?>|<!DOCTYPE.*?>", b"", document)
        return b'<?xml version="1.0"?>' + doctype.encode() + body.replace(b"</", b"&x;</")

    return spoilt


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[tuple[Path, socket.socket]]:
    """A folder with what no file may have, and a server that nobody may ask."""
    (tmp_path / "secret").write_text("STOLEN")
    (tmp_path / "a.dtd").write_text("<!ENTITY x 'STOLEN'>")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield tmp_path, server
        with pytest.raises(BlockingIOError):
            server.accept()


def doctypes(folder: Path, server: socket.socket) -> list[str]:
    url = f"http://127.0.0.1:{server.getsockname()[1]}/a.dtd"
    return [
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{folder.as_uri()}/secret">]>',
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{url}">]>',
        f'<!DOCTYPE a SYSTEM "{folder.as_uri()}/a.dtd">',
        f'<!DOCTYPE a SYSTEM "{url}">',
        *(
            f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{place}"> %p;]>'
            for place in (f"{folder.as_uri()}/a.dtd", url)
        ),
        f'<!DOCTYPE a [<!ENTITY % f SYSTEM "{folder.as_uri()}/secret">'
        f"<!ENTITY % e \"<!ENTITY &#37; g SYSTEM '{url}?%f;'>\"> %e; %g;]>",
    ]


def found_in(data: bytes) -> str:
    """All that is found in a file, or why it is refused."""
    try:
        return repr(read_book(Source.of_bytes(data, "file")))
    except UnusableFile as exc:
        return str(exc)


@pytest.mark.parametrize("name", FILES)
def test_nothing_outside_the_file_is_read(name: str, outside: tuple[Path, socket.socket]) -> None:
    assert "word" in found_in(FILES[name](lambda document: document))
    for doctype in doctypes(*outside):
        data = FILES[name](spoilt_by(doctype))
        assert "STOLEN" not in found_in(data), doctype


@pytest.mark.parametrize("name", FILES)
def test_entities_are_not_multiplied(name: str) -> None:
    levels = [f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 25)]
    doctype = f'<!DOCTYPE a [<!ENTITY e0 "lollollollol">{"".join(levels)}<!ENTITY x "&e24;">]>'
    assert len(found_in(FILES[name](spoilt_by(doctype)))) < 10_000


def test_characters_that_a_tei_file_declares_itself_are_its_text() -> None:
    declared = spoilt_by('<!DOCTYPE TEI [<!ENTITY x " and characters">]>')
    assert "word and and characters" in found_in(FILES["TEI"](declared))


def test_records_of_a_catalogue_have_no_entities(outside: tuple[Path, socket.socket]) -> None:
    pytest.importorskip("pymarc", reason="The readers are tested alone.")
    forms = pytest.importorskip("app.catalog.marc.forms")
    for doctype in doctypes(*outside):
        with pytest.raises(forms.InvalidRecord):
            list(forms.pieces(io.BytesIO(spoilt_by(doctype)(_MARC)), "marcxml"))
