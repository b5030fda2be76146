"""Files of all formats, whole, damaged and of pieces in a random order; the same ones each time."""

import random
from collections.abc import Iterator

from app.synthesis.library import synthetic_library
from tests.readers.book_formats import IN_PAGES, WITHOUT_PAGES
from tests.readers.damage import DAMAGES
from tests.readers.made_files import zipped
from tests.readers.printed_book import PrintedBook, printed

PIECEMEAL = 40
"""Files of pieces of each format."""

PIECES = 30
"""Of each of them."""

COMPRESSED = (b"PK", b"\x1f\x8b")
"""Beginnings of files whose bytes depend on the library that compresses: damage would hit other places."""

WORDS = (
    b"word ",
    b"next-",
    b"more ",
    b"\n  ",
    b"\r\n",
    b"a \xc2\xac\n",
    b"&amp;",
    b"&#x2014;",
    b"&eacute;",
    b"\xc2\xa0",
)

HTML = (
    b"<!-- c <b> -->", b"<![CDATA[ a & b <i> ]]>", b"<script>var a='<p>';</script>", b"<style>p{}</style>",
    b"<br/>", b"<pre>a\n b\n</pre>", b"<ruby>\xe6\xbc\xa2<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>",
    b"&nbsp;", b"&shy;", b"&copy", b"&lt;p&gt;", b"&unknown;", b"&#150;", b"&",
    b"<table><tr><td>one<table><tr><td>two</table>three</table>", b"<p>", b"</p>", b"<div>", b"</div>",
    b"<i><b>x</i>y</b>", b"<a name=p1>", b"<span class=pagenum>12</span>", b"<title>t",
    b"<span epub:type='pagebreak' title='12'/>", b"<svg><text>t</text></svg>", b"<?php echo 1 ?>",
    b"<!DOCTYPE x>", b"\0", b"\x0b", b"\x0c", b"\x1f", b"\xff", b"\xe9t\xe9", b"<b", b"<b a='", b"</",
    b"<li>one<li>two", b"<hr>", b"<span class=ocr_line>line", b"<span class='ocrx_word'>w</span>",
    b"<div class=ocr_page>", b"<del>x</del>",
)  # fmt: skip

TEI = (
    b"<lb/>", b"<lb break='no'/>", b"-<lb/>", b"-\n <lb break='no'/>\n", b"<pb n='4'/>",
    b"<pb break='no'/>", b"<pb ed='B'/>", b"<choice>a<sic>hte</sic><corr>the</corr></choice>",
    b"<note>n</note>", b"<w>a</w><w>b</w>", b"<choice><orig>vse<pb n='9'/></orig><reg>use</reg></choice>",
    b"<app><lem>a</lem><rdg>b</rdg></app>", b"<fw>Head<lb/></fw>", b"<w part='I'>a</w><w part='F'>b</w>",
    b"<del>gone<pb/></del>", b"<!-- c -->", b"<?pi x?>", b"<![CDATA[a <b>]]>", b"&unknown;",
    b"<milestone unit='page' n='2'/>", b"<p>x</p>", b"<hi>x</hi>", b"&own;",
    b"<figure><head>h</head><figDesc>d</figDesc></figure>",
    b"<floatingText><body><p>x</p></body></floatingText>",
    b"<choice><unclear>a<pb/></unclear><unclear>b<pb/><pb/></unclear></choice>", b"<text>inner</text>",
    b"<cb/>",
)  # fmt: skip


def made_files() -> Iterator[tuple[str, bytes]]:
    """The files, with a name for each."""
    books = {"plain": _book(catchwords=False), "catchwords": _book(catchwords=True)}
    for form, made in (WITHOUT_PAGES | IN_PAGES).items():
        for name, book in books.items():
            yield f"{form}, {name}", made(book)
        whole = made(books["plain"])
        if not whole.startswith(COMPRESSED):
            for damage in DAMAGES:
                yield f"{form}, {damage.__name__}", damage(whole, random.Random(f"{form} {damage.__name__}"))
    yield from _piecemeal()


def _book(catchwords: bool) -> PrintedBook:
    """A synthetic book with a blank page."""
    made = next(synthetic_library(17, 1, copies=(0, 1), characters=(24_000, 24_000)))
    return printed(made.title, made.author, made.year, [*made.pages[:6], "", *made.pages[6:]], catchwords)


def _piecemeal() -> Iterator[tuple[str, bytes]]:
    draw = random.Random(7)
    for number in range(PIECEMEAL):
        html = b"".join(draw.choices((*WORDS, *HTML), k=PIECES))
        tei = b"".join(draw.choices((*WORDS, *TEI), k=PIECES))
        yield f"html {number}", b"<html><title>t</title><body><p>" + html
        yield f"hocr {number}", b"<html><body><div class=ocr_page>first<p class=ocr_par>" + html
        yield f"epub {number}", _epub(html)
        start = b'<!DOCTYPE TEI SYSTEM "x.dtd" [<!ENTITY own "of <hi>its</hi> own">]><TEI><teiHeader/>'
        yield f"tei {number}", start + b"<text><body><p>first" + tei + b"</p></body></text></TEI>"


def _epub(text: bytes) -> bytes:
    opf = (
        b'<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        b'<item id="t" href="t.xhtml" media-type="application/xhtml+xml"/>'
        b'<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        b'</manifest><spine><itemref idref="t"/></spine></package>'
    )
    navigation = (
        b'<html xmlns:e="http://www.idpf.org/2007/ops"><nav e:type="page-list"><a href="t.xhtml#p1">i</a>'
        b'<a href="#epubcfi(/6/2!/4/2/1:2)">ii</a><a href="#epubcfi(/6/2!/4/4)">iii</a></nav></html>'
    )
    document = b"<html><head/><body><p>first</p><p>" + text
    return zipped({"a.opf": opf, "t.xhtml": document, "n.xhtml": navigation})
