"""One printed book in every format: what its publisher, a scanner's software or a library makes of it."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import pairwise

from tests.readers.made_files import pdf_of, tarred, zipped
from tests.readers.printed_book import CHAPTER, Page, PrintedBook

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_XHTML = f'{_XML}<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
_CONTAINER = f"""{_XML}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""


def running_text(book: PrintedBook) -> bytes:
    """Plain text in UTF-8, a paragraph a line."""
    return "\n\n".join(book.paragraphs).encode()


def text_with_form_feeds(book: PrintedBook) -> bytes:
    """The printed lines, with U+000C between the pages."""
    return "\f".join(_printed(page) for page in book.pages).encode()


def html(book: PrintedBook) -> bytes:
    """Paragraphs."""
    body = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in book.paragraphs)
    head = f"<head><title>{escape(book.title)}</title></head>"
    return f"<!DOCTYPE html><html>{head}<body>{body}</body></html>".encode()


def epub(book: PrintedBook) -> bytes:
    """EPUB 3: a document a chapter, with marks of the pages that its page list names, also within words."""
    chapters = [book.pages[start : start + CHAPTER] for start in range(0, len(book.pages), CHAPTER)]
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    targets = [
        f'<li><a href="{name}#p{page.number}">{page.number}</a></li>'
        for name, chapter in zip(names, chapters, strict=True)
        for page in chapter
    ]
    nav = f'{_XHTML}<body><nav epub:type="page-list"><ol>{"".join(targets)}</ol></nav></body></html>'
    items = "".join(
        f'<item id="i{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    spine = "".join(f'<itemref idref="i{name}"/>' for name in names)
    opf = f"""{_XML}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(book.title)}</dc:title>
<dc:creator>{escape(book.author)}</dc:creator><dc:date>{book.year}</dc:date></metadata><manifest>{items}
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>
<spine>{spine}</spine></package>"""
    documents = {
        f"OPS/{name}": f"{_XHTML}<body><p>{_marked(chapter)}</p></body></html>"
        for name, chapter in zip(names, chapters, strict=True)
    }
    files = {"META-INF/container.xml": _CONTAINER, "OPS/book.opf": opf, "OPS/nav.xhtml": nav, **documents}
    return zipped({"mimetype": b"application/epub+zip", **_encoded(files)})


def pdf(book: PrintedBook) -> bytes:
    """A PDF with a text layer, in Helvetica with its standard encoding (ISO 32000-1, section D.2)."""
    count = len(book.pages)
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {count}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for index, page in enumerate(book.pages):
        lines = [line.encode("cp1252") for line in page.printed]
        for sign in (b"\\", b"(", b")"):
            lines = [line.replace(sign, b"\\" + sign) for line in lines]
        height = 100 + 14 * len(lines)
        shown = b"".join(b"(%s) Tj T*\n" % line for line in lines)
        stream = b"BT /F1 11 Tf 14 TL 60 %d Td\n%sET" % (height - 50, shown)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 480 %d]/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R>>>>>>" % (height, 5 + 2 * index)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    return pdf_of(objects)


def hocr(book: PrintedBook) -> bytes:
    """hOCR of all pages in one file."""
    pages = []
    for index, page in enumerate(book.pages):
        lines = "\n".join(
            f'<span class="ocr_line">{_tagged(line, "<span class=ocrx_word>", "</span>", " ")}</span>'
            for line in page.printed
        )
        pages.append(
            f'<div class="ocr_page" title="ppageno {index}"><p class="ocr_par">\n{lines}\n</p></div>'
        )
    head = '<head><meta name="ocr-system" content="tesseract"/></head>'
    return f"<!DOCTYPE html><html>{head}<body>{''.join(pages)}</body></html>".encode()


def alto(book: PrintedBook) -> bytes:
    """ALTO 3 of all pages in one file, divided words with SUBS_CONTENT."""
    return _alto(alto_pages(book).values())


def alto_zip(book: PrintedBook) -> bytes:
    """An ALTO file a page."""
    return zipped({f"{name}.xml": _alto([page]) for name, page in alto_pages(book).items()})


def mets(book: PrintedBook) -> bytes:
    """A METS with MODS, and an ALTO file a page."""
    files = {f"ALTO/{name}.xml": _alto([page]) for name, page in alto_pages(book).items()}
    located = "".join(
        f'<mets:file ID="f{index}"><mets:FLocat LOCTYPE="URL" xlink:href="{path}"/></mets:file>'
        for index, path in enumerate(files)
    )
    divs = "".join(
        f'<mets:div TYPE="page" ORDER="{index + 1}" ORDERLABEL="{page.number}">'
        f'<mets:fptr FILEID="f{index}"/></mets:div>'
        for index, page in enumerate(book.pages)
    )
    root = f"""{_XML}<mets:mets xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink"
xmlns:mods="http://www.loc.gov/mods/v3">
<mets:dmdSec ID="d"><mets:mdWrap MDTYPE="MODS"><mets:xmlData><mods:mods>
<mods:titleInfo><mods:title>{escape(book.title)}</mods:title></mods:titleInfo><mods:name><mods:role>
<mods:roleTerm>aut</mods:roleTerm></mods:role>
<mods:displayForm>{escape(book.author)}</mods:displayForm></mods:name>
<mods:originInfo><mods:dateIssued>{book.year}</mods:dateIssued></mods:originInfo></mods:mods></mets:xmlData>
</mets:mdWrap></mets:dmdSec><mets:fileSec><mets:fileGrp USE="FULLTEXT">{located}</mets:fileGrp></mets:fileSec>
<mets:structMap TYPE="PHYSICAL"><mets:div TYPE="physSequence" DMDID="d">{divs}</mets:div></mets:structMap>
</mets:mets>"""
    return zipped({"mets.xml": root.encode(), **files})


def alto_pages(book: PrintedBook) -> Mapping[str, str]:
    """The element Page of each page, by a name."""
    firsts = [page.lines[0].split()[0] if page.lines else "" for page in book.pages]
    found, goes_on = {}, False
    for index, page in enumerate(book.pages):
        after = firsts[index + 1] if index + 1 < len(book.pages) else ""
        parts = [f"<TextLine><String CONTENT={_quoted(page.head)}/></TextLine>"] if page.head else []
        for line, following in pairwise((*page.lines, after)):
            words = line.split()
            strings = [f"<String CONTENT={_quoted(word)}/>" for word in words]
            if goes_on:
                strings[0] = (
                    f'<String CONTENT={_quoted(words[0])} SUBS_TYPE="HypPart2" SUBS_CONTENT="whole"/>'
                )
            goes_on = line.endswith("-") and bool(following)
            if goes_on:
                part = words[-1][:-1]
                whole = _quoted(part + following.split()[0])
                strings[-1] = (
                    f'<String CONTENT={_quoted(part)} SUBS_TYPE="HypPart1" SUBS_CONTENT={whole}/>'
                    '<HYP CONTENT="-"/>'
                )
            parts.append(f"<TextLine>{'<SP/>'.join(strings)}</TextLine>")
        parts += [f"<TextLine><String CONTENT={_quoted(line)}/></TextLine>" for line in page.foot]
        block = f"<TextBlock>{''.join(parts)}</TextBlock>" if parts else ""
        found[f"page_{index + 1}"] = (
            f'<Page PHYSICAL_IMG_NR="{index + 1}"><PrintSpace>{block}</PrintSpace></Page>'
        )
    return found


def page_xml(book: PrintedBook) -> bytes:
    """A PAGE-XML file a page, with the not sign where a word is divided, as transcribers write it."""
    space = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"
    start = f'<PcGts xmlns="{space}"><Page imageFilename="i">'
    files = {}
    for index, page in enumerate(book.pages):
        lines = "".join(
            f'<TextLine id="l{number}"><TextEquiv><Unicode>{escape(_with_not_sign(line))}</Unicode>'
            "</TextEquiv></TextLine>"
            for number, line in enumerate(page.printed)
        )
        region = f'<TextRegion id="r">{lines}</TextRegion>' if lines else ""
        files[f"page/{index + 1}.xml"] = f"{_XML}{start}{region}</Page></PcGts>".encode()
    return zipped(files)


def abbyy(book: PrintedBook) -> bytes:
    """FineReader XML: an element for each character."""
    pages = []
    for page in book.pages:
        lines = "".join(
            f"<line><formatting>{_in_characters(_with_not_sign(line))}</formatting></line>"
            for line in page.printed
        )
        block = f'<block blockType="Text"><text><par>{lines}</par></text></block>' if lines else ""
        pages.append(f"<page>{block}</page>")
    space = "http://www.abbyy.com/FineReader_xml/FineReader10-schema-v1.xml"
    return f'{_XML}<document xmlns="{space}">{"".join(pages)}</document>'.encode()


def djvu(book: PrintedBook) -> bytes:
    """DjVuXML, as the Internet Archive writes it."""
    objects = []
    for page in book.pages:
        lines = "\n".join(f"<LINE>{_tagged(line, '<WORD>', '</WORD>', ' ')}</LINE>" for line in page.printed)
        text = f"<PAGECOLUMN><REGION><PARAGRAPH>{lines}</PARAGRAPH></REGION></PAGECOLUMN>"
        objects.append(f"<OBJECT><HIDDENTEXT>{text}</HIDDENTEXT></OBJECT>")
    return f"{_XML}<!DOCTYPE DjVuXML>\n<DjVuXML><BODY>{''.join(objects)}</BODY></DjVuXML>".encode()


def hathi(book: PrintedBook) -> bytes:
    """A volume of HathiTrust."""
    files = {f"3901501/{index + 1:08}.txt": _printed(page).encode() for index, page in enumerate(book.pages)}
    return zipped({**files, "3901501/meta.yml": b"capture_date: 2011-10-05T00:00:00Z\n"})


def tei(book: PrintedBook) -> bytes:
    """TEI with page and line breaks, heads and feet in `fw`."""
    pages = []
    for page in book.pages:
        head = f'<fw type="header" place="top">{escape(page.head)}</fw><lb/>' if page.head else ""
        foot = "".join(f'<fw place="bottom">{escape(line)}</fw><lb/>' for line in page.foot)
        lines = "".join(f"{escape(line)}<lb/>" for line in page.lines)
        pages.append(f'<pb n="{page.number}"/>{head}{lines}{foot}\n')
    return f"""{_XML}<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title>{escape(book.title)}</title><author>{escape(book.author)}</author></titleStmt><publicationStmt><p/>
</publicationStmt><sourceDesc><bibl><date when="{book.year}"/></bibl></sourceDesc></fileDesc></teiHeader>
<text><body><p>{"".join(pages)}</p></body></text></TEI>""".encode()


def text_files(book: PrintedBook) -> Mapping[str, bytes]:
    """A text file a page, numbered without zeros."""
    return {f"book/{index + 1}.txt": _printed(page).encode() for index, page in enumerate(book.pages)}


WITHOUT_PAGES: Mapping[str, Callable[[PrintedBook], bytes]] = {
    "txt": running_text,
    "txt in cp1252": lambda book: running_text(book).decode().encode("cp1252"),
    "txt in UTF-16": lambda book: running_text(book).decode().encode("utf-16"),
    "html": html,
}
IN_PAGES: Mapping[str, Callable[[PrintedBook], bytes]] = {
    "txt with form feeds": text_with_form_feeds,
    "txt of pdftotext": lambda book: "".join(f"{_printed(page)}\n\f" for page in book.pages).encode(),
    "epub": epub,
    "pdf": pdf,
    "hocr": hocr,
    "alto": alto,
    "alto in zip": alto_zip,
    "page in zip": page_xml,
    "mets": mets,
    "abbyy": abbyy,
    "djvu": djvu,
    "hathi": hathi,
    "tei": tei,
    "txt in zip": lambda book: zipped(text_files(book)),
    "txt in tar.gz": lambda book: tarred(text_files(book), "w:gz"),
}


def _printed(page: Page) -> str:
    return "\n".join(page.printed)


def _marked(chapter: tuple[Page, ...]) -> str:
    """The text of a chapter, without line breaks, its divided words whole but for the mark of a page."""
    parts, divided = [], False
    for page in chapter:
        mark = f'<span epub:type="pagebreak" id="p{page.number}" title="{page.number}"></span>'
        parts.append(("" if divided else " ") + mark)
        words: list[str] = []
        for line in page.lines:
            first, *rest = line.split()
            if words and words[-1].endswith("-") and words[-1][:-1].isalpha():
                words[-1] = words[-1][:-1] + first
            else:
                words.append(first)
            words += rest
        divided = bool(words) and words[-1].endswith("-") and words[-1][:-1].isalpha()
        text = " ".join(words)
        parts.append(escape(text[:-1] if divided else text))
    return "".join(parts)


def _alto(pages: Iterable[str]) -> bytes:
    body = f"<Layout>{''.join(pages)}</Layout>"
    return f'{_XML}<alto xmlns="http://www.loc.gov/standards/alto/ns-v3#">{body}</alto>'.encode()


def _in_characters(line: str) -> str:
    return "".join(f"<charParams>{escape(sign)}</charParams>" for sign in line)


def _tagged(line: str, start: str, end: str, between: str) -> str:
    return between.join(f"{start}{escape(word)}{end}" for word in line.split())


def _with_not_sign(line: str) -> str:
    return line[:-1] + "¬" if line.endswith("-") else line


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}
