"""A small file of every format, made here; each says "word"."""

import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence

_HTML = b"<!DOCTYPE html><html><head><title>A title</title></head><body><p>word and word</p></body></html>"
_ALTO = b"""<?xml version="1.0"?><alto xmlns="http://www.loc.gov/standards/alto/ns-v3#"><Layout><Page>
<PrintSpace>
<TextBlock><TextLine><String CONTENT="word"/><SP/><String CONTENT="and"/></TextLine></TextBlock>
</PrintSpace></Page>
</Layout></alto>"""
_HOCR = b"""<html><body><div class="ocr_page" title="ppageno 0"><span class="ocr_line">
<span class="ocrx_word">word</span> <span class="ocrx_word">and</span></span></div></body></html>"""
_PAGE = b"""<?xml version="1.0"?>
<PcGts xmlns="http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"><Page>
<TextRegion id="r"><TextLine id="l"><TextEquiv><Unicode>word and</Unicode></TextEquiv></TextLine>
</TextRegion></Page>
</PcGts>"""
_DJVU = b"""<?xml version="1.0"?><!DOCTYPE DjVuXML><DjVuXML><BODY><OBJECT><HIDDENTEXT><PAGECOLUMN><REGION>
<PARAGRAPH>
<LINE><WORD>word</WORD> <WORD>and</WORD></LINE></PARAGRAPH></REGION></PAGECOLUMN></HIDDENTEXT></OBJECT>
</BODY></DjVuXML>"""
_ABBYY = b"""<?xml version="1.0"?>
<document xmlns="http://www.abbyy.com/FineReader_xml/FineReader10-schema-v1.xml"><page>
<block blockType="Text"><text><par><line><formatting>%s</formatting></line></par></text></block></page>
</document>""" % (b"".join(b"<charParams>%c</charParams>" % letter for letter in b"word and"))
_TEI = b"""<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title>A title
</title></titleStmt></fileDesc></teiHeader><text><body><pb n="1"/><p>word and</p><pb n="2"/><p>more</p>
</body></text></TEI>"""
_CONTAINER = b"""<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
_OPF = b"""<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A title</dc:title></metadata><manifest>
<item id="t" href="t.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="t"/>
</spine></package>"""
_XHTML = b"""<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head>
<body><p>word
and word</p></body></html>"""
_METS = b"""<?xml version="1.0"?>
<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink"><fileSec>
<fileGrp USE="FULLTEXT"><file ID="f"><FLocat xlink:href="alto/1.xml"/></file></fileGrp></fileSec>
<structMap TYPE="PHYSICAL">
<div TYPE="physSequence"><div TYPE="page" ORDER="1"><fptr FILEID="f"/></div></div></structMap></mets>"""


def zipped(members: Mapping[str, str | bytes] | Mapping[str, bytes]) -> bytes:
    """A zip archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def tarred(members: Mapping[str, bytes], mode: str = "w") -> bytes:
    """A tar archive of these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def pdf_of(objects: Sequence[bytes], between: bytes = b"", trailer: bytes = b"") -> bytes:
    """A PDF of these objects, the catalogue first (ISO 32000-1, section 7.5); `between` precedes them."""
    out, places = bytearray(b"%PDF-1.4\n" + between), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, start = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, rows)
    return bytes(out + b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, start))


def pdf(text: bytes = b"word and word") -> bytes:
    """A PDF of one page with a text layer."""
    stream = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    return pdf_of(objects)


def mets(structure: str, files: Mapping[str, Mapping[str, str]], sections: str = "") -> str:
    """A METS with file groups (name: id: href) and the structMaps given."""
    groups = "".join(
        f'<fileGrp USE="{use}">'
        + "".join(f'<file ID="{key}"><FLocat xlink:href="{href}"/></file>' for key, href in group.items())
        + "</fileGrp>"
        for use, group in files.items()
    )
    return (
        '<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
        'OBJID="mdp.39015078560292">'
        f"{sections}<fileSec>{groups}</fileSec>{structure}</mets>"
    )


MADE_FILES: dict[str, bytes] = {
    "a.txt": b"word and word\x0cnext page",
    "latin.txt": "Le père a très bien dîné, word élève à l'été.".encode("cp1252"),
    "a.html": _HTML,
    "a.epub": zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": _CONTAINER,
            "a.opf": _OPF,
            "t.xhtml": _XHTML,
        }
    ),
    "a.pdf": pdf(),
    "a.hocr": _HOCR,
    "alto.xml": _ALTO,
    "page.xml": _PAGE,
    "djvu.xml": _DJVU,
    "abbyy.xml": _ABBYY,
    "tei.xml": _TEI,
    "mets.zip": zipped({"mets.xml": _METS, "alto/1.xml": _ALTO}),
    "hathi.zip": zipped(
        {"1/00000001.txt": b"word and", "1/00000002.txt": b"more", "1/meta.yml": b"capture_date: x\n"}
    ),
    "pages.zip": zipped({f"page_{number}.xml": _ALTO for number in (1, 2, 10)}),
    "pages.tar": tarred({"1.txt": b"word", "2.txt": b"more"}),
    "pages.tar.gz": tarred({"1.txt": b"word", "2.txt": b"more"}, "w:gz"),
}
